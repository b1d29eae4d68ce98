//! The kinds of messages that the server sends by itself.

use crate::waitlist::{MessageId, WaitlistEntry};

/// A kind of message. The first one goes first, because a person is waiting for it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum MessageKind {
    /// The code that confirms an address. It may come twice, and is never lost.
    Code,
    /// The owner's message to a person who has confirmed the address. It never comes twice.
    Welcome,
}

impl MessageKind {
    /// Returns the id of the message in the ledger.
    pub fn id(self) -> MessageId {
        match self {
            Self::Code => MessageId::confirmation(),
            Self::Welcome => MessageId::welcome(),
        }
    }

    /// Returns whether a person may get it. People who were imported as confirmed were not asked, and are not welcomed.
    pub(super) fn is_for(self, entry: &WaitlistEntry) -> bool {
        let has_confirmed = entry.confirmed_at.is_some();
        entry.asked_at.is_some() && has_confirmed == (self == Self::Welcome)
    }
}
