//! Opens a list: for the server, or for a command. A command uses the list of a running server through its
//! control socket, and opens the list directly when no server runs or when the list is in a database.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use rustix::process::geteuid;
use tokio::{runtime::Handle, sync::watch};

use super::{
    control::ControlClient, open_list_error::OpenListError, store_location::StoreLocation,
    waitlist_handle::WaitlistHandle,
};
use crate::{
    exit::print_stderr,
    waitlist::{
        BackupItem, DatabaseUrl, ListKey, Outage, PostgresWaitlist, SledOpenError, SledWaitlist,
        Waitlist, exit_on_store_panic,
    },
};

/// How long to retry while another process holds the list, or while the database does not respond. A server
/// usually stops, or starts to respond, sooner.
const OPEN_RETRY_TIMEOUT: Duration = Duration::from_secs(15);
/// Pause between two attempts.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// Time in which a server that restarts listens for commands again.
const RESTART_TIMEOUT: Duration = Duration::from_secs(3);

/// An open list for the server.
pub(super) struct ServedList {
    pub(super) list: Arc<dyn Waitlist>,
    /// The current outage of its database, if it is in one.
    pub(super) outage: Option<watch::Receiver<Option<Outage>>>,
}

impl StoreLocation {
    /// Opens the existing list.
    ///
    /// # Errors
    /// [`OpenListError`], also when there is no list.
    pub(super) fn open(&self) -> Result<WaitlistHandle, OpenListError> {
        self.open_if_exists()?
            .ok_or_else(|| OpenListError::Missing(self.clone()))
    }

    /// Opens the list, and creates it if it is missing. Then it prints where: the location may be misspelled.
    ///
    /// # Errors
    /// [`OpenListError`].
    pub(super) fn open_or_create(&self) -> Result<WaitlistHandle, OpenListError> {
        if let Some(list) = self.open_if_exists()? {
            return Ok(list);
        }
        let created = self.try_open(true)?;
        print_stderr(&format!("a new list was created in {self}"));
        created.ok_or_else(|| OpenListError::Missing(self.clone()))
    }

    /// Opens the list, or returns `None` if there is none.
    ///
    /// # Errors
    /// [`OpenListError`].
    pub(super) fn open_if_exists(&self) -> Result<Option<WaitlistHandle>, OpenListError> {
        self.try_open(false)
    }

    /// Opens the list. If there is none, returns `None`, or creates it.
    fn try_open(&self, create: bool) -> Result<Option<WaitlistHandle>, OpenListError> {
        let open = || match self {
            Self::Directory(data) => open_directory(self, data, create),
            Self::Database(url) => open_database(self, url, create),
        };
        self.retry(open, print_stderr)
    }

    /// Opens the list for this process to serve, and creates it if it is missing. Waits for the process that
    /// holds it, or for its database.
    ///
    /// # Errors
    /// [`OpenListError`].
    pub(super) fn open_to_serve(&self, runtime: &Handle) -> Result<ServedList, OpenListError> {
        self.warn_of_other_owner();
        let open = || -> Result<ServedList, OpenListError> {
            Ok(match self {
                Self::Directory(data) => ServedList {
                    list: Arc::new(SledWaitlist::open(data)?),
                    outage: None,
                },
                Self::Database(url) => {
                    let list = PostgresWaitlist::open(url, runtime, true)?;
                    if let Some(warning) = list.warning() {
                        tracing::warn!("{warning}");
                    }
                    ServedList {
                        outage: Some(list.outage()),
                        list: Arc::new(list),
                    }
                }
            })
        };
        let served = self.retry(open, |waiting| tracing::warn!("{waiting}"))?;
        exit_on_store_panic();
        Ok(served)
    }

    /// Warns if the data directory belongs to another user, who could then not read the files that the server creates.
    pub(super) fn warn_of_other_owner(&self) {
        if let Self::Directory(data) = self
            && let Ok(Some(owner)) = other_owner(data)
        {
            let own = geteuid().as_raw();
            tracing::warn!(
                "{self} belongs to user {owner}, and this server runs as user {own}: user {owner} cannot read the files \
                 that it creates there; run the server as user {owner}, or give that user the directory again afterwards"
            );
        }
    }

