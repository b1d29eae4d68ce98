//! Stops a send that harms the sender's reputation: mail providers block senders who write to many addresses that do
//! not exist, or who ignore their objections.

use std::collections::VecDeque;

use crate::mail::SendResult;

/// Number of messages in which refusals are counted.
const WINDOW: usize = 200;
/// Maximum number of refusals among them: 2 %.
const REFUSALS_MAX: usize = WINDOW * 2 / 100;

/// Counts refusals.
#[derive(Debug, Default)]
pub(super) struct Brake {
    /// Whether each of the last messages was refused.
    was_refused: VecDeque<bool>,
}

impl Brake {
    /// Takes the result of a message into account. Returns the reason if the send must stop.
    pub(super) fn check(&mut self, result: &SendResult) -> Option<String> {
        let reply = result.reply.as_ref()?;
        if result.is_objection {
            return Some(format!(
                "the mail server objects to the sender or to the message: {reply}; read its words and docs/mail.md, \
                 and run the command again when the cause is fixed"
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
