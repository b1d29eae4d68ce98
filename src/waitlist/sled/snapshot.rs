//! The durable state of the list, which the committer publishes after each batch.

use std::sync::{Arc, Mutex, atomic::AtomicU64};

use tokio::sync::watch;

/// The durable state, published to readers.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) snapshot: Arc<Mutex<Snapshot>>,
    pub(super) count: watch::Sender<u64>,
    pub(super) syncs: Arc<AtomicU64>,
}

/// The state of the list between two batches.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) records: ::sled::Tree,
    /// The number after the last durable item.
    pub(super) end: u64,
    /// The number of entries.
    pub(super) count: u64,
}
