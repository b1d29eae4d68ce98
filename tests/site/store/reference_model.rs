//! The simplest store there can be: what the others are compared with.

use std::sync::{Arc, Mutex};

use landing::waitlist::{Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist};
use tokio::sync::watch;

/// Entries in the order they came.
pub(super) struct Model {
    entries: Arc<Mutex<Vec<Entry>>>,
    count: watch::Sender<u64>,
}

impl Model {
    /// A list over what is there.
    pub(super) fn over(entries: Arc<Mutex<Vec<Entry>>>) -> Self {
        let count = entries.lock().expect("no panic").len() as u64;
        Self {
            entries,
            count: watch::channel(count).0,
        }
    }

    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Vec<Entry>) -> T,
    ) -> Answer<'_, T> {
        let mut entries = self.entries.lock().expect("no panic");
        let answer = change(&mut entries);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, entries.len() as u64);
            before != *count
        });
        Box::pin(async { Ok(answer) })
    }
}

impl Waitlist for Model {
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        self.change(|entries| {
            if entries
                .iter()
                .any(|one| one.email.key() == entry.email.key())
            {
                return Joined::AlreadyListed;
            }
            entries.push(entry);
            Joined::New
        })
    }

    fn erase(&self, emails: &[Email]) -> Answer<'_, Vec<bool>> {
        self.change(|entries| {
            let mut erase = |email: &Email| {
                let before = entries.len();
                entries.retain(|one| one.email.key() != email.key());
                entries.len() < before
            };
            emails.iter().map(&mut erase).collect()
        })
    }

    fn ready(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn entries(&self, selection: Selection) -> Result<Entries, StoreError> {
        let mut entries = self.entries.lock().expect("no panic").clone();
        let count = entries.len() as u64;
        entries.retain(|entry| {
            selection.since.is_none_or(|since| entry.joined_at >= since)
                && selection.until.is_none_or(|until| entry.joined_at < until)
        });
        entries.sort_by_key(|entry| entry.joined_at);
        if selection.newest_first {
            entries.reverse();
        }
        Ok(Entries::new(count, entries.into_iter().map(Ok)))
    }
}
