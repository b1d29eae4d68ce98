//! The only thread that writes. It replies to a request after the result is durable.
//!
//! sled's `flush()` is not durable: 0.34.7 calls `sync_file_range` and never `fsync`. Its `flush_async()` deadlocks
//! with eight or more tasks. So the committer takes the requests that are waiting, inserts their entries, flushes,
//! and syncs the log itself. Only then does it reply to all of them. Requests that wait at the same time share one
//! sync, and a lone request is not delayed.

use std::{
    mem::replace,
    sync::{Arc, Mutex},
    time::SystemTime,
};

use tokio::sync::{mpsc, watch};

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry},
        error::StoreError,
        queue::{ReplySender, take_batch},
        store::{CALL_MAX, CorrectOutcome, Erasure, JoinOutcome},
        store_panic::locked,
        suppression::{AddressHash, Departure},
    },
    contents::Contents,
    entries::{Published, Snapshot},
    error::or_exit,
    file_guard::FileGuard,
    items::RecordItem,
};

/// A request to the committer.
pub(super) struct Job {
    /// How many entries of a batch it takes the place of.
    cost: usize,
    run: Work,
}

/// Does the work of a job, and returns what sends the reply once the batch is durable.
type Work = Box<dyn FnOnce(&mut SledCommitter) -> Option<SendReply> + Send>;

/// Sends a reply.
type SendReply = Box<dyn FnOnce() + Send>;

