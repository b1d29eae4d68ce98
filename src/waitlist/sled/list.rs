//! The list in a data directory, as the trait has it.

use std::future::ready;

use tokio::sync::watch;

use super::{
    super::{
        email::Email,
        entry::{Fact, WaitlistEntry},
        entry_stream::{EntryStream, Selection},
        error::{StoreError, StoreFuture},
        queue::{READY_TIMEOUT, REPLY_TIMEOUT},
        store::{Compaction, CorrectOutcome, Erasure, JoinOutcome, OwnerList, Waitlist},
        suppression::{ListKey, Suppressions},
    },
    COMPACTIONS_MAX, SledWaitlist,
    committer::Job,
    compaction, entries,
};

impl OwnerList for SledWaitlist {
    fn size(&self) -> StoreFuture<'_, u64> {
        Box::pin(ready(Ok(self.count())))
    }

    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.run_for_each(entries, |committer, entry| committer.join_imported(&entry))
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        self.run_for_each(keys, move |it, key: String| it.erase(&key, erasure))
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys: Vec<_> = emails.iter().map(Email::key).collect();
        self.run(keys.len(), move |committer| {
            let are_listed = keys
                .iter()
                .map(|key| committer.contents.people.contains(key));
            are_listed.collect()
        })
    }

    fn key(&self) -> StoreFuture<'_, ListKey> {
        self.run(0, |committer| committer.contents.suppressions.key())
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        self.run_for_each(keys, |it, key: String| it.suppress_unlisted(&key))
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        let keys = emails.iter().map(Email::key).collect();
        self.run_for_each(keys, |committer, key: String| committer.lift_address(&key))
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        self.run(0, |committer| committer.contents.suppressions.clone())
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        let key = email.key();
        self.run(0, move |committer| {
            committer.find_suppression(&key).is_some()
        })
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        let (old, new) = (old.key(), new.clone());
        self.run(1, move |committer| committer.correct(&old, &new))
    }

    fn compact(
        &self,
        report_copied: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Compaction, StoreError> {
        let Ok(_running) = self.compaction.try_lock() else {
            let reason = "another compaction is running; wait until it is done";
            return Err(StoreError::NotCompacted(reason.into()));
        };
        let size = || compaction::size(&self.store).unwrap_or_default();
        let bytes_before = size();
        for _ in 0..COMPACTIONS_MAX {
            let is_clean = self.compact_once(report_copied).map_err(|error| {
                // If this fails too, the next start removes the copy.
                let _ = compaction::remove_leftovers(&self.store);
                StoreError::NotCompacted(error.to_string().into())
            })?;
            if is_clean {
                return Ok(Compaction {
                    bytes_before,
                    bytes_after: size(),
                });
            }
        }
        let reason = "people were erased or corrected while it ran, each of the times it was repeated; run it again later";
        Err(StoreError::NotCompacted(reason.into()))
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        let snapshot = self.snapshot();
        let (count, is_everything) = (snapshot.count, selection.is_everything());
        let (selected, entries) = entries::entries(snapshot, selection)?;
        let count = if is_everything { count } else { selected };
        Ok(EntryStream::new(count, entries))
    }
}

impl Waitlist for SledWaitlist {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        let job = |reply| Job::new(1, reply, move |committer| committer.join(&entry));
        self.queue.request(REPLY_TIMEOUT, job)
    }

    fn person(&self, email: &Email) -> StoreFuture<'_, Option<WaitlistEntry>> {
        let key = email.key();
        let found = self.run(0, move |committer| committer.find(&key));
        Box::pin(async move { found.await? })
    }

    fn add_facts(&self, facts: Vec<(Email, Fact)>) -> StoreFuture<'_, Vec<bool>> {
        self.run_for_each(facts, |committer, (email, fact)| {
            committer.add_fact(&email.key(), fact)
        })
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        let job = |reply| Job::new(0, reply, |_| ());
        self.queue.request(READY_TIMEOUT, job)
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.count.clone()
    }
}
