//! The requests to a committer about the ledger.

use super::{
    error::StoreError,
    ledger::{Delivery, DeliveryResult, DeliveryStart, DeliveryState, Message},
    message_id::MessageId,
    reply::ReplySender,
    suppression::ListKey,
};

/// Number of deliveries that cost as much as an entry in a batch. A delivery is at most 32 bytes, unless the server
/// has replied to it.
const DELIVERIES_PER_ENTRY: usize = 8;

/// Maximum number of deliveries in a request. Even if the server has replied to all of them, they are as long as the
/// entries of a batch.
pub(super) const DELIVERIES_MAX: usize = 128;

/// How far a delivery is.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryProgress {
    pub(super) state: DeliveryState,
    /// How often it was begun.
    pub(super) attempts: u32,
}

/// A request about the ledger, with the sender for its reply.
pub(super) enum LedgerRequest {
    /// Asks which of these addresses are on the list, see [`Email::key`](super::email::Email::key).
    AreListed(Vec<String>, ReplySender<Vec<bool>>),
    /// Asks for the keys of the list.
    Keys(ReplySender<Vec<ListKey>>),
    /// Asks whether an address is suppressed, see [`Email::key`](super::email::Email::key).
    IsSuppressed(String, ReplySender<bool>),
    AddMessage(Message, ReplySender<()>),
    /// Asks for the progress of all deliveries of a message.
    Progress(MessageId, ReplySender<Vec<DeliveryProgress>>),
    Add {
        message: MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
        reply: ReplySender<bool>,
    },
    Begin {
        message: MessageId,
        deliveries: Vec<DeliveryStart>,
        reply: ReplySender<Vec<bool>>,
    },
    Finish {
        message: MessageId,
        results: Vec<DeliveryResult>,
        /// Whether all results were recorded.
        reply: ReplySender<bool>,
    },
}

impl LedgerRequest {
    /// Returns whether the client has gone, so that nobody waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::AreListed(_, reply) => reply.is_closed(),
            Self::Keys(reply) => reply.is_closed(),
            Self::IsSuppressed(_, reply) => reply.is_closed(),
            Self::AddMessage(_, reply) => reply.is_closed(),
            Self::Progress(_, reply) => reply.is_closed(),
            Self::Add { reply, .. } => reply.is_closed(),
            Self::Begin { reply, .. } => reply.is_closed(),
            // The result is recorded even if nobody waits for the reply.
            Self::Finish { .. } => false,
        }
    }

    pub(super) fn fail(self, error: StoreError) {
        // Sending fails if the client has gone.
        match self {
            Self::AreListed(_, reply) => drop(reply.send(Err(error))),
            Self::Keys(reply) => drop(reply.send(Err(error))),
            Self::IsSuppressed(_, reply) => drop(reply.send(Err(error))),
            Self::AddMessage(_, reply) => drop(reply.send(Err(error))),
            Self::Progress(_, reply) => drop(reply.send(Err(error))),
            Self::Add { reply, .. } => drop(reply.send(Err(error))),
            Self::Begin { reply, .. } => drop(reply.send(Err(error))),
            Self::Finish { reply, .. } => drop(reply.send(Err(error))),
        }
    }

    /// Returns how many entries of a batch the request takes the place of.
    pub(super) fn batch_cost(&self) -> usize {
        match self {
            Self::AreListed(..) | Self::Keys(_) | Self::IsSuppressed(..) | Self::Progress(..) => 0,
            Self::AddMessage(..) => 1,
            Self::Begin { deliveries, .. } => deliveries.len().div_ceil(DELIVERIES_PER_ENTRY),
            Self::Add { deliveries, .. } => deliveries.len(),
            Self::Finish { results, .. } => results.len(),
        }
    }
}
