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
    control::{Remote, advice},
    store_location::Store,
};
use crate::waitlist::{
    DatabaseError, Email, Entry, Joined, OpenError, PostgresWaitlist, Selection, SledWaitlist,
    Trouble, Waitlist, stop_if_the_store_panics,
};

/// How long a server may take to let go of the list when it stops, or to answer when it starts, and how
/// long a server waits for a command that has it, or for its database: longer than a server usually takes
/// to stop.
const PATIENCE: Duration = Duration::from_secs(15);
/// Between two tries to reach a database.
const PAUSE: Duration = Duration::from_millis(200);

/// An open list.
pub(super) enum List {
    Here(Box<dyn Waitlist>, &'static Runtime),
    Served(Remote),
}

/// The selected entries of a list.
pub(super) struct Entries {
    /// How many are on the list, selected or not.
    pub(super) count: u64,
    pub(super) entries: Box<dyn Iterator<Item = Result<Entry, String>>>,
}

/// A list that is to be served.
pub(super) struct Held {
    pub(super) list: Arc<dyn Waitlist>,
    /// What is wrong with its database, if it is in one.
    pub(super) trouble: Option<watch::Receiver<Option<Trouble>>>,
}

impl Store {
    /// The list that is there.
    ///
    /// # Errors
    /// A sentence for the owner, like all of them here.
    pub(super) fn open(&self) -> Result<List, String> {
        self.find()?
            .ok_or_else(|| format!("there is no waitlist in {self}; name its place with --store"))
    }

    /// The list that is there, or a new one.
    pub(super) fn open_or_make(&self) -> Result<List, String> {
        let list = self.look(true)?;
        list.ok_or_else(|| unreadable(self, &io::ErrorKind::NotFound.into()))
    }

    /// The list, if there is one.
    pub(super) fn find(&self) -> Result<Option<List>, String> {
        self.look(false)
    }

    /// The list that is there, or a new one, for this process to serve by a runtime. Waits for whoever has
    /// it, or for its database. Gives up when `stop` becomes true.
    pub(super) fn hold(&self, runtime: &Handle, stop: &AtomicBool) -> Result<Held, String> {
        let begun = Instant::now();
        let is_early = || begun.elapsed() < PATIENCE && !stop.load(Ordering::Relaxed);
        let held = match self {
            Self::Directory(data) => loop {
                match SledWaitlist::open_unless(stop, data) {
                    // By a command of the owner's, or by the server before this one.
                    Err(OpenError::Held(..)) if is_early() => {}
                    opened => {
                        break Held {
                            list: Arc::new(opened.map_err(told)?),
                            trouble: None,
                        };
                    }
                }
            },
            Self::Database(url) => {
                let open = || PostgresWaitlist::open_or_make(url, runtime);
                let list = retry(open, is_early, |why| tracing::warn!("{why}"))?;
                if let Some(warning) = list.warning() {
                    tracing::warn!("{warning}");
                }
                Held {
                    trouble: Some(list.trouble()),
                    list: Arc::new(list),
                }
            }
        };
        stop_if_the_store_panics();
        if let Self::Directory(data) = self
            && let Some(copy) = SledWaitlist::former_copy(data)
        {
            tracing::warn!(
                "{} is a copy of the waitlist that an earlier version has left. It is not used: remove it, \
                 because it has the addresses of people who were erased since",
                copy.display()
            );
        }
        Ok(held)
    }

    fn look(&self, make: bool) -> Result<Option<List>, String> {
        match self {
            Self::Directory(data) => look_in(self, data, make),
            Self::Database(url) => {
                let runtime = runtime(runtime::Builder::new_multi_thread())?;
                let open = || {
                    let opened = if make {
                        PostgresWaitlist::open_or_make(url, runtime.handle())
                    } else {
                        PostgresWaitlist::open(url, runtime.handle())
                    };
                    match opened {
                        Err(DatabaseError::NoList(_)) => Ok(None),
                        opened => opened.map(Some),
                    }
                };
                let begun = Instant::now();
                let is_early = || begun.elapsed() < PATIENCE;
                let list = retry(open, is_early, |why| eprintln!("landing: {why}"))?;
                Ok(list.map(|list| List::here(list, runtime)))
            }
        }
    }
}

/// Opens a database, again and again while that may help. Says so the first time.
fn retry<T>(
    open: impl Fn() -> Result<T, DatabaseError>,
    is_early: impl Fn() -> bool,
    say: impl Fn(&str),
) -> Result<T, String> {
    let mut has_said = false;
    loop {
        match open() {
            Err(error @ (DatabaseError::Unreachable(..) | DatabaseError::Unavailable(..)))
                if is_early() =>
            {
                if !std::mem::replace(&mut has_said, true) {
                    say(&format!(
                        "{error}. Trying for {} seconds",
                        PATIENCE.as_secs()
                    ));
                }
                sleep(PAUSE);
            }
            opened => return opened.map_err(told),
        }
    }
}

fn look_in(store: &Store, data: &Path, make: bool) -> Result<Option<List>, String> {
    let unreadable = |error: io::Error| unreadable(store, &error);
    // Before the list is held: without threads this fails, and the list stays free.
    let runtime = runtime(runtime::Builder::new_current_thread())?;
    let begun = Instant::now();
    loop {
        if let Some(remote) = Remote::find(data).map_err(unreadable)? {
            return Ok(Some(List::Served(remote)));
        }
        if !make && !SledWaitlist::is_in(data).map_err(unreadable)? {
            return Ok(None);
        }
        match fs::metadata(data).map(|directory| directory.uid()) {
            // What another user writes there, its owner's server could not read.
            Ok(owner) if owner != geteuid().as_raw() => {
                return Err(format!(
                    "{store} belongs to user {owner}: run this as that user"
                ));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unreadable(error)),
            _ => {}
        }
        match SledWaitlist::open(data) {
            // A server that starts or stops.
            Err(OpenError::Held(..)) if begun.elapsed() < PATIENCE => {}
            Err(error) => return Err(told(error)),
            Ok(list) => return Ok(Some(List::here(list, runtime))),
        }
    }
}

/// A runtime for the rest of the process. Its end would wait for a thread that looks up the name of a host,
/// which nothing stops.
fn runtime(mut builder: runtime::Builder) -> Result<&'static Runtime, String> {
    let runtime = builder.enable_all().build();
    let runtime = runtime.map_err(|error| format!("the runtime can't start: {error}"))?;
    Ok(Box::leak(Box::new(runtime)))
}

fn told(error: impl Error) -> String {
    error.to_string()
}

fn unreadable(store: &Store, error: &io::Error) -> String {
    let help = match error.kind() {
        io::ErrorKind::PermissionDenied => "; run this as the user that the server runs as",
        _ => "",
    };
    format!("{store} can't be read: {error}{help}")
}

impl List {
    fn here(list: impl Waitlist, runtime: &'static Runtime) -> Self {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(stop_if_the_store_panics);
        Self::Here(Box::new(list), runtime)
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

    /// How many were ever erased, see [`Waitlist::erasures`].
    pub(super) fn erasures(&self) -> Result<u64, String> {
        match self {
            Self::Here(list, runtime) => runtime.block_on(list.erasures()).map_err(advice),
            Self::Served(remote) => remote.erasures(),
        }
    }

    /// Corrects the count, see [`Waitlist::recount`]. A server that runs counts what it has read.
    pub(super) fn recount(&self) -> Result<i64, String> {
        match self {
            Self::Here(list, runtime) => runtime.block_on(list.recount()).map_err(advice),
            Self::Served(_) => Ok(0),
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
