//! The interface of a store, and the parts of a list as a backup has them.

use std::{error::Error, future::ready, io, slice, time::SystemTime};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::watch;
use uuid::Uuid;

use super::{
    email::Email,
    entry::{EntryStream, Fact, Selection, WaitlistEntry},
    error::{StoreError, StoreFuture},
    event::{Event, PendingEvents},
    ledger::{Delivery, Ledger, Message, MessageId},
    suppression::{AddressHash, Departure, ListKey, Suppressions},
};

/// A store of the list, as the site uses it. Every implementation passes `tests/site/store/conformance.rs`.
pub trait Waitlist: OwnerList {
    /// Adds the entry of a visitor, unless its address is already on the list. Once the future resolves to an outcome,
    /// the address is on the list and survives a crash of the process and of the machine. If the address was
    /// suppressed, it no longer is, because the person wants to be on the list; unless the entry
    /// [awaits a confirmation](WaitlistEntry::awaits_confirmation).
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot add the entry, or does not know whether it has. The entry may be on
    /// the list all the same. Repeating the call is safe and gives a definite outcome.
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome>;

    /// Returns the entry of an address, as [`find`](OwnerList::find) does.
    ///
    /// # Errors
    /// Like [`OwnerList::entries`].
    fn person(&self, email: &Email) -> StoreFuture<'_, Option<WaitlistEntry>> {
        let found = self.find(slice::from_ref(email));
        Box::pin(async move { Ok(found.await?.pop().flatten()) })
    }

    /// Records a fact about the sign-up of an address, in any spelling, at a time, and returns whether that sign-up is on the
    /// list. Otherwise the fact is not recorded: the person has left, and somebody may have typed the address in again. Once
    /// the future resolves, the fact is durable. It waits while the store is busy.
    ///
    /// # Errors
    /// Like [`join`](Self::join). Repeating the call is safe.
    fn add_fact(&self, email: &Email, joined_at: SystemTime, fact: Fact) -> StoreFuture<'_, bool>;

    /// Switches the recording of events on or off, durably. While it is on, each change of a person records its
    /// [`Event`]s in the same step, whichever process makes the change. Switching it off drops those that wait.
    ///
    /// # Errors
    /// Like [`join`](Self::join). Repeating the call is safe.
    fn record_events(&self, is_on: bool) -> StoreFuture<'_, ()>;

    /// Returns the recorded events with numbers above this one, and their numbers, in this order: at
    /// most [`CALL_MAX`]. Those of a person are in the order in which they happened. Returns `None` if the list records
    /// none.
    ///
    /// Only one of several processes gets events: the one that asked first, until
    /// [`EVENT_LEASE`](super::EVENT_LEASE) after its last call.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn events_after(&self, number: u64) -> StoreFuture<'_, Option<Vec<(u64, Event)>>>;

    /// Removes the events with these numbers and ids, durably, because they are delivered or given up. After a failover that
    /// has lost events, others may have the same numbers.
    ///
    /// # Errors
    /// Like [`join`](Self::join). Repeating the call is safe.
    fn finish_events(&self, events: Vec<(u64, Uuid)>) -> StoreFuture<'_, ()>;

    /// Resolves when the store can accept a sign-up.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    fn ready(&self) -> StoreFuture<'_, ()>;

    /// Returns the number of entries. The count is exact and kept up to date, so this never walks the list.
    fn count(&self) -> u64 {
        *self.watch_count().borrow()
    }

    /// Subscribes to changes of [`count`](Self::count).
    fn watch_count(&self) -> watch::Receiver<u64>;
}

/// What the owner's commands do with a list. Both stores implement it, and so does the client of a running server.
///
/// A call has at most [`CALL_MAX`] entries or addresses. Otherwise it fails with [`StoreError::CallTooLarge`].
pub trait OwnerList: Ledger {
    /// Adds many entries, as [`Waitlist::join`] does, and returns an outcome for each, in the same order. It is
    /// for imports: it does not add suppressed addresses, waits while the store is busy, and leaves room for visitors
    /// who sign up at the same time.
    ///
    /// # Errors
    /// Like [`Waitlist::join`]. Some entries may be on the list.
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>>;

