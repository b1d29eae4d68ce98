//! Where the list is, and the list as the owner's commands have it: by way of the server that holds it,
//! or themselves when none does.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Once,
    time::{Duration, Instant},
};

use rustix::process::geteuid;
use tokio::runtime::Runtime;

use crate::{
    control::{Remote, advice},
    waitlist::{
        Email, Entry, Joined, OpenError, Selection, SledWaitlist, Waitlist,
        stop_if_the_store_panics,
    },
};

/// How long a server may take to let go of the list when it stops, or to answer when it starts, and how
/// long a server waits for a command that has it: longer than a server usually takes to stop.
pub(super) const PATIENCE: Duration = Duration::from_secs(15);

/// Which list is meant.
#[derive(clap::Args)]
pub(super) struct Place {
    /// Directory of the waitlist
    #[arg(long, env = "LANDING_DATA", value_name = "DIR", default_value = "data")]
    data: PathBuf,
}

/// An open list.
pub(super) enum List {
    Here(SledWaitlist, Runtime),
    Served(Remote),
}

/// The selected entries of a list.
pub(super) struct Entries {
    /// How many are on the list, selected or not.
    pub(super) count: u64,
    pub(super) entries: Box<dyn Iterator<Item = Result<Entry, String>>>,
}

impl Place {
    /// The list that is there.
    ///
    /// # Errors
    /// A sentence for the owner, like all of them here.
    pub(super) fn open(&self) -> Result<List, String> {
        self.find()?.ok_or_else(|| {
            let data = self.data.display();
            format!("there is no waitlist in {data}; name its place with --data")
        })
    }

    /// The list that is there, or a new one.
    pub(super) fn open_or_make(&self) -> Result<List, String> {
        let list = self.look(true)?;
        list.ok_or_else(|| unreadable(&self.data, &io::ErrorKind::NotFound.into()))
    }

    /// The list, if there is one.
    pub(super) fn find(&self) -> Result<Option<List>, String> {
        self.look(false)
    }

    fn look(&self, make: bool) -> Result<Option<List>, String> {
        let data = &self.data;
        let told = |error: io::Error| unreadable(data, &error);
        let begun = Instant::now();
        loop {
            if let Some(remote) = Remote::find(data).map_err(told)? {
                return Ok(Some(List::Served(remote)));
            }
            if !make && !SledWaitlist::is_in(data).map_err(told)? {
                return Ok(None);
            }
            match fs::metadata(data).map(|directory| directory.uid()) {
                // What another user writes there, its owner's server could not read.
                Ok(owner) if owner != geteuid().as_raw() => {
                    let data = data.display();
                    return Err(format!(
                        "{data} belongs to user {owner}: run this as that user"
                    ));
                }
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(told(error)),
                _ => {}
            }
            match List::here(data) {
                // A server that starts or stops.
                Err(OpenError::Held(..)) if begun.elapsed() < PATIENCE => {}
                opened => return opened.map(Some).map_err(|error| error.to_string()),
            }
        }
    }
}

fn unreadable(data: &Path, error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run this as the user that the server runs as",
        _ => "",
    };
    format!("{} can't be read: {error}{help}", data.display())
}

impl List {
    fn here(data: &Path) -> Result<Self, OpenError> {
        let io = |error| OpenError::Io(data.to_owned(), error);
        let runtime = Runtime::new().map_err(io)?;
        let list = SledWaitlist::open(data)?;
        static WATCHED: Once = Once::new();
        WATCHED.call_once(stop_if_the_store_panics);
        Ok(Self::Here(list, runtime))
    }

    /// How many are on it.
    pub(super) fn count(&self) -> Result<u64, String> {
        match self {
            Self::Here(list, _) => Ok(list.count()),
            Self::Served(remote) => remote.count(),
        }
    }

    /// Puts entries on it and says whether each is new, once they are durable.
    pub(super) fn join_all(&self, entries: Vec<Entry>) -> Result<Vec<bool>, String> {
        match self {
            Self::Here(list, runtime) => {
                let joined = runtime.block_on(list.join_all(entries));
                let joined = joined.map_err(advice)?;
                Ok(joined.iter().map(|it| *it == Joined::New).collect())
            }
            Self::Served(remote) => remote.join_all(&entries),
        }
    }

    /// Takes addresses off it and says whether each was on it.
    pub(super) fn erase(&self, emails: &[Email]) -> Result<Vec<bool>, String> {
        match self {
            Self::Here(list, runtime) => {
                let erased = runtime.block_on(list.erase(emails));
                erased.map_err(advice)
            }
            Self::Served(remote) => remote.erase(emails),
        }
    }

    /// The selected entries, as of now.
    pub(super) fn entries(&self, selection: Selection) -> Result<Entries, String> {
        match self {
            Self::Here(list, _) => {
                let entries = list.entries(selection).map_err(advice)?;
                Ok(Entries {
                    count: entries.listed(),
                    entries: Box::new(entries.map(|it| it.map_err(advice))),
                })
            }
            Self::Served(remote) => {
                let (count, entries) = remote.entries(selection)?;
                Ok(Entries {
                    count,
                    entries: Box::new(entries),
                })
            }
        }
    }
}
