//! The simplest possible store, which the others are compared with.

use std::sync::{Arc, Mutex};

use landing::waitlist::{
    Compaction, CorrectOutcome, Email, EntryStream, Fact, JoinOutcome, Selection, StoreError,
    StoreFuture, Waitlist, WaitlistEntry,
};
use tokio::sync::watch;

/// Entries in the order of their sign-ups.
pub(super) struct ReferenceModel {
    entries: Arc<Mutex<Vec<WaitlistEntry>>>,
    count: watch::Sender<u64>,
}

impl ReferenceModel {
    /// Opens a list of these entries.
    pub(super) fn over(entries: Arc<Mutex<Vec<WaitlistEntry>>>) -> Self {
        let count = entries.lock().expect("no panic").len() as u64;
        Self {
            entries,
            count: watch::channel(count).0,
        }
    }

    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Vec<WaitlistEntry>) -> T,
    ) -> StoreFuture<'_, T> {
        let mut entries = self.entries.lock().expect("no panic");
        let result = change(&mut entries);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, entries.len() as u64);
            before != *count
        });
        Box::pin(async { Ok(result) })
    }
}

impl Waitlist for ReferenceModel {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.change(|entries| {
            if entries
                .iter()
                .any(|listed| listed.email.key() == entry.email.key())
            {
                return JoinOutcome::AlreadyListed;
            }
            entries.push(entry);
            JoinOutcome::New
        })
    }

    fn erase(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.change(|entries| {
            let mut erase = |email: &Email| {
                let before = entries.len();
                entries.retain(|entry| entry.email.key() != email.key());
                entries.len() < before
            };
            emails.iter().map(&mut erase).collect()
        })
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        self.change(|entries| {
            let position = |key: String| entries.iter().position(|entry| entry.email.key() == key);
            let Some(at) = position(old.key()) else {
                return CorrectOutcome::NotListed;
            };
            if position(new.key()).is_some_and(|taken| taken != at) {
                return CorrectOutcome::NewAddressListed;
            }
            entries[at].email = new.clone();
            CorrectOutcome::Corrected
        })
    }

    fn add_facts(&self, facts: Vec<(Email, Fact)>) -> StoreFuture<'_, Vec<bool>> {
        self.change(|entries| {
            let mut record = |(email, fact): (Email, Fact)| {
                let entry = entries
                    .iter_mut()
                    .find(|entry| entry.email.key() == email.key());
                entry.map(|entry| entry.apply(fact)).is_some()
            };
            facts.into_iter().map(&mut record).collect()
        })
    }

    fn compact(&self, _: &mut (dyn FnMut(u64) + Send)) -> Result<Compaction, StoreError> {
        Ok(Compaction {
            bytes_before: 0,
            bytes_after: 0,
        })
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        let mut entries = self.entries.lock().expect("no panic").clone();
        entries.retain(|entry| {
            selection.since.is_none_or(|since| entry.joined_at >= since)
                && selection.until.is_none_or(|until| entry.joined_at < until)
                && selection.addresses.matches(&entry.email)
                && selection
                    .source
                    .as_ref()
                    .is_none_or(|source| entry.source.as_ref() == Some(source))
        });
        entries.sort_by_key(|entry| entry.joined_at);
        if selection.newest_first {
            entries.reverse();
        }
        let count = entries.len() as u64;
        Ok(EntryStream::new(count, entries.into_iter().map(Ok)))
    }
}
