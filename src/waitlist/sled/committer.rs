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
        Entry, Joined,
        queue::{Erasure, Reply, Request, take_batch},
        stop::{FAILED, FILES_GONE, report_and_exit},
    },
    files::{FileState, is_missing},
    known::Known,
    mark::{self, Mark, Progress},
    overwrites::OverwriteMonitor,
    reason,
    record::{self, Record, Stored},
};

/// Entries that share a sync. With the longest addresses they are 33 KiB, and with what sled writes
/// anew for them less than a segment of its log (512 KiB): between two syncs at most one may be
/// begun, because states after a power cut with several unsynced ones made `open()` hang for good.
pub(super) const BATCH_MAX: usize = 128;

/// Records rewritten by an erasure that share a sync. Each may have sled write its leaf anew, which is
/// up to 16 records of 1 KiB: half a segment.
const REWRITTEN_MAX: u32 = 16;

/// Length of a segment of sled's log, in bytes: its default.
const SEGMENT_BYTES: u64 = 512 << 10;

/// Owns every write.
pub(super) struct Committer {
    pub(super) database: ::sled::Db,
    pub(super) entries: ::sled::Tree,
    /// sled's log, opened once more to sync it.
    pub(super) log: File,
    pub(super) log_path: PathBuf,
    /// As of the last batch.
    pub(super) log_state: FileState,
    pub(super) overwrites: OverwriteMonitor,
    pub(super) known: Known,
    /// The last record, which grows until it is full.
    pub(super) tip: Record,
    pub(super) mark: Mark,
    pub(super) published: Published,
}

/// What is durable, for those who read.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) durable: Arc<Mutex<Moment>>,
    pub(super) count: watch::Sender<u64>,
    pub(super) syncs: Arc<AtomicU64>,
}

/// The list between two batches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Entries with lower numbers may be read.
    pub(super) end: u64,
    pub(super) count: u64,
}

