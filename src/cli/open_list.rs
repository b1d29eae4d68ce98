//! A list as this program has it: to serve it, or for the owner's commands, by way of the server that holds
//! it, or themselves when none does or when several may have it.

use std::{
    error::Error,
    fs, io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::{Duration, Instant},
};

use rustix::process::geteuid;
use tokio::{
    runtime::{self, Handle, Runtime},
    sync::watch,
};

use super::{
    control::{ControlClient, store_error_message},
    store_location::StoreLocation,
};
use crate::waitlist::{
    Email, JoinOutcome, Outage, PostgresOpenError, PostgresWaitlist, Selection, SledOpenError,
    SledWaitlist, Waitlist, WaitlistEntry, exit_on_store_panic,
};

/// How long a server may take to let go of the list when it stops, or to answer when it starts, and how
/// long a server waits for a command that has it, or for its database: longer than a server usually takes
/// to stop.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Between two tries to reach a database.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// An open list.
pub(super) enum WaitlistHandle {
    Local(Box<dyn Waitlist>, &'static Runtime),
    Remote(ControlClient),
}

/// The selected entries of a list.
pub(super) struct SelectedEntries {
    /// How many are on the list, selected or not.
    pub(super) count: u64,
    pub(super) entries: Box<dyn Iterator<Item = Result<WaitlistEntry, String>>>,
}

/// A list that is to be served.
pub(super) struct ServedList {
    pub(super) list: Arc<dyn Waitlist>,
    /// What is wrong with its database, if it is in one.
    pub(super) outage: Option<watch::Receiver<Option<Outage>>>,
}

impl StoreLocation {
    /// The list that is there.
    ///
    /// # Errors
    /// A sentence for the owner, like all of them here.
    pub(super) fn open(&self) -> Result<WaitlistHandle, String> {
        self.open_existing()?
            .ok_or_else(|| format!("there is no waitlist in {self}; name its place with --store"))
    }

    /// The list that is there, or a new one.
    pub(super) fn open_or_create(&self) -> Result<WaitlistHandle, String> {
        let list = self.try_open(true)?;
        list.ok_or_else(|| read_error(self, &io::ErrorKind::NotFound.into()))
    }

    /// The list, if there is one.
    pub(super) fn open_existing(&self) -> Result<Option<WaitlistHandle>, String> {
        self.try_open(false)
    }

    /// The list that is there, or a new one, for this process to serve by a runtime. Waits for whoever has
    /// it, or for its database. Gives up when `stop` becomes true.
    pub(super) fn open_to_serve(
        &self,
        runtime: &Handle,
        stop: &AtomicBool,
    ) -> Result<ServedList, String> {
        let started = Instant::now();
        let may_retry = || started.elapsed() < OPEN_TIMEOUT && !stop.load(Ordering::Relaxed);
        let served = match self {
            Self::Directory(data) => loop {
                match SledWaitlist::open_interruptible(stop, data) {
                    // By a command of the owner's, or by the server before this one.
                    Err(SledOpenError::InUse(..)) if may_retry() => {}
                    opened => {
                        break ServedList {
                            list: Arc::new(opened.map_err(to_message)?),
                            outage: None,
                        };
                    }
                }
            },
            Self::Database(url) => {
                let open = || PostgresWaitlist::open_or_create(url, runtime);
                let list = retry(open, may_retry, |why| tracing::warn!("{why}"))?;
                if let Some(warning) = list.warning() {
                    tracing::warn!("{warning}");
                }
                ServedList {
                    outage: Some(list.outage()),
                    list: Arc::new(list),
                }
            }
        };
        exit_on_store_panic();
        if let Self::Directory(data) = self
            && let Some(backup) = SledWaitlist::legacy_backup(data)
        {
            tracing::warn!(
                "{} is a copy of the waitlist that an earlier version has left. It is not used: remove it, \
                 because it has the addresses of people who were erased since",
                backup.display()
            );
        }
        Ok(served)
    }

