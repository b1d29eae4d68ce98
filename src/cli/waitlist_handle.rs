//! An open list, as the commands use it: directly, or through the server that holds it.

use std::sync::Once;

use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    control::ControlClient,
    list_error::{ListError, LocatedListError},
    store_location::StoreLocation,
};
use crate::waitlist::{
    Compaction, CorrectOutcome, Email, Erasure, JoinOutcome, Selection, SuppressionItem,
    Suppressions, Waitlist, WaitlistEntry, exit_on_store_panic,
};

/// An open list, and where it is.
pub(super) struct WaitlistHandle {
    location: String,
    pub(super) list: OpenList,
}

pub(super) enum OpenList {
    /// Opened by this process.
    Local {
        list: Box<dyn Waitlist>,
        /// For the list's futures.
        runtime: &'static Runtime,
        /// The directory of the list, if it is a copy. It is removed after the list is closed.
        _copy: Option<TempDir>,
    },
    /// Held by a running server.
    Remote(ControlClient),
}

/// Maximum number of addresses in a request to erase. A store must reply to a request within its timeout.
const ERASE_BATCH_MAX: usize = 4096;

/// The selected entries of a list.
pub(super) struct SelectedEntries {
    /// Number of selected entries.
    pub(super) count: u64,
    /// The selected entries, in order.
    pub(super) entries: Box<dyn Iterator<Item = Result<WaitlistEntry, LocatedListError>>>,
}

impl WaitlistHandle {
    /// Wraps a list that this process has opened.
    pub(super) fn local(
        location: &StoreLocation,
        list: impl Waitlist,
        runtime: &'static Runtime,
    ) -> Self {
        Self::copy(location, list, runtime, None)
    }

    /// Like [`local`](Self::local), for a list in a temporary directory.
    pub(super) fn copy(
        location: &StoreLocation,
        list: impl Waitlist,
        runtime: &'static Runtime,
        copy: Option<TempDir>,
    ) -> Self {
        static EXIT_ON_PANIC: Once = Once::new();
        EXIT_ON_PANIC.call_once(exit_on_store_panic);
        Self {
            location: location.to_string(),
            list: OpenList::Local {
                list: Box::new(list),
                runtime,
                _copy: copy,
            },
        }
    }

    /// Wraps the list of a running server.
    pub(super) fn remote(location: &StoreLocation, client: ControlClient) -> Self {
        Self {
            location: location.to_string(),
            list: OpenList::Remote(client),
        }
    }

    /// Returns a function that adds the location to an error.
    pub(super) fn locate<E: Into<ListError>>(&self) -> impl Fn(E) -> LocatedListError + use<E> {
        let location = self.location.clone();
        move |error| LocatedListError {
            location: location.clone(),
            error: error.into(),
        }
    }

    /// Returns the number of entries.
    pub(super) fn count(&self) -> Result<u64, LocatedListError> {
        match &self.list {
            OpenList::Local { list, .. } => Ok(list.count()),
            OpenList::Remote(client) => client.count().map_err(self.locate()),
        }
    }

    /// Adds the entries of an import. Returns an outcome for each, once all are durable.
    pub(super) fn join_all(
        &self,
        entries: Vec<WaitlistEntry>,
    ) -> Result<Vec<JoinOutcome>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.join_all(entries))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.join_all(&entries).map_err(self.locate()),
        }
    }

    /// Erases addresses. Returns, for each, whether it was on the list.
    pub(super) fn erase(
        &self,
        emails: &[Email],
        erasure: Erasure,
    ) -> Result<Vec<bool>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                let mut erased = Vec::with_capacity(emails.len());
                for emails in emails.chunks(ERASE_BATCH_MAX) {
                    erased.extend(
                        runtime
                            .block_on(list.erase(emails, erasure))
                            .map_err(self.locate())?,
                    );
                }
                Ok(erased)
            }
            OpenList::Remote(client) => client.erase(emails, erasure).map_err(self.locate()),
        }
    }

    /// Adds the suppressions of another list, see [`Waitlist::add_suppressions`].
    pub(super) fn add_suppressions(
        &self,
        items: Vec<SuppressionItem>,
    ) -> Result<(), LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.add_suppressions(items))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.add_suppressions(&items).map_err(self.locate()),
        }
    }

    /// Lifts the suppressions of those addresses that are on the list. Returns, for each, whether it is.
    pub(super) fn lift_listed(&self, emails: &[Email]) -> Result<Vec<bool>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.lift_listed(emails))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.lift_listed(emails).map_err(self.locate()),
        }
    }

    /// Returns the suppressed addresses, and the keys of their hashes.
    pub(super) fn suppressions(&self) -> Result<Suppressions, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                runtime.block_on(list.suppressions()).map_err(self.locate())
            }
            OpenList::Remote(client) => client.suppressions().map_err(self.locate()),
        }
    }

    /// Returns whether an address is suppressed.
    pub(super) fn is_suppressed(&self, email: &Email) -> Result<bool, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.is_suppressed(email))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.is_suppressed(email).map_err(self.locate()),
        }
    }

    /// Gives the entry of one address another address, see [`Waitlist::correct`].
    pub(super) fn correct(
        &self,
        old: &Email,
        new: &Email,
    ) -> Result<CorrectOutcome, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.correct(old, new))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.correct(old, new).map_err(self.locate()),
        }
    }

    /// Rewrites the store, see [`Waitlist::compact`].
    pub(super) fn compact(
        &self,
        report_copied: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Compaction, LocatedListError> {
        match &self.list {
            OpenList::Local { list, .. } => list.compact(report_copied).map_err(self.locate()),
            OpenList::Remote(client) => client.compact(report_copied).map_err(self.locate()),
        }
    }

    /// Corrects the count, see [`Waitlist::recount`]. A running server has counted the entries when it opened the
    /// list, so there is nothing to correct.
    pub(super) fn recount(&self) -> Result<i64, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                runtime.block_on(list.recount()).map_err(self.locate())
            }
            OpenList::Remote(_) => Ok(0),
        }
    }

    /// Returns the selected entries, as of now.
    pub(super) fn entries(
        &self,
        selection: Selection,
    ) -> Result<SelectedEntries, LocatedListError> {
        match &self.list {
            OpenList::Local { list, .. } => {
                let entries = list.entries(selection).map_err(self.locate())?;
                let locate = self.locate();
                Ok(SelectedEntries {
                    count: entries.selected_count(),
                    entries: Box::new(entries.map(move |entry| entry.map_err(&locate))),
                })
            }
            OpenList::Remote(client) => {
                let (count, entries) = client.entries(selection).map_err(self.locate())?;
                let locate = self.locate();
                Ok(SelectedEntries {
                    count,
                    entries: Box::new(entries.map(move |entry| entry.map_err(&locate))),
                })
            }
        }
    }
}