impl Committer {
    /// Commits until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Request>) {
        let mut requests = Vec::with_capacity(BATCH_MAX);
        while queue.blocking_recv_many(&mut requests, BATCH_MAX) > 0 {
            requests.retain(|request| !request.is_abandoned());
            while !requests.is_empty() {
                self.commit(&mut requests);
            }
        }
        or_stop(self.mark.sync());
    }

    /// Does what is asked, as far as one sync may make it durable; publishes it, and answers.
    fn commit(&mut self, requests: &mut Vec<Request>) {
        self.stop_if_the_files_were_overwritten();
        let before = self.tip.end();
        let mut erased = 0;
        let mut answers = Vec::new();
        for request in take_batch(requests, BATCH_MAX) {
            answers.push(match request {
                Request::Join(entry, answer) => Answer::Joined(self.join(&entry), answer),
                Request::JoinAll(entries, answer) => {
                    let joined = entries.iter().map(|entry| self.join(entry)).collect();
                    Answer::JoinedAll(joined, answer)
                }
                Request::Erase(erasure, answer) => {
                    erased += self.erase(&erasure);
                    let gone = erasure.keys.iter().map(|key| self.known.remove(key));
                    Answer::Erased(gone.collect(), answer)
                }
                Request::Ready(answer) => Answer::Ready(answer),
            });
        }
        let joined = self.tip.end() - before;
        // Without anything new there is nothing to sync: what came before is durable.
        let is_new = joined + erased > 0;
        if is_new {
            self.write_tip();
            self.sync();
        }
        self.stop_if_the_files_are_gone();
        if is_new {
            let end = self.tip.end();
            let count = *self.published.count.borrow() + joined - erased;
            let progress = Progress {
                end,
                erased: end - count,
            };
            or_stop(self.mark.set(progress));
            if erased > 0 {
                or_stop(self.mark.sync());
            }
            let durable = self.published.durable.lock();
            *durable.unwrap_or_else(PoisonError::into_inner) = Moment { end, count };
            self.published.count.send_replace(count);
        }
        answers.into_iter().for_each(Answer::send);
    }

    fn sync(&self) {
        or_stop(self.database.flush());
        or_stop(self.log.sync_data());
        self.published.syncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds an entry to the last record, unless its address is known.
    fn join(&mut self, entry: &Entry) -> Joined {
        if !self.known.insert(&entry.email.key()) {
            return Joined::AlreadyListed;
        }
        let entry = Stored::from(entry);
        if !self.tip.has_room(entry) {
            self.write_tip();
            self.tip = Record::starting_at(self.tip.end());
        }
        self.tip.push(Some(entry));
        Joined::New
    }

    fn write_tip(&self) {
        or_stop(self.entries.insert(self.tip.key(), self.tip.bytes()));
    }

    /// Stops the process when another program has written to the files, such as `cp` from a backup. From then
    /// on nothing may be written: the next start must find what that program has left.
    fn stop_if_the_files_were_overwritten(&self) {
        if self.overwrites.happened() || !self.mark.is_unchanged() {
            self.stop_without_files();
        }
        // sled shortens its log too, but only by whole segments. Where the length is unknown, the log is there.
        let before = self.log_state.len;
        let len = FileState::of(&self.log).map_or(before, |log| log.len);
        if len < before && (len == 0 || !len.is_multiple_of(SEGMENT_BYTES)) {
            self.stop_without_files();
        }
    }

    /// Stops the process when the files were removed or replaced: sign-ups would be lost with this process,
    /// or with the next start.
    fn stop_if_the_files_are_gone(&mut self) {
        self.stop_if_the_files_were_overwritten();
        match FileState::at(&self.log_path) {
            Ok(there) if there.id == self.log_state.id => self.log_state = there,
            Err(error) if !is_missing(&error) => {}
            _ => self.stop_without_files(),
        }
        if !self.mark.is_at(&self.log_path.with_file_name(mark::FILE)) {
            self.stop_without_files();
        }
    }

    fn stop_without_files(&self) -> ! {
        let store = self.log_path.parent().unwrap_or(&self.log_path);
        report_and_exit(
            &format!(
                "the files of the waitlist in {} were removed, replaced or overwritten while they were in use; \
                 stopping. \
                 Restore the data directory before the next start: without files it creates an empty list",
                store.display()
            ),
            FILES_GONE,
        )
    }

    /// Takes addresses out of the records that have them, and returns how many entries that were. The
    /// entries that came after the search are searched here.
    fn erase(&mut self, erasure: &Erasure) -> u64 {
        let known = |key: &&String| self.known.contains(key);
        let sought: HashSet<_> = erasure.keys.iter().filter(known).collect();
        if sought.is_empty() {
            return 0;
        }
        self.write_tip();
        let later = or_stop(self.entries.get_lt(record::key(erasure.searched + 1)));
        let later = later.map_or(IVec::from(&record::key(0)), |(key, _)| key);
        let earlier = erasure.records.iter().map(|first| record::key(*first));
        let earlier = earlier.filter(|key| key.as_slice() < &*later);
        let earlier: Vec<_> = earlier
            .filter_map(|key| or_stop(self.entries.get(key)).map(|bytes| (IVec::from(&key), bytes)))
            .collect();
        let later = self.entries.range(later..).map(or_stop);

        let is_it = |entry: &Stored| sought.contains(&Entry::from(*entry).email.key());
        let (mut erased, mut rewritten) = (0, 0);
        for (key, bytes) in earlier.into_iter().chain(later) {
            // What is damaged was refused when the list was opened.
            let (first, places) = record::parse(&key, &bytes).unwrap_or_default();
            if !places.iter().flatten().any(is_it) {
                continue;
            }
            let mut rest = Record::starting_at(first);
            for place in places {
                let kept = place.filter(|entry| !is_it(entry));
                erased += u64::from(kept.is_some() != place.is_some());
                rest.push(kept);
            }
            or_stop(self.entries.insert(rest.key(), rest.bytes()));
            if first == self.tip.first() {
                self.tip = rest;
            }
            rewritten += 1;
            if rewritten % REWRITTEN_MAX == 0 {
                self.sync();
            }
        }
        erased
    }
}

/// What was done, or the end of the process. After a failed sync the kernel may drop the pages and
/// call the next sync a success, so nothing this process could still do is safe, not even to answer.
/// A restart reads what the disk really holds.
fn or_stop<T>(done: Result<T, impl Into<::sled::Error>>) -> T {
    done.unwrap_or_else(|error| {
        let reason = reason(error.into());
        report_and_exit(&format!(
            "the waitlist can't be read or written: {reason}; it stops, with everything that was \
             acknowledged on the disk. See to the disk and start it again"
        ), FAILED)
    })
}

enum Answer {
    Joined(Joined, Reply<Joined>),
    JoinedAll(Vec<Joined>, Reply<Vec<Joined>>),
    Erased(Vec<bool>, Reply<Vec<bool>>),
    Ready(Reply<()>),
}

impl Answer {
    fn send(self) {
        // Who has gone meanwhile needs no answer.
        match self {
            Self::Joined(joined, to) => drop(to.send(Ok(joined))),
            Self::JoinedAll(joined, to) => drop(to.send(Ok(joined))),
            Self::Erased(erased, to) => drop(to.send(Ok(erased))),
            Self::Ready(to) => drop(to.send(Ok(()))),
        }
    }
}