    fn try_open(&self, create: bool) -> Result<Option<WaitlistHandle>, String> {
        match self {
            Self::Directory(data) => try_open_directory(self, data, create),
            Self::Database(url) => {
                let runtime = static_runtime(runtime::Builder::new_multi_thread())?;
                let open = || {
                    let opened = if create {
                        PostgresWaitlist::open_or_create(url, runtime.handle())
                    } else {
                        PostgresWaitlist::open(url, runtime.handle())
                    };
                    match opened {
                        Err(PostgresOpenError::NoList(_)) => Ok(None),
                        opened => opened.map(Some),
                    }
                };
                let started = Instant::now();
                let may_retry = || started.elapsed() < OPEN_TIMEOUT;
                let list = retry(open, may_retry, |why| eprintln!("landing: {why}"))?;
                Ok(list.map(|list| WaitlistHandle::local(list, runtime)))
            }
        }
    }
}

/// Opens a database, again and again while that may help. Says so the first time.
fn retry<T>(
    open: impl Fn() -> Result<T, PostgresOpenError>,
    may_retry: impl Fn() -> bool,
    warn: impl Fn(&str),
) -> Result<T, String> {
    let mut has_warned = false;
    loop {
        match open() {
            Err(
                error @ (PostgresOpenError::Unreachable(..) | PostgresOpenError::Unavailable(..)),
            ) if may_retry() => {
                if !std::mem::replace(&mut has_warned, true) {
                    warn(&format!(
                        "{error}. Trying for {} seconds",
                        OPEN_TIMEOUT.as_secs()
                    ));
                }
                sleep(RETRY_INTERVAL);
            }
            opened => return opened.map_err(to_message),
        }
    }
}

fn try_open_directory(
    store: &StoreLocation,
    data: &Path,
    create: bool,
) -> Result<Option<WaitlistHandle>, String> {
    let read_error = |error: io::Error| read_error(store, &error);
    // Before the list is held: without threads this fails, and the list stays free.
    let runtime = static_runtime(runtime::Builder::new_current_thread())?;
    let started = Instant::now();
    loop {
        if let Some(client) = ControlClient::find(data).map_err(read_error)? {
            return Ok(Some(WaitlistHandle::Remote(client)));
        }
        if !create && !SledWaitlist::exists_in(data).map_err(read_error)? {
            return Ok(None);
        }
        match fs::metadata(data).map(|directory| directory.uid()) {
            // What another user writes there, its owner's server could not read.
            Ok(owner) if owner != geteuid().as_raw() => {
                return Err(format!(
                    "{store} belongs to user {owner}: run this as that user"
                ));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(read_error(error)),
            _ => {}
        }
        match SledWaitlist::open(data) {
            // A server that starts or stops.
            Err(SledOpenError::InUse(..)) if started.elapsed() < OPEN_TIMEOUT => {}
            Err(error) => return Err(to_message(error)),
            Ok(list) => return Ok(Some(WaitlistHandle::local(list, runtime))),
        }
    }
}

/// A runtime for the rest of the process. Its end would wait for a thread that looks up the name of a host,
/// which nothing stops.
fn static_runtime(mut builder: runtime::Builder) -> Result<&'static Runtime, String> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| format!("the runtime can't start: {error}"))?;
    Ok(Box::leak(Box::new(runtime)))
}

fn to_message(error: impl Error) -> String {
    error.to_string()
}

fn read_error(store: &StoreLocation, error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run this as the user that the server runs as",
        _ => "",
    };
    format!("{store} can't be read: {error}{help}")
}

impl WaitlistHandle {
    fn local(list: impl Waitlist, runtime: &'static Runtime) -> Self {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(exit_on_store_panic);
        Self::Local(Box::new(list), runtime)
    }

    /// How many are on it.
    pub(super) fn count(&self) -> Result<u64, String> {
        match self {
            Self::Local(list, _) => Ok(list.count()),
            Self::Remote(client) => client.count(),
        }
    }

    /// Puts entries on it and says whether each is new, once they are durable.
    pub(super) fn join_all(&self, entries: Vec<WaitlistEntry>) -> Result<Vec<bool>, String> {
        match self {
            Self::Local(list, runtime) => {
                let joined = runtime.block_on(list.join_all(entries));
                let joined = joined.map_err(store_error_message)?;
                Ok(joined.iter().map(|it| *it == JoinOutcome::New).collect())
            }
            Self::Remote(client) => client.join_all(&entries),
        }
    }

    /// Takes addresses off it and says whether each was on it.
    pub(super) fn erase(&self, emails: &[Email]) -> Result<Vec<bool>, String> {
        match self {
            Self::Local(list, runtime) => {
                let erased = runtime.block_on(list.erase(emails));
                erased.map_err(store_error_message)
            }
            Self::Remote(client) => client.erase(emails),
        }
    }

    /// How many were ever erased, see [`Waitlist::erased_count`].
    pub(super) fn erased_count(&self) -> Result<u64, String> {
        match self {
            Self::Local(list, runtime) => runtime
                .block_on(list.erased_count())
                .map_err(store_error_message),
            Self::Remote(client) => client.erased_count(),
        }
    }

    /// Corrects the count, see [`Waitlist::recount`]. A server that runs counts what it has read.
    pub(super) fn recount(&self) -> Result<i64, String> {
        match self {
            Self::Local(list, runtime) => runtime
                .block_on(list.recount())
                .map_err(store_error_message),
            Self::Remote(_) => Ok(0),
        }
    }

    /// The selected entries, as of now.
    pub(super) fn entries(&self, selection: Selection) -> Result<SelectedEntries, String> {
        match self {
            Self::Local(list, _) => {
                let entries = list.entries(selection).map_err(store_error_message)?;
                Ok(SelectedEntries {
                    count: entries.total_count(),
                    entries: Box::new(entries.map(|it| it.map_err(store_error_message))),
                })
            }
            Self::Remote(client) => {
                let (count, entries) = client.entries(selection)?;
                Ok(SelectedEntries {
                    count,
                    entries: Box::new(entries),
                })
            }
        }
    }
}
