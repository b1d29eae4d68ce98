//! The one thread that writes, and what makes an answer a promise.
//!
//! sled's own `flush()` is not durable (0.34.7 calls `sync_file_range` and never `fsync`) and its
//! `flush_async()` deadlocks with eight and more tasks. So the committer takes what is waiting,
//! inserts it, flushes, syncs the database file itself, and only then answers everyone it took: those
//! who wait share one sync, and who is alone waits for nobody.

use std::{
    collections::HashSet,
    fs::File,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ::sled::IVec;
use tokio::sync::{mpsc, watch};

use super::{
    super::{
        JoinOutcome, WaitlistEntry,
        exit::{EXIT_FAILURE, EXIT_FILES_MISSING, print_and_exit},
        queue::{Erasure, ReplySender, Request, take_batch},
    },
    describe,
    files::{FileState, is_not_found},
    high_water_mark::{self, HighWaterMark, Progress},
    key_set::KeySet,
    overwrite_monitor::OverwriteMonitor,
    record::{self, Record, StoredEntry},
};

/// Entries that share a sync. With the longest addresses they are 33 KiB, and with what sled writes
/// anew for them less than a segment of its log (512 KiB): between two syncs at most one may be
/// begun, because states after a power cut with several unsynced ones made `open()` hang for good.
pub(super) const BATCH_MAX_ENTRIES: usize = 128;

/// Records rewritten by an erasure that share a sync. Each may have sled write its leaf anew, which is
/// up to 16 records of 1 KiB: half a segment.
const MAX_REWRITES_PER_SYNC: u32 = 16;

/// Length of a segment of sled's log, in bytes: its default.
const SEGMENT_BYTES: u64 = 512 << 10;

/// Owns every write.
pub(super) struct Committer {
    pub(super) database: ::sled::Db,
    pub(super) records: ::sled::Tree,
    /// sled's log, opened once more to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    /// As of the last batch.
    pub(super) log_state: FileState,
    pub(super) overwrite_monitor: OverwriteMonitor,
    pub(super) keys: KeySet,
    /// The last record, which grows until it is full.
    pub(super) tail: Record,
    pub(super) high_water_mark: HighWaterMark,
    pub(super) published: Published,
}

/// What is durable, for those who read.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) snapshot: Arc<Mutex<Snapshot>>,
    pub(super) count: watch::Sender<u64>,
    pub(super) syncs: Arc<AtomicU64>,
}

/// The list between two batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snapshot {
    /// Entries with lower numbers may be read.
    pub(super) end: u64,
    pub(super) count: u64,
}