impl Job {
    /// Creates a job. It does nothing if nobody waits for the reply any more.
    pub(super) fn new<T: Send + 'static>(
        cost: usize,
        reply: ReplySender<T>,
        work: impl FnOnce(&mut SledCommitter) -> T + Send + 'static,
    ) -> Self {
        let run = Box::new(move |committer: &mut SledCommitter| {
            let is_abandoned = reply.is_abandoned();
            (!is_abandoned).then(|| {
                let done = work(committer);
                Box::new(move || reply.send(Ok(done))) as SendReply
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
    pub(super) contents: Contents,
    /// Whether the batch has erased somebody.
    pub(super) has_erased: bool,
    pub(super) published: Arc<Published>,
}

impl SledCommitter {
    pub(super) fn new(
        database: ::sled::Db,
        records: ::sled::Tree,
        contents: Contents,
        files: FileGuard,
    ) -> Self {
        let snapshot = Snapshot {
            records: records.clone(),
            end: contents.tail.end(),
        };
        let published = Published {
            snapshot: Mutex::new(snapshot),
            count: watch::Sender::new(contents.people.len()),
        };
        Self {
            database,
            records,
            files,
            contents,
            has_erased: false,
            published: Arc::new(published),
        }
    }

    /// Runs jobs until the queue is closed and empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(CALL_MAX);
        while queue.blocking_recv_many(&mut jobs, CALL_MAX) > 0 {
            while !jobs.is_empty() {
                self.commit(&mut jobs);
            }
        }
        or_exit(self.files.high_water_mark.sync());
    }

    /// Runs as many of the jobs as may share a sync, publishes the result, and replies.
    fn commit(&mut self, jobs: &mut Vec<Job>) {
        self.files.exit_if_overwritten();
        let end_before = self.contents.tail.end();
        self.has_erased = false;
        let mut replies = Vec::new();
        for job in take_batch(jobs, CALL_MAX, |job| job.cost) {
            replies.extend((job.run)(self));
        }
        let end = self.contents.tail.end();
        // Without changes there is nothing to sync, because earlier batches are durable.
        let has_changes = end > end_before;
        if has_changes {
            or_exit(self.contents.tail.insert_into(&self.records));
            self.sync();
        }
        self.files.exit_if_missing();
        if has_changes {
            or_exit(self.files.high_water_mark.write(end));
            // After a power cut, an older mark would accept a copy of the log from before the erasure.
            if self.has_erased {
                or_exit(self.files.high_water_mark.sync());
            }
            let count = self.contents.people.len();
            locked(&self.published.snapshot).end = end;
            let publish = |published: &mut u64| replace(published, count) != count;
            self.published.count.send_if_modified(publish);
        }
        for send_reply in replies {
            send_reply();
        }
    }

    fn sync(&self) {
        or_exit(self.database.flush());
        or_exit(self.files.log.sync_data());
    }

    /// Adds the entry of a visitor, unless its address is on the list, and lifts the suppression of the address, unless the
    /// entry awaits a confirmation.
    pub(super) fn join(&mut self, entry: WaitlistEntry) -> JoinOutcome {
        let key = entry.email.key();
        let is_new = !self.contents.people.contains(&key);
        let suppression = match entry.awaits_confirmation() {
            true => None,
            false => self.find_suppression(&key),
        };
        let mut items = match is_new {
            true => self.items_of(entry),
            false => Vec::new(),
        };
        items.extend(suppression.map(RecordItem::Lifted));
        self.append(items);
        match is_new {
            true => JoinOutcome::New,
            false => JoinOutcome::AlreadyListed,
        }
    }

    /// Adds an entry from an import, unless its address is on the list or suppressed.
    pub(super) fn join_imported(&mut self, entry: WaitlistEntry) -> JoinOutcome {
        let key = entry.email.key();
        if self.contents.people.contains(&key) {
            JoinOutcome::AlreadyListed
        } else if self.find_suppression(&key).is_some() {
            JoinOutcome::Suppressed
        } else {
            self.append(self.items_of(entry));
            JoinOutcome::New
        }
    }

    /// Returns the items of a new entry: the entry and its facts.
    pub(super) fn items_of(&self, entry: WaitlistEntry) -> Vec<RecordItem> {
        let number = self.contents.tail.end();
        let facts: Vec<_> = entry.facts().collect();
        let facts = facts.into_iter().map(|fact| RecordItem::Fact(number, fact));
        [RecordItem::Entry(entry)]
            .into_iter()
            .chain(facts)
            .collect()
    }

    /// Erases an address, see [`Erasure`]. Returns whether it was listed. Its suppression is
    /// before the erasure in the log, so a crash leaves nobody who is neither listed nor suppressed.
    pub(super) fn erase(&mut self, key: &str, kind: Erasure) -> bool {
        if kind == Erasure::Suppress {
            self.suppress(key);
        }
        let Some(number) = self.contents.people.get(key) else {
            return false;
        };
        let person = or_exit(self.person(number));
        if let Erasure::Unconfirmed { before } = kind {
            let is_since = |time: SystemTime| time >= before;
            let stays = person.confirmed_at.is_some()
                || is_since(person.joined_at)
                || person.asked_at.is_some_and(is_since);
            if stays {
                return false;
            }
        }
        self.append([RecordItem::Erased(number)]);
        self.has_erased = true;
        if kind == Erasure::Suppress {
            self.append([RecordItem::Departure(Departure::new(person.source))]);
        }
        true
    }

    /// Gives the entry of an address another address.
    pub(super) fn correct(&mut self, old_key: &str, new: Email) -> CorrectOutcome {
        let Some(entry) = self.contents.people.get(old_key) else {
            return CorrectOutcome::NotListed;
        };
        let new_key = new.key();
        if new_key != old_key && self.contents.people.contains(&new_key) {
            return CorrectOutcome::NewAddressListed;
        }
        self.append([RecordItem::Readdressed(entry, new)]);
        CorrectOutcome::Corrected
    }

    /// Records a fact. A confirmation lifts the suppression of the address, in the same batch. Returns whether the address is
    /// on the list.
    pub(super) fn add_fact(&mut self, key: &str, joined_at: SystemTime, fact: Fact) -> bool {
        let entry = self.contents.people.get(key);
        let entry = entry.filter(|entry| or_exit(self.person(*entry)).is_of_sign_up(joined_at));
        if let Some(entry) = entry {
            let suppression = match fact {
                Fact::ConfirmedAt(_) => self.find_suppression(key),
                Fact::AskedAt(_) => None,
            };
            // A repetition needs no item: the earlier one is durable before the reply.
            let is_new = !self.contents.changes.has_fact(entry, fact);
            let recorded = is_new.then_some(RecordItem::Fact(entry, fact));
            let lifted = suppression.map(RecordItem::Lifted);
            self.append(recorded.into_iter().chain(lifted));
        }
        entry.is_some()
    }

    /// Returns the entry of an address.
    pub(super) fn find(&self, key: &str) -> Result<Option<WaitlistEntry>, StoreError> {
        let number = self.contents.people.get(key);
        let person = number.map(|number| self.person(number)).transpose();
        person.map_err(|_| StoreError::Unreadable)
    }

    /// Returns the entry with this number, which somebody has.
    pub(super) fn person(&self, number: u64) -> Result<WaitlistEntry, ::sled::Error> {
        let person = self.contents.person(&self.records, number)?;
        person.ok_or_else(|| ::sled::Error::ReportableBug(format!("item {number} is missing")))
    }

    /// Appends items and the events that they cause, and takes them into account. All of them are in one record, so no
    /// power cut keeps only some.
    pub(super) fn append(&mut self, items: impl IntoIterator<Item = RecordItem>) {
        let mut items: Vec<_> = items.into_iter().collect();
        let events: Vec<_> = items.iter().flat_map(|it| self.events_of(it)).collect();
        items.extend(events);
        let bytes = items.iter().map(RecordItem::len).sum();
        or_exit(self.contents.tail.make_room(bytes, &self.records));
        for item in &items {
            let added = or_exit(self.contents.add(&self.records, item));
            // Otherwise the program ends, because the list would not open any more.
            assert!(added.is_some(), "an item contradicts the list");
        }
    }

    /// Suppresses an address, unless it is suppressed.
    pub(super) fn suppress(&mut self, key: &str) {
        let hash = self.contents.suppressions.list_key().hash(key);
        if !self.contents.suppressions.contains_hash(hash) {
            self.append([RecordItem::Suppressed(hash)]);
        }
    }

    /// Suppresses an address, unless somebody has it who is on the list and awaits no confirmation. Returns whether it is
    /// suppressed.
    pub(super) fn suppress_unlisted(&mut self, key: &str) -> bool {
        let number = self.contents.people.get(key);
        let is_member = number.is_some_and(|it| !or_exit(self.person(it)).awaits_confirmation());
        if !is_member {
            self.suppress(key);
        }
        !is_member
    }

    /// Returns the suppression of an address, if there is one. A list without suppressions computes no hash.
    pub(super) fn find_suppression(&self, key: &str) -> Option<AddressHash> {
        let suppressions = &self.contents.suppressions;
        if suppressions.is_empty() {
            return None;
        }
        let hash = suppressions.list_key().hash(key);
        suppressions.contains_hash(hash).then_some(hash)
    }

    /// Lifts the suppression of an address. Returns whether it is on the list.
    pub(super) fn lift_address(&mut self, key: &str) -> bool {
        let lifted = self.find_suppression(key).map(RecordItem::Lifted);
        self.append(lifted);
        self.contents.people.contains(key)
    }
}
