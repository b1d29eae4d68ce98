//! An open list, as the commands use it: in a store that this process has opened, or through the server that holds it.

use std::{slice, sync::Once, thread, time::Duration};

use super::{list_error, store_location::StoreLocation, wait_for};
use crate::waitlist::{
    CALL_MAX, Delivery, DeliveryResult, Email, ListKey, Message, MessageId, OwnerList, Selection,
    StoreError, StoreFuture, Suppressions, WaitlistEntry, exit_on_store_panic,
};

/// How often a call is made again that must not fail because a server or a database restarts.
const RETRIES_MAX: usize = 5;
/// Pause before a call is made again. A server or a database restarts in a few seconds.
const RESTART_INTERVAL: Duration = Duration::from_secs(2);

/// An open list, and where it is. Its methods are those of [`OwnerList`] and of [`Ledger`](crate::waitlist::Ledger) that
/// several commands use, for any number of entries.
pub(super) struct WaitlistHandle {
    location: String,
    list: Box<dyn OwnerList>,
}

/// The selected entries of a list.
pub(super) struct SelectedEntries {
    /// Number of selected entries.
    pub(super) count: u64,
    /// The selected entries, in order.
    pub(super) entries: Box<dyn Iterator<Item = anyhow::Result<WaitlistEntry>>>,
}

impl WaitlistHandle {
    /// Wraps an open list.
    pub(super) fn new(location: &StoreLocation, list: impl OwnerList) -> Self {
        static EXIT_ON_PANIC: Once = Once::new();
        EXIT_ON_PANIC.call_once(exit_on_store_panic);
        Self {
            location: location.to_string(),
            list: Box::new(list),
        }
    }

    /// Returns a function that adds the location to an error.
    fn locate(&self) -> impl Fn(StoreError) -> anyhow::Error + use<> {
        let location = self.location.clone();
        move |error| list_error::describe(&error, &location)
    }

    /// Makes a call.
    pub(super) fn call<'a, T>(
        &'a self,
        call: impl FnOnce(&'a dyn OwnerList) -> StoreFuture<'a, T>,
    ) -> anyhow::Result<T> {
        wait_for(call(&*self.list)).map_err(self.locate())
    }

    /// Makes a call for each part of some items, and returns the results for all items.
    pub(super) fn call_in_parts<'a, I, T>(
        &'a self,
        items: &'a [I],
        call: impl Fn(&'a dyn OwnerList, &'a [I]) -> StoreFuture<'a, Vec<T>>,
    ) -> anyhow::Result<Vec<T>> {
        let mut results = Vec::with_capacity(items.len());
        for part in items.chunks(CALL_MAX) {
            results.extend(self.call(|list| call(list, part))?);
        }
        Ok(results)
    }

    /// Makes a call again for a while if it fails because a server or a database restarts.
    fn run_through_a_restart<'a, T>(
        &self,
        call: impl Fn() -> StoreFuture<'a, T>,
    ) -> anyhow::Result<T> {
        let is_transient = |error: &StoreError| {
            use StoreError::{Busy, Database, ServerNotResponding, Stopped, TimedOut, Unreachable};
            matches!(
                error,
                Busy | Database(_) | ServerNotResponding(_) | Stopped | TimedOut | Unreachable
            )
        };
        let mut result = wait_for(call());
        for _ in 0..RETRIES_MAX {
            if !result.as_ref().is_err_and(is_transient) {
                break;
            }
            thread::sleep(RESTART_INTERVAL);
            result = wait_for(call());
        }
        result.map_err(self.locate())
    }

    /// Returns, for each address, its entry if it is on the list. It waits for a server or a database that restarts: a send
    /// would stop otherwise.
    pub(super) fn find(&self, emails: &[Email]) -> anyhow::Result<Vec<Option<WaitlistEntry>>> {
        let mut found = Vec::with_capacity(emails.len());
        for part in emails.chunks(CALL_MAX) {
            found.extend(self.run_through_a_restart(|| self.list.find(part))?);
        }
        Ok(found)
    }

    /// Returns the entry of an address, as [`find`](Self::find) does.
    pub(super) fn person(&self, email: &Email) -> anyhow::Result<Option<WaitlistEntry>> {
        Ok(self.find(slice::from_ref(email))?.pop().flatten())
    }

    pub(super) fn list_key(&self) -> anyhow::Result<ListKey> {
        self.call(|list| list.list_key())
    }

    pub(super) fn suppressions(&self) -> anyhow::Result<Suppressions> {
        self.call(|list| list.suppressions())
    }

    /// It waits for a server or a database that restarts, like [`find`](Self::find).
    pub(super) fn is_suppressed(&self, email: &Email) -> anyhow::Result<bool> {
        self.run_through_a_restart(|| self.list.is_suppressed(email))
    }

    pub(super) fn entries(&self, selection: Selection) -> anyhow::Result<SelectedEntries> {
        let entries = self.list.entries(selection).map_err(self.locate())?;
        let locate = self.locate();
        Ok(SelectedEntries {
            count: entries.selected_count(),
            entries: Box::new(entries.map(move |entry| entry.map_err(&locate))),
        })
    }

    pub(super) fn messages(&self) -> anyhow::Result<Vec<Message>> {
        self.call(|list| list.messages())
    }

    pub(super) fn deliveries(&self, message: &MessageId) -> anyhow::Result<Vec<Delivery>> {
        self.call(|list| list.deliveries(message, 0))
    }

    /// It waits for a server or a database that restarts: a result that is lost would be unknown.
    pub(super) fn finish_deliveries(
        &self,
        message: &MessageId,
        results: &[DeliveryResult],
    ) -> anyhow::Result<()> {
        for part in results.chunks(CALL_MAX) {
            self.run_through_a_restart(|| self.list.finish_deliveries(message, part.to_vec()))?;
        }
        Ok(())
    }
}