    /// Removes the entries of addresses, in any spelling, with all facts about them. Returns for each address whether
    /// it was listed. Once the future resolves, the removal is durable, and so are the suppressions of
    /// [`Erasure::Suppress`]. It waits while the store is busy.
    ///
    /// # Errors
    /// Like [`Waitlist::join`]. Some addresses may be erased, and some suppressed and still listed. Repeating the call is
    /// safe.
    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>>;

    /// Returns, for each address, in any spelling, its entry with what became known about it, if it is on the list now.
    ///
    /// # Errors
    /// Like [`entries`](Self::entries).
    fn find(&self, emails: &[Email]) -> StoreFuture<'_, Vec<Option<WaitlistEntry>>>;

    /// Returns the key of the list, for the hashes of addresses. It changes only when a backup is restored.
    ///
    /// # Errors
    /// Like [`entries`](Self::entries).
    fn list_key(&self) -> StoreFuture<'_, ListKey>;

    /// Suppresses those addresses that are not on the list, or that [await a
    /// confirmation](WaitlistEntry::awaits_confirmation), because these people have left another list. Returns for each
    /// address whether it is suppressed now. Once the future resolves, the suppressions are durable. It waits while
    /// the store is busy.
    ///
    /// # Errors
    /// Like [`Waitlist::join`]. Some addresses may be suppressed. Repeating the call is safe.
    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>>;

    /// Lifts the suppressions of addresses, which the owner has suppressed by mistake. Returns, for each, whether it is on the
    /// list. Once the future resolves, the change is durable. It waits while the store is busy.
    ///
    /// # Errors
    /// Like [`Waitlist::join`]. Some suppressions may be lifted. Repeating the call is safe.
    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>>;

    /// Returns the suppressed addresses, with the key of their hashes.
    ///
    /// # Errors
    /// Like [`entries`](Self::entries).
    fn suppressions(&self) -> StoreFuture<'_, Suppressions>;

    /// Returns whether an address is suppressed, in any spelling.
    ///
    /// # Errors
    /// Like [`entries`](Self::entries).
    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool>;

    /// Gives the entry of one address another address, and keeps everything else of the entry. Both addresses may be
    /// spellings of the same one. The new address may be suppressed: the owner corrects a typing mistake. It then stays
    /// suppressed. Once the future resolves, the correction is durable. It waits while the store is busy.
    ///
    /// # Errors
    /// Like [`Waitlist::join`].
    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome>;

    /// Rewrites the store, so that its files no longer contain addresses that were erased or corrected. Sign-ups wait
    /// meanwhile.
    ///
    /// # Errors
    /// [`StoreError`]. Then the store is as it was before, or its old files could not be removed.
    fn compact(&self) -> StoreFuture<'_, Compaction>;

    /// Sets [`Waitlist::count`] to the number of entries, and returns the difference. A store that counts its
    /// entries each time it is opened has nothing to correct.
    ///
    /// # Errors
    /// Like [`Waitlist::join`]. Repeating the call is safe.
    fn recount(&self) -> StoreFuture<'_, i64> {
        Box::pin(ready(Ok(0)))
    }

    /// Returns the events that wait for the webhook, or `None` if the list records none.
    ///
    /// # Errors
    /// Like [`entries`](Self::entries).
    fn pending_events(&self) -> StoreFuture<'_, Option<PendingEvents>>;

    /// Reads the list as it is now. Entries added afterwards are not included. Those erased afterwards may be. It blocks on
    /// the disk, so call it from a thread that may block.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`], [`StoreError::Unreachable`], [`StoreError::Database`] and
    /// [`StoreError::CallerTimedOut`]. Each can also occur midway, as an item of the stream.
    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError>;
}

