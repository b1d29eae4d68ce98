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

/// Pauses after trouble, one after another. The last one repeats. The first ones are short, because some servers object to a
/// recipient with the codes of an objection to the sender, such as 4.7.1 for greylisting.
const PAUSES: [Duration; 5] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
    LONGEST_PAUSE,
];
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(15 * 60);

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
    pub(super) fn note(&mut self, by: ClientKey) -> Option<Duration> {
        let backoff = self.clients.get_or_insert_mut(by, Backoff::default);
        self.clients_in_a_row += usize::from(backoff.row == 0);
        backoff.add();
        (self.clients_in_a_row >= CLIENTS_TOGETHER).then(|| self.everybody.add())
    }

    /// Notes trouble that is about no sign-up. Returns the pause of everybody.
    pub(super) fn note_for_all(&mut self) -> Duration {
        self.everybody.add()
    }

    /// Makes everybody wait.
    pub(super) fn pause(&mut self, length: Duration) {
        self.everybody.until = Some(Instant::now() + length);
    }
}

impl Backoff {
    /// Adds trouble. Returns the pause.
    fn add(&mut self) -> Duration {
        let length = PAUSES[self.row.min(PAUSES.len() - 1)];
        self.row += 1;
        self.until = Some(Instant::now() + length);
        length
    }
}
