//! The replies to requests about the ledger.

use super::super::{ledger_request::DeliveryProgress, reply::ReplySender, suppression::ListKey};

/// A reply that waits until the batch is durable.
pub(super) enum PendingLedgerReply {
    Done(ReplySender<()>),
    Flag(bool, ReplySender<bool>),
    Keys(Vec<ListKey>, ReplySender<Vec<ListKey>>),
    Flags(Vec<bool>, ReplySender<Vec<bool>>),
    Progress(Vec<DeliveryProgress>, ReplySender<Vec<DeliveryProgress>>),
}

impl PendingLedgerReply {
    pub(super) fn send(self) {
        // Sending fails if the client has gone.
        match self {
            Self::Done(reply) => drop(reply.send(Ok(()))),
            Self::Flag(flag, reply) => drop(reply.send(Ok(flag))),
            Self::Keys(keys, reply) => drop(reply.send(Ok(keys))),
            Self::Flags(flags, reply) => drop(reply.send(Ok(flags))),
            Self::Progress(progress, reply) => drop(reply.send(Ok(progress))),
        }
    }
}
