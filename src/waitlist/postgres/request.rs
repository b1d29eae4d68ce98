//! The requests to the committer: sign-ups, and whether they work.

use super::super::{
    entry::WaitlistEntry, error::StoreError, queue::ReplySender, store::JoinOutcome,
};

/// A request to the committer.
pub(super) enum Request {
    Join(WaitlistEntry, ReplySender<JoinOutcome>),
    /// At most as many entries as fit into a batch.
    JoinAll(Vec<WaitlistEntry>, ReplySender<Vec<JoinOutcome>>),
    /// Asks only for the reply.
    Ready(ReplySender<()>),
}

impl Request {
    /// Returns whether the client has gone, so that nobody waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Join(_, reply) => reply.is_closed(),
            Self::JoinAll(_, reply) => reply.is_closed(),
            Self::Ready(reply) => reply.is_closed(),
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        // Sending fails if the client has gone.
        match self {
            Self::Join(_, reply) => drop(reply.send(Err(error))),
            Self::JoinAll(_, reply) => drop(reply.send(Err(error))),
            Self::Ready(reply) => drop(reply.send(Err(error))),
        }
    }

    /// Returns the entries to add.
    pub(super) fn entries(&self) -> &[WaitlistEntry] {
        match self {
            Self::Join(entry, _) => std::slice::from_ref(entry),
            Self::JoinAll(entries, _) => entries,
            Self::Ready(_) => &[],
        }
    }
}
