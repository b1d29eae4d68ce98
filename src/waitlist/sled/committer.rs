//! The only thread that writes. It replies to a request after the result is durable.
//!
//! sled's `flush()` is not durable: 0.34.7 calls `sync_file_range` and never `fsync`. Its `flush_async()` deadlocks
//! with eight or more tasks. So the committer takes the requests that are waiting, inserts their entries, flushes,
//! and syncs the log itself. Only then does it reply to all of them. Requests that wait at the same time share one
//! sync, and a lone request is not delayed.

use std::sync::{PoisonError, atomic::Ordering};

use tokio::sync::mpsc;

use super::{
    super::{
        entry::{Fact, WaitlistEntry},
        queue::{ReplySender, take_batch},
        store::JoinOutcome,
        suppression::{AddressHash, Suppressions},
    },
    compaction::CompactedCopySlot,
    contents::Counts,
    error::or_exit,
    file_guard::FileGuard,
    high_water_mark::Progress,
    key_set::KeySet,
    ledger_states::LedgerStates,
    record::{FACT_BYTES, Record, RecordItem, SUPPRESSION_BYTES, StoredEntry, StoredFact},
    snapshot::Published,
};

/// Maximum number of entries that share a sync.
///
/// With the longest addresses and sources, and a fact and a lifted suppression for each, this many entries are 46 KiB.
/// Together with what sled
/// rewrites for them, they are less than a segment of its log (512 KiB). At most one segment may begin between two
/// syncs: after a power cut with several unsynced segments, `open()` hung forever.
pub(super) const BATCH_MAX_ENTRIES: usize = 128;

/// A request to the committer.
pub(super) struct Job {
    /// How many entries of a batch it takes the place of.
    cost: usize,
    /// Does the work, and returns what sends the reply once the batch is durable.
    run: Box<dyn FnOnce(&mut SledCommitter) -> Option<SendReply> + Send>,
}

/// Sends a reply.
type SendReply = Box<dyn FnOnce() + Send>;

impl Job {
    /// Creates a job. It does nothing if the client has gone, so that nobody waits for the reply.
    pub(super) fn new<T: Send + 'static>(
        cost: usize,
        reply: ReplySender<T>,
        work: impl FnOnce(&mut SledCommitter) -> T + Send + 'static,
    ) -> Self {
        let run = Box::new(move |committer: &mut SledCommitter| {
            let is_abandoned = reply.is_closed();
            (!is_abandoned).then(|| {
                let done = work(committer);
                // Sending fails if the client has gone.
                Box::new(move || drop(reply.send(Ok(done)))) as SendReply
            })
        });
        Self { cost, run }
    }
}

/// Owns every write.
pub(super) struct SledCommitter {
    pub(super) database: ::sled::Db,
    pub(super) records: ::sled::Tree,
    pub(super) files: FileGuard,
    pub(super) keys: KeySet,
    pub(super) suppressions: Suppressions,
    pub(super) ledger: LedgerStates,
    /// The last record, which grows until it is full.
    pub(super) tail: Record,
    pub(super) counts: Counts,
    /// How many addresses were corrected since the list was opened.
    pub(super) corrections: u64,
    pub(super) published: Published,
    /// Where a compacted copy of the store waits to be used.
    pub(super) compacted_copy: CompactedCopySlot,
}