impl Committer {
    /// Commits until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut requests = Vec::with_capacity(BATCH_MAX_ENTRIES);
        while queue.blocking_recv_many(&mut requests, BATCH_MAX_ENTRIES) > 0 {
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                self.commit(&mut requests);
            }
        }
        or_exit(self.high_water_mark.sync());
    }

    /// Does what is asked, as far as one sync may make it durable; publishes it, and replies.
    fn commit(&mut self, requests: &mut Vec<Request>) {
        self.exit_if_files_overwritten();
        let before = self.tail.end();
        let mut erased = 0;
        let mut replies = Vec::new();
        for request in take_batch(requests, BATCH_MAX_ENTRIES) {
            replies.push(match request {
                Request::Join(entry, reply) => PendingReply::Join(self.join(&entry), reply),
                Request::JoinAll(entries, reply) => {
                    let joined = entries.iter().map(|entry| self.join(entry)).collect();
                    PendingReply::JoinAll(joined, reply)
                }
                Request::Erase(erasure, reply) => {
                    erased += self.erase(&erasure);
                    let gone = erasure.keys.iter().map(|key| self.keys.remove(key));
                    PendingReply::Erase(gone.collect(), reply)
                }
                Request::Ready(reply) => PendingReply::Ready(reply),
            });
        }
        let joined = self.tail.end() - before;
        // Without anything new there is nothing to sync: what came before is durable.
        let has_changes = joined + erased > 0;
        if has_changes {
            self.write_tail();
            self.sync();
        }
        self.exit_if_files_missing();
        if has_changes {
            let end = self.tail.end();
            let count = *self.published.count.borrow() + joined - erased;
            let progress = Progress {
                end,
                erased: end - count,
            };
            or_exit(self.high_water_mark.write(progress));
            if erased > 0 {
                or_exit(self.high_water_mark.sync());
            }
            let snapshot = self.published.snapshot.lock();
            *snapshot.unwrap_or_else(PoisonError::into_inner) = Snapshot { end, count };
            self.published.count.send_replace(count);
        }
        replies.into_iter().for_each(PendingReply::send);
    }

    fn sync(&self) {
        or_exit(self.database.flush());
        or_exit(self.log.sync_data());
        self.published.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds an entry to the last record, unless its address is known.
    fn join(&mut self, entry: &WaitlistEntry) -> JoinOutcome {
        if !self.keys.insert(&entry.email.key()) {
            return JoinOutcome::AlreadyListed;
        }
        let entry = StoredEntry::from(entry);
        if !self.tail.has_room(entry) {
            self.write_tail();
            self.tail = Record::starting_at(self.tail.end());
        }
        self.tail.push(Some(entry));
        JoinOutcome::New
    }

    fn write_tail(&self) {
        or_exit(self.records.insert(self.tail.key(), self.tail.bytes()));
    }

    /// Stops the process when another program has written to the files, such as `cp` from a backup. From then
    /// on nothing may be written: the next start must find what that program has left.
    fn exit_if_files_overwritten(&self) {
        if self.overwrite_monitor.take_overwrite() || !self.high_water_mark.is_unchanged() {
            self.exit_without_files();
        }
        // sled shortens its log too, but only by whole segments. Where the length is unknown, the log is there.
        let before = self.log_state.len;
        let len = FileState::from_file(&self.log).map_or(before, |log| log.len);
        if len < before && (len == 0 || !len.is_multiple_of(SEGMENT_BYTES)) {
            self.exit_without_files();
        }
    }

    /// Stops the process when the files were removed or replaced: sign-ups would be lost with this process,
    /// or with the next start.
    fn exit_if_files_missing(&mut self) {
        self.exit_if_files_overwritten();
        match FileState::from_path(&self.log_path) {
            Ok(there) if there.id == self.log_state.id => self.log_state = there,
            Err(error) if !is_not_found(&error) => {}
            _ => self.exit_without_files(),
        }
        if !self
            .high_water_mark
            .is_same_file(&self.log_path.with_file_name(high_water_mark::FILE_NAME))
        {
            self.exit_without_files();
        }
    }

    fn exit_without_files(&self) -> ! {
        let store = self.log_path.parent().unwrap_or(&self.log_path);
        print_and_exit(
            &format!(
                "the files of the waitlist in {} were removed, replaced or overwritten while they were in use; \
                 stopping. \
                 Restore the data directory before the next start: without files it creates an empty list",
                store.display()
            ),
            EXIT_FILES_MISSING,
        )
    }

    /// Takes addresses out of the records that have them, and returns how many entries that were. The
    /// entries that came after the search are searched here.
    fn erase(&mut self, erasure: &Erasure) -> u64 {
        let is_listed = |key: &&String| self.keys.contains(key);
        let sought: HashSet<_> = erasure.keys.iter().filter(is_listed).collect();
        if sought.is_empty() {
            return 0;
        }
        self.write_tail();
        let later = or_exit(self.records.get_lt(record::key(erasure.searched_up_to + 1)));
        let later = later.map_or(IVec::from(&record::key(0)), |(key, _)| key);
        let earlier = erasure.records.iter().map(|first| record::key(*first));
        let earlier = earlier.filter(|key| key.as_slice() < &*later);
        let earlier: Vec<_> = earlier
            .filter_map(|key| or_exit(self.records.get(key)).map(|bytes| (IVec::from(&key), bytes)))
            .collect();
        let later = self.records.range(later..).map(or_exit);

        let is_sought =
            |entry: &StoredEntry| sought.contains(&WaitlistEntry::from(*entry).email.key());
        let (mut erased, mut rewritten) = (0, 0);
        for (key, bytes) in earlier.into_iter().chain(later) {
            // What is damaged was refused when the list was opened.
            let (first, items) = record::parse(&key, &bytes).unwrap_or_default();
            if !items.iter().flatten().any(is_sought) {
                continue;
            }
            let mut rest = Record::starting_at(first);
            for item in items {
                let kept = item.filter(|entry| !is_sought(entry));
                erased += u64::from(kept.is_some() != item.is_some());
                rest.push(kept);
            }
            or_exit(self.records.insert(rest.key(), rest.bytes()));
            if first == self.tail.first() {
                self.tail = rest;
            }
            rewritten += 1;
            if rewritten % MAX_REWRITES_PER_SYNC == 0 {
                self.sync();
            }
        }
        erased
    }
}

/// What was done, or the end of the process. After a failed sync the kernel may drop the pages and
/// call the next sync a success, so nothing this process could still do is safe, not even to answer.
/// A restart reads what the disk really holds.
fn or_exit<T>(done: Result<T, impl Into<::sled::Error>>) -> T {
    done.unwrap_or_else(|error| {
        let reason = describe(error.into());
        print_and_exit(&format!(
            "the waitlist can't be read or written: {reason}; it stops, with everything that was \
             acknowledged on the disk. See to the disk and start it again"
        ), EXIT_FAILURE)
    })
}

enum PendingReply {
    Join(JoinOutcome, ReplySender<JoinOutcome>),
    JoinAll(Vec<JoinOutcome>, ReplySender<Vec<JoinOutcome>>),
    Erase(Vec<bool>, ReplySender<Vec<bool>>),
    Ready(ReplySender<()>),
}

impl PendingReply {
    fn send(self) {
        // Who has gone meanwhile needs no answer.
        match self {
            Self::Join(joined, reply) => drop(reply.send(Ok(joined))),
            Self::JoinAll(joined, reply) => drop(reply.send(Ok(joined))),
            Self::Erase(erased, reply) => drop(reply.send(Ok(erased))),
            Self::Ready(reply) => drop(reply.send(Ok(()))),
        }
    }
}
