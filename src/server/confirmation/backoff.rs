//! Pauses after the mail server has objected or has not replied: first for the client whose sign-up it was, and for
//! everybody once this has happened to several clients in a row. So a few addresses that the mail server refuses keep only
//! their client waiting.

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use lru::LruCache;

use crate::server::ClientKey;

/// Maximum number of clients that are remembered. One that is forgotten does not wait.
const CLIENTS_MAX: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
/// Number of clients in a row, from which on everybody waits.
const CLIENTS_TOGETHER: usize = 3;

/// Pauses after the mail server could not be reached, or did not reply to a message. The last one repeats.
const NO_REPLY_PAUSES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
];
/// Pauses after the mail server has objected to the sender or to the message: after the first time, and after each
/// [`OBJECTIONS_TOGETHER`] in a row. Some servers object to a recipient with the same codes, such as 4.7.1 for greylisting.
/// The last one repeats.
const OBJECTION_PAUSES: [Duration; 4] = [
    Duration::from_secs(1),
    Duration::from_secs(30),
    Duration::from_secs(5 * 60),
    LONGEST_PAUSE,
];
const OBJECTIONS_TOGETHER: usize = 5;
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

/// What went wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Trouble {
    /// The mail server could not be reached, or did not reply to a message.
    NoReply,
    /// The mail server objects to the sender or to the message.
    Objection,
}

/// The pauses.
pub(super) struct Backoffs {
    everybody: Backoff,
    clients: LruCache<ClientKey, Backoff>,
    /// How many clients had trouble since the last message without.
    clients_in_a_row: usize,
}

#[derive(Clone, Copy, Default)]
struct Backoff {
    /// How often in a row something went wrong.
    row: usize,
    until: Option<Instant>,
}

impl Backoffs {
    pub(super) fn new() -> Self {
        Self {
            everybody: Backoff::default(),
            clients: LruCache::new(CLIENTS_MAX),
            clients_in_a_row: 0,
        }
    }

    /// Returns until when everybody waits.
    pub(super) fn until(&self) -> Option<Instant> {
        self.everybody.until.filter(|until| *until > Instant::now())
    }

    /// Returns whether the people of a client wait.
    pub(super) fn holds(&self, by: ClientKey) -> bool {
        let backoff = self.clients.peek(&by);
        backoff.is_some_and(|backoff| backoff.until.is_some_and(|until| until > Instant::now()))
    }

    /// Notes that the mail server has replied to a message, and has not objected.
    pub(super) fn release(&mut self, by: ClientKey) {
        self.clients.pop(&by);
        (self.everybody, self.clients_in_a_row) = (Backoff::default(), 0);
    }

    /// Notes trouble with the sign-up of a client. Returns the pause of everybody, if there is one.
    pub(super) fn note(&mut self, by: ClientKey, trouble: Trouble) -> Option<Duration> {
        let backoff = self.clients.get_or_insert_mut(by, Backoff::default);
        let is_first = backoff.row == 0;
        backoff.add(trouble);
        self.clients_in_a_row += usize::from(is_first);
        (self.clients_in_a_row >= CLIENTS_TOGETHER).then(|| self.everybody.add(trouble))?
    }

    /// Notes trouble that is about no sign-up. Returns the pause of everybody.
    pub(super) fn note_for_all(&mut self, trouble: Trouble) -> Duration {
        self.everybody.add(trouble).unwrap_or_default()
    }

    /// Makes everybody wait.
    pub(super) fn pause(&mut self, length: Duration) {
        self.everybody.until = Some(Instant::now() + length);
    }
}

impl Backoff {
    /// Adds trouble. Returns the pause, if there is one.
    fn add(&mut self, trouble: Trouble) -> Option<Duration> {
        self.row += 1;
        let (pauses, at) = match trouble {
            Trouble::NoReply => (NO_REPLY_PAUSES, self.row - 1),
            Trouble::Objection if self.row == 1 => (OBJECTION_PAUSES, 0),
            Trouble::Objection if self.row.is_multiple_of(OBJECTIONS_TOGETHER) => {
                (OBJECTION_PAUSES, self.row / OBJECTIONS_TOGETHER)
            }
            Trouble::Objection => return None,
        };
        let length = pauses[at.min(pauses.len() - 1)];
        self.until = Some(Instant::now() + length);
        Some(length)
    }
}
