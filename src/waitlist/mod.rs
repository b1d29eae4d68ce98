//! The list: what a store of it promises ([`Waitlist`]), and the stores.

mod email;
mod exit;
mod postgres;
mod queue;
mod sled;

use std::{fmt, future::ready, pin::Pin, sync::Arc, time::SystemTime};

use tokio::sync::watch;

pub use email::{Email, InvalidEmail};
pub use exit::print_stderr;
pub use postgres::{DatabaseUrl, Outage, PostgresOpenError, PostgresWaitlist};
pub use queue::exit_on_store_panic;
pub use sled::{SledOpenError, SledWaitlist};

/// One person on the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WaitlistEntry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server. It is kept to the millisecond.
    pub joined_at: SystemTime,
}

/// How a sign-up ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JoinOutcome {
    /// The address is on the list since now.
    New,
    /// It had been there before, perhaps in another spelling.
    AlreadyListed,
}

/// A store of the list. Every implementation passes `tests/site/store/conformance.rs`.
pub trait Waitlist: Send + Sync + 'static {
    /// Puts an entry on the list, unless its address is there. Once this has answered, the entry
    /// it speaks of survives the end of the process and of the machine.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't tell or can't keep it. The entry may be on the list all
    /// the same; asking again tells.
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome>;

    /// Like [`join`](Self::join) for each of many, in their order: for those from another list. It
    /// waits for its turn, and leaves room for who joins meanwhile.
    ///
    /// # Errors
    /// Like [`join`](Self::join); some may be on the list.
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        Box::pin(async move {
            let mut joined = Vec::with_capacity(entries.len());
            for entry in entries {
                joined.push(self.join(entry).await?);
            }
            Ok(joined)
        })
    }

    /// Takes addresses off the list, in whatever spelling, and says of each whether it was there. Once
    /// this has answered, they stay away. It waits for its turn.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn erase(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>>;

    /// How many entries were ever erased, once all erasures that have begun to write are done. It explains why
    /// [`entries`](Self::entries) may have fewer than it counted. A store whose entries are exact says 0.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn erased_count(&self) -> StoreFuture<'_, u64> {
        Box::pin(ready(Ok(0)))
    }

    /// Makes [`count`](Self::count) the number of entries, and returns by how much it has changed. A store that
    /// counts its entries whenever it is opened has nothing to correct.
    ///
    /// # Errors
    /// Like [`join`](Self::join); asking again is safe.
    fn recount(&self) -> StoreFuture<'_, i64> {
        Box::pin(ready(Ok(0)))
    }

    /// Whether somebody could join now.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn ready(&self) -> StoreFuture<'_, ()>;

    /// How many are on the list: exact, kept, never a walk over the list.
    fn count(&self) -> u64;

    /// The count, for whoever waits for it to change.
    fn watch_count(&self) -> watch::Receiver<u64>;

    /// The list as of now: who joins meanwhile is not in it, and who is erased meanwhile may be
    /// missing. It reads the disk, so it is for a thread that may wait.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`], [`StoreError::Unreachable`], [`StoreError::Database`] and
    /// [`StoreError::ReaderTimedOut`], also in the middle.
    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError>;
}

/// Which entries of a list, and in which order. Those of one time stand in the order they came.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Selection {
    /// Only who joined then or later.
    pub since: Option<SystemTime>,
    /// Only who joined before.
    pub until: Option<SystemTime>,
    /// From the newest to the oldest, not the other way.
    pub newest_first: bool,
}

/// What is on a list, one after the other.
pub struct EntryStream {
    count: u64,
    entries: Box<dyn Iterator<Item = Result<WaitlistEntry, StoreError>> + Send>,
}

impl EntryStream {
    /// Entries of a list that counted `count` people at the same moment.
    pub fn new(
        count: u64,
        entries: impl Iterator<Item = Result<WaitlistEntry, StoreError>> + Send + 'static,
    ) -> Self {
        Self {
            count,
            entries: Box::new(entries),
        }
    }

    /// [`Waitlist::count`] of the moment that the entries are of, selected or not.
    pub fn total_count(&self) -> u64 {
        self.count
    }
}

impl Iterator for EntryStream {
    type Item = Result<WaitlistEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }
}

/// A future answer of a store.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a running store has no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StoreError {
    /// More sign-ups are waiting than the queue holds. Ask again in a moment.
    Busy,
    /// The store took too long. The sign-up may be on the list.
    TimedOut,
    /// The store has stopped.
    Stopped,
    /// What it holds can't be read.
    Unreadable,
    /// The database that it is in does not answer.
    Unreachable,
    /// The database answers with an error, in its words. They have nobody's address.
    Database(Arc<str>),
    /// Whoever reads the list has paused for too long.
    ReaderTimedOut,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Database(reason) => return write!(f, "the database refuses: {reason}"),
            Self::ReaderTimedOut => "reading was paused for too long",
            Self::Busy => "the queue of sign-ups is full",
            Self::TimedOut => "the store takes too long to answer",
            Self::Stopped => "the store has stopped",
            Self::Unreadable => "the store can't be read",
            Self::Unreachable => "the database does not answer",
        })
    }
}

impl std::error::Error for StoreError {}