/// The outcome of a sign-up.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum JoinOutcome {
    /// The sign-up added the address to the list.
    New,
    /// The address was on the list before, perhaps in another spelling.
    AlreadyListed,
    /// The address is suppressed, so the import did not add it. A sign-up on the page never has this outcome.
    Suppressed,
}

/// Whom an erasure erases, and what it leaves behind besides the keyed hash in the ledger.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Erasure {
    /// Everybody, and leaves nothing. An existing suppression of the address stays.
    Complete,
    /// Everybody, and suppresses the address: no import adds it again. An address that is not listed is suppressed too.
    Suppress,
    /// Only people who have not confirmed their address, and who were added and asked to confirm it before this time. It
    /// leaves nothing. Another instance may have recorded a confirmation a moment ago.
    Unconfirmed {
        /// The time that an entry, and the last request to confirm it, must be older than.
        before: SystemTime,
    },
}

/// The outcome of a correction.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum CorrectOutcome {
    /// The entry has the new address.
    Corrected,
    /// The old address is not on the list.
    NotListed,
    /// Another entry has the new address. Nothing was changed.
    NewAddressListed,
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Compaction {
    /// Size of the store's files before, in bytes.
    pub bytes_before: u64,
    /// Size of the store's files after, in bytes.
    pub bytes_after: u64,
}

/// Maximum number of entries, addresses, facts or deliveries in a call of a store. In a list on this machine, this many
/// share a sync. With the longest addresses and sources, and a fact and a lifted suppression for each, they are 46 KiB, and
/// with their events 140 KiB. Together with what sled rewrites for them, they are less than a segment of its log (512 KiB).
/// At most one segment may begin between two syncs: after a power cut with several unsynced segments, `open()` hung forever.
pub const CALL_MAX: usize = 128;

/// Fails if a call has more than [`CALL_MAX`] items. Every store calls it first.
pub(super) fn check_call(items: usize) -> Result<(), StoreError> {
    match items <= CALL_MAX {
        true => Ok(()),
        false => Err(StoreError::CallTooLarge),
    }
}

/// A part of a list, and a line of a backup. A backup has them in any order, but the deliveries of each message follow it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackupItem {
    /// An address that is suppressed.
    Suppressed(AddressHash),
    /// Somebody has left.
    Departure(Departure),
    /// A message to the people on the list.
    Message(Message),
    /// A delivery of the message with this id.
    Delivery(MessageId, Delivery),
    /// A person on the list.
    Person(WaitlistEntry),
}

impl BackupItem {
    /// Returns the suppressed addresses and the departures of a list.
    pub fn of_suppressions(suppressions: &Suppressions) -> impl Iterator<Item = Self> {
        let departures = suppressions.departures().map(Self::Departure);
        suppressions
            .hashes()
            .map(Self::Suppressed)
            .chain(departures)
    }
}

/// Why a restore failed. The text says what was restored.
#[derive(Debug, Error)]
pub enum RestoreError {
    /// The list has people, suppressed addresses, departures or messages.
    #[error("nothing was restored: the list is not empty; choose a new place with --store")]
    NotEmpty,
    /// The backup cannot be read.
    #[error("nothing was restored: {0}")]
    Backup(io::Error),
    /// The backup contradicts itself, although it can be read.
    #[error("nothing was restored: line {line} of the backup: {reason}; report this")]
    Contradiction {
        /// The line.
        line: u64,
        /// The contradiction.
        reason: &'static str,
    },
    /// The list cannot be opened or replaced.
    #[error("nothing was restored: {0}")]
    Open(Box<dyn Error + Send + Sync>),
    /// The store has failed, for the reason that is the source of this error.
    #[error("nothing was restored")]
    Store(#[from] StoreError),
    /// The commit failed, for example because the connection to the database was lost.
    #[error("{0}; everything or nothing was restored: see `landing count`")]
    Uncertain(StoreError),
    /// The list is in its place, and a power cut may lose it.
    #[error(
        "everything was restored, but the disk has not confirmed it, and a power cut may lose it: {0}; check the disk, and \
         restore into a new place"
    )]
    NotSynced(io::Error),
}
