//! The list: what a store of it promises ([`Waitlist`]), and the stores.

mod email;
mod sled;

use std::{fmt, pin::Pin, time::SystemTime};

use tokio::sync::watch;

pub use email::{Email, InvalidEmail};
pub use sled::{OpenError, SledWaitlist};

/// One person on the list.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The address.
    pub email: Email,
    /// When the sign-up reached the server.
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

/// A store of the list. Every implementation passes `src/tests/store.rs`.
pub trait Waitlist: Send + Sync + 'static {
    /// Puts an entry on the list, unless its address is there. Once this has answered, the entry
    /// it speaks of survives the end of the process and of the machine.
    ///
    /// # Errors
    /// [`StoreError`] when the store can't tell or can't keep it. The entry may be on the list all
    /// the same; asking again tells.
    fn join(&self, entry: Entry) -> Answer<'_, Joined>;

    /// How many are on the list: exact, kept, never a walk over the list.
    fn count(&self) -> u64;

    /// The count, for whoever waits for it to change.
    fn changes(&self) -> watch::Receiver<u64>;
}

/// A future answer of a store.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Why a running store has no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StoreError {
    /// More sign-ups are waiting than the queue holds. Ask again in a moment.
    Busy,
    /// The store has stopped.
    Stopped,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the queue of sign-ups is full",
            Self::Stopped => "the store has stopped",
        })
    }
}

impl std::error::Error for StoreError {}
