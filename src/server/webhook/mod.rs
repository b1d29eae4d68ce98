//! The webhook: reports each person who joins, confirms or leaves to another program of the owner, as the Standard
//! Webhooks specification says.
//!
//! The list is the outbox ([`Waitlist::record_events`](crate::waitlist::Waitlist::record_events)): this module only takes
//! events from it. So an event is sent at least once, whatever ends the server, and no sign-up waits for it.
//!
//! - `sender`: sends one event.
//! - `task`: sends one event after another, and waits after failures.

mod sender;
mod task;

pub use sender::{WebhookSender, WebhookTimes};
pub use task::run_webhook;