    /// Restores a backup. The list must be empty, or is created.
    ///
    /// # Errors
    /// If the list is not empty or cannot be opened, a server uses its directory, the backup is invalid, or the database or the
    /// disk fails. Each says what is restored.
    pub(super) fn restore(
        &self,
        key: ListKey,
        items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> anyhow::Result<()> {
        let restored = match self {
            Self::Directory(data) => {
                if ControlClient::find(data).is_ok_and(|server| server.is_some()) {
                    bail!(
                        "nothing was restored: a server uses {self}; stop it, restore the backup, and start it again"
                    );
                }
                check_owner(self, data).context("nothing was restored")?;
                SledWaitlist::restore(data, key, items)
            }
            Self::Database(url) => {
                let list = PostgresWaitlist::open(url, &Handle::current(), true);
                let list = list.context("nothing was restored")?;
                list.restore(key, items)
            }
        };
        restored.with_context(|| self.to_string())
    }

    /// Returns whether the user of the database may do what a server does.
    ///
    /// # Errors
    /// [`OpenListError`].
    pub(super) fn has_privileges(&self) -> Result<bool, OpenListError> {
        let Self::Database(url) = self else {
            return Ok(true);
        };
        Ok(PostgresWaitlist::has_privileges(url, &Handle::current())?)
    }

    /// Opens the list. Waits while another process holds it, or while its database does not respond, and says so once.
    fn retry<T>(
        &self,
        open: impl Fn() -> Result<T, OpenListError>,
        say: impl Fn(&str),
    ) -> Result<T, OpenListError> {
        if let Self::Directory(data) = self
            && data.is_file()
        {
            return Err(OpenListError::File(self.clone()));
        }
        let started = Instant::now();
        let mut has_said = false;
        loop {
            let opened = open();
            let waiting = opened.as_ref().err().and_then(|it| self.waiting(it));
            let Some(waiting) = waiting.filter(|_| started.elapsed() < OPEN_RETRY_TIMEOUT) else {
                return opened;
            };
            if !std::mem::replace(&mut has_said, true) {
                say(&waiting);
            }
            sleep(RETRY_INTERVAL);
        }
    }

    /// Returns what to wait for after an error that may pass.
    fn waiting(&self, error: &OpenListError) -> Option<String> {
        let seconds = OPEN_RETRY_TIMEOUT.as_secs();
        match error {
            // In use by a command, or by a server that is starting or stopping.
            OpenListError::Sled(SledOpenError::InUse { holder, .. }) => {
                let holder = holder.map_or("another process".into(), |id| format!("process {id}"));
                Some(format!(
                    "waiting up to {seconds} s for {holder} to release {self}"
                ))
            }
            OpenListError::Postgres(database) if database.is_transient() => {
                Some(format!("{error}; retrying for up to {seconds} s"))
            }
            _ => None,
        }
    }
}

fn open_directory(
    location: &StoreLocation,
    data: &Path,
    create: bool,
) -> Result<Option<WaitlistHandle>, OpenListError> {
    let unreadable = |error: io::Error| OpenListError::Unreadable {
        location: location.clone(),
        error,
    };
    let started = Instant::now();
    loop {
        if let Some(client) = ControlClient::find(data).map_err(unreadable)? {
            return Ok(Some(WaitlistHandle::new(location, client)));
        }
        // Root must not open the list of another user, whose server may be restarting.
        let is_foreign = geteuid().is_root() && check_owner(location, data).is_err();
        if !is_foreign || started.elapsed() > RESTART_TIMEOUT {
            break;
        }
        sleep(RETRY_INTERVAL);
    }
    let exists = || {
        SledWaitlist::exists_in(data).map_err(|error| match error {
            SledOpenError::Io { error, .. } => unreadable(error),
            missing => missing.into(),
        })
    };
    if !create && !exists()? {
        return Ok(None);
    }
    check_owner(location, data)?;
    let list = SledWaitlist::open(data)?;
    Ok(Some(WaitlistHandle::new(location, list)))
}

fn open_database(
    location: &StoreLocation,
    url: &DatabaseUrl,
    create: bool,
) -> Result<Option<WaitlistHandle>, OpenListError> {
    match PostgresWaitlist::open(url, &Handle::current(), create) {
        Err(error) if error.is_no_list() => Ok(None),
        opened => Ok(Some(WaitlistHandle::new(location, opened?))),
    }
}

/// Checks that a data directory belongs to this user. The owner's server could not read files that another user creates
/// there.
fn check_owner(location: &StoreLocation, data: &Path) -> Result<(), OpenListError> {
    let location = location.clone();
    match other_owner(data) {
        Ok(None) => Ok(()),
        Ok(Some(uid)) => Err(OpenListError::OtherUser { location, uid }),
        Err(error) => Err(OpenListError::Unreadable { location, error }),
    }
}

/// Returns the owner of a data directory, unless this process runs as the owner.
fn other_owner(data: &Path) -> io::Result<Option<u32>> {
    match fs::metadata(data) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => Ok(Some(found?.uid()).filter(|owner| *owner != geteuid().as_raw())),
    }
}