impl SledCommitter {
    /// Runs jobs until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(BATCH_MAX_ENTRIES);
        while queue.blocking_recv_many(&mut jobs, BATCH_MAX_ENTRIES) > 0 {
            while !jobs.is_empty() {
                self.commit(&mut jobs);
            }
        }
        or_exit(self.files.high_water_mark.sync());
    }

    /// Runs as many of the jobs as may share a sync, publishes the result, and replies.
    fn commit(&mut self, jobs: &mut Vec<Job>) {
        self.files.exit_if_overwritten();
        self.swap_in_compacted_copy();
        let (end_before, erased_before) = (self.tail.end(), self.counts.erased());
        let corrections_before = self.corrections;
        let mut replies = Vec::new();
        for job in take_batch(jobs, BATCH_MAX_ENTRIES, |job| job.cost) {
            replies.extend((job.run)(self));
        }
        let has_erased = self.counts.erased() > erased_before;
        let has_corrected = self.corrections > corrections_before;
        // Without changes there is nothing to sync, because earlier batches are durable.
        let has_changes = self.tail.end() > end_before || has_erased || has_corrected;
        if has_changes {
            self.write_tail();
            self.sync();
        }
        self.files.exit_if_missing();
        if has_changes {
            or_exit(self.files.high_water_mark.write(self.progress()));
            if has_erased {
                or_exit(self.files.high_water_mark.sync());
            }
            let snapshot = self.published.snapshot.lock();
            let mut snapshot = snapshot.unwrap_or_else(PoisonError::into_inner);
            (snapshot.end, snapshot.counts) = (self.tail.end(), self.counts);
            drop(snapshot);
            self.published.count.send_replace(self.counts.entries);
        }
        for send_reply in replies {
            send_reply();
        }
    }

    pub(super) fn sync(&self) {
        or_exit(self.database.flush());
        or_exit(self.files.log.sync_data());
        self.published.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the progress for the high-water mark.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            end: self.tail.end(),
            erased: self.counts.erased(),
        }
    }

    /// Adds the entry of a visitor, unless its address is on the list, and lifts the suppressions of the address.
    pub(super) fn join(&mut self, entry: &WaitlistEntry) -> JoinOutcome {
        let key = entry.email.key();
        let is_new = self.keys.insert(&key);
        let suppressions = self.find_suppressions(&key);
        if is_new {
            self.add_entry(entry, suppressions.len() * SUPPRESSION_BYTES);
        }
        self.lift(suppressions);
        if is_new {
            JoinOutcome::New
        } else {
            JoinOutcome::AlreadyListed
        }
    }

    /// Adds an entry from an import, unless its address is on the list or suppressed.
    pub(super) fn join_imported(&mut self, entry: &WaitlistEntry) -> JoinOutcome {
        let key = entry.email.key();
        if self.keys.contains(&key) {
            JoinOutcome::AlreadyListed
        } else if !self.find_suppressions(&key).is_empty() {
            JoinOutcome::Suppressed
        } else {
            self.keys.insert(&key);
            self.add_entry(entry, 0);
            JoinOutcome::New
        }
    }

    /// Adds an entry and its facts to the last record. All of them are in one record, with `more_bytes` for what
    /// follows. So a crash leaves all of them or none.
    fn add_entry(&mut self, entry: &WaitlistEntry, more_bytes: usize) {
        let item = RecordItem::Entry(StoredEntry::from(entry));
        self.make_room(item.len() + entry.facts().count() * FACT_BYTES + more_bytes);
        let number = self.tail.end();
        self.tail.push(item);
        for fact in entry.facts() {
            self.add_fact(number, fact);
        }
        self.counts.entries += 1;
    }

    /// Returns the suppressions of an address. A list without suppressions computes no hash.
    pub(super) fn find_suppressions(&self, key: &str) -> Vec<AddressHash> {
        if self.suppressions.is_empty() {
            return Vec::new();
        }
        self.suppressions.find(key).collect()
    }

    pub(super) fn add_fact(&mut self, entry: u64, fact: Fact) {
        self.make_room(FACT_BYTES);
        let fact = StoredFact { entry, fact };
        self.tail.push(RecordItem::Fact(fact));
    }

    /// Begins a new record if this number of bytes does not fit into the last one.
    pub(super) fn make_room(&mut self, bytes: usize) {
        if !self.tail.has_room(bytes) {
            self.write_tail();
            self.tail = Record::starting_at(self.tail.end());
        }
    }

    pub(super) fn write_tail(&self) {
        // An empty list has no record, and `open_in_place` relies on that.
        if self.tail.end() > self.tail.first() {
            or_exit(self.records.insert(self.tail.key(), self.tail.bytes()));
        }
    }
}
