//! Stops a send that harms the sender's reputation: mail providers block senders who write to many addresses that do
//! not exist, or who ignore their objections.

use std::collections::VecDeque;

use crate::{
    mail::is_deferred_by_objection,
    waitlist::{DeliveryState, DeliveryStatus},
};

/// Number of messages in which refusals are counted.
const WINDOW: usize = 200;
/// Maximum number of refusals among them: 2 %.
const REFUSALS_MAX: usize = WINDOW * 2 / 100;

/// Number of messages in a row without a reply, after which a send stops.
const WITHOUT_REPLY_MAX: usize = 5;

/// Counts refusals.
#[derive(Debug, Default)]
pub(super) struct Brake {
    /// Whether each of the last messages was refused.
    was_refused: VecDeque<bool>,
    /// How many of the last messages have no reply.
    without_reply: usize,
}

impl Brake {
    /// Takes the result of a message into account. Returns the reason if the send must stop.
    pub(super) fn check(&mut self, status: &DeliveryStatus) -> Option<String> {
        let Some(reply) = &status.reply else {
            // This program has refused the address.
            if status.state == DeliveryState::Refused {
                return None;
            }
            self.without_reply += 1;
            return (self.without_reply >= WITHOUT_REPLY_MAX).then(|| {
                format!(
                    "the mail server closed the connection, or did not reply, during {WITHOUT_REPLY_MAX} messages in a row; \
                     find the cause with `landing mail-check`, and see `landing messages`: a message that is unknown may \
                     have arrived"
                )
            });
        };
        self.without_reply = 0;
        if is_deferred_by_objection(status) {
            return Some(format!(
                "the mail server objects to the sender or to the message: {reply}; read its words and docs/mail.md, \
                 and fix the cause"
            ));
        }
        if self.was_refused.len() == WINDOW {
            self.was_refused.pop_front();
        }
        self.was_refused.push_back(reply.code >= 500);
        let refusals = self.was_refused.iter().filter(|it| **it).count();
        (refusals > REFUSALS_MAX).then(|| {
            format!(
                "the mail server refused {refusals} of the last {} messages, the last one with: {reply}; many addresses \
                 do not exist, or the server refuses the message. Providers block senders for that; \
                 `landing messages` lists the refusals",
                self.was_refused.len()
            )
        })
    }
}
