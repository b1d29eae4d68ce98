//! The waitlist, and the stores that keep it.
//!
//! - `store`: [`Waitlist`], the trait that every store implements, and [`OwnerList`], its part that is for the owner.
//!   [`BackupItem`]: a part of a list as a backup has it.
//! - `entry`: [`WaitlistEntry`] with its [`Source`], a [`Selection`] of entries, and [`EntryStream`], for reading the list.
//! - `email`: [`Email`], a valid address, and [`EmailDomain`].
//! - `suppression`: [`Suppressions`], the addresses of people who have left.
//! - `ledger`: [`Ledger`], the part of a store that knows who gets which [`Message`].
//! - `event`: [`Event`], what a webhook is told about a person.
//! - `mailbox`: the mailbox that an address leads to.
//! - `invitations`: the links by which people invite others, and [`Standings`], the line that follows from them.
//! - `error`: [`StoreError`].
//! - `sled`: [`SledWaitlist`], a list in a data directory on this machine.
//! - `postgres`: [`PostgresWaitlist`], a list in a database, for several instances of the server.
//! - `queue`: the queue between the callers of a store and its committer.
//! - `store_panic`: ends the process when a store panics, and locks mutexes after other panics.

mod email;
mod entry;
mod error;
mod event;
mod invitations;
mod ledger;
mod mailbox;
mod postgres;
mod queue;
mod sled;
mod store;
mod store_panic;
mod suppression;

pub use email::{Email, EmailDomain, InvalidEmail};
pub use entry::{
    EntryStream, Fact, InvalidSource, Selection, Source, WaitlistEntry, flatten_blocks,
    from_unix_millis, unix_millis, unix_seconds,
};
pub use error::{StoreError, StoreFuture};
pub use event::{EVENT_LEASE, Event, PendingEvents};
pub use invitations::{Standings, invite_link};
pub use ledger::{
    Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, InvalidMessageId,
    Ledger, Message, MessageId, ServerReply,
};
pub use mailbox::hash_mailbox;
pub use postgres::{
    DatabaseUrl, InvalidDatabaseUrl, Outage, PostgresOpenError, PostgresWaitlist, TlsError,
};
pub use queue::for_visitor;
pub use sled::{SledOpenError, SledWaitlist};
pub use store::{
    BackupItem, CALL_MAX, Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList,
    RestoreError, Waitlist,
};
pub use store_panic::exit_on_store_panic;
pub(crate) use store_panic::locked;
pub use suppression::{AddressHash, Departure, ListKey, Suppressions};
