//! The list: what a store of it promises ([`Waitlist`]), and the stores.

mod email;
mod sled;

use std::{fmt, pin::Pin, time::SystemTime};

use tokio::sync::watch;

pub use email::{Email, InvalidEmail};
pub use sled::{OpenError, SledWaitlist, stop_if_the_store_panics};

/// One person on the list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server. It is kept to the millisecond.
    pub joined_at: SystemTime,
}

/// How a sign-up ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Joined {
    /// The address is on the list since now.
    New,
    /// It had been there before, perhaps in another spelling.
    AlreadyListed,
}

/// A store of the list. Every implementation passes `src/tests/store/contract.rs`.
pub trait Waitlist: Send + Sync + 'static {
    /// Puts an entry on the list, unless its address is there. Once this has answered, the entry
    /// it speaks of survives the end of the process and of the machine.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't tell or can't keep it. The entry may be on the list all
    /// the same; asking again tells.
    fn join(&self, entry: Entry) -> Answer<'_, Joined>;

    /// Takes an address off the list, in whatever spelling, and says whether it was there. Once this
    /// has answered, it stays away.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn erase(&self, email: &Email) -> Answer<'_, bool>;

    /// Whether somebody could join now.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn ready(&self) -> Answer<'_, ()>;

    /// How many are on the list: exact, kept, never a walk over the list.
    fn count(&self) -> u64;

    /// The count, for whoever waits for it to change.
    fn changes(&self) -> watch::Receiver<u64>;

    /// The list as of now, by the time of joining: who joins meanwhile is not in it. It reads the
    /// disk, so it is for a thread that may wait.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`], also in the middle.
    fn entries(&self) -> Result<Entries, StoreError>;
}

/// What is on a list, one after the other.
pub type Entries = Box<dyn Iterator<Item = Result<Entry, StoreError>> + Send>;

/// A future answer of a store.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a running store has no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoreError {
    /// More sign-ups are waiting than the queue holds. Ask again in a moment.
    Busy,
    /// The store took too long. The sign-up may be on the list.
    TimedOut,
    /// The store has stopped.
    Stopped,
    /// What it holds can't be read.
    Unreadable,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the queue of sign-ups is full",
            Self::TimedOut => "the store takes too long to answer",
            Self::Stopped => "the store has stopped",
            Self::Unreadable => "the store can't be read",
        })
    }
}

impl std::error::Error for StoreError {}
