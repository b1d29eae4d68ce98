//! The waitlist, and the stores that keep it.
//!
//! - `store`: [`Waitlist`], the trait that every store implements, and [`OwnerList`], its part that is for the owner.
//! - `entry`: [`WaitlistEntry`], and the conversion of its time to milliseconds.
//! - `entry_stream`: [`Selection`] with its [`AddressFilter`], and [`EntryStream`], for reading the list.
//! - `email`: [`Email`], a valid address, and [`EmailDomain`].
//! - `source`: [`Source`], where a sign-up came from.
//! - `suppression`: [`Suppressions`], the addresses of people who have left.
//! - `ledger`: [`Ledger`], the part of a store that knows who gets which [`Message`]. `message_id`: [`MessageId`].
//! - `backup_item`: [`BackupItem`], a part of a list as a backup has it, and [`RestoreError`].
//! - `error`: [`StoreError`].
//! - `sled`: [`SledWaitlist`], a list in a data directory on this machine.
//! - `postgres`: [`PostgresWaitlist`], a list in a database, for several instances of the server.
//! - `queue`: the queue between the callers of a store and its committer.
//! - `store_panic`: ends the process when a store panics.

mod backup_item;
mod email;
mod entry;
mod entry_stream;
mod error;
mod ledger;
mod message_id;
mod postgres;
mod queue;
mod sled;
mod source;
mod store;
mod store_panic;
mod suppression;

pub use backup_item::{BackupItem, RestoreError};
pub use email::{Email, EmailDomain, InvalidEmail};
pub use entry::{Fact, WaitlistEntry, from_unix_millis, unix_millis};
pub use entry_stream::{AddressFilter, EntryStream, Selection, flatten_blocks};
pub use error::{StoreError, StoreFuture};
pub use ledger::{
    Delivery, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, Ledger, Message,
    ServerReply,
};
pub use message_id::{InvalidMessageId, MessageId};
pub use postgres::{
    DatabaseUrl, InvalidDatabaseUrl, Outage, PostgresOpenError, PostgresWaitlist, TlsError,
};
pub use sled::{SledOpenError, SledWaitlist};
pub use source::{InvalidSource, Source};
pub use store::{CALL_MAX, Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList, Waitlist};
pub use store_panic::exit_on_store_panic;
pub use suppression::{AddressHash, Departure, ListKey, SuppressionItem, Suppressions};
