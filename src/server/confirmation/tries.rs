//! Counts wrong codes, so that nobody guesses one.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use crate::waitlist::Email;

/// Number of codes that a person may enter, until the next message.
const TRIES_MAX: u8 = 5;
/// Maximum number of people who are remembered, which takes about 9 MB. Then all are forgotten: for that, somebody must enter
/// codes of as many people who were asked.
const PEOPLE_MAX: usize = 1 << 16;

/// The codes that people have entered since the last message, or since the start, by the keys of their addresses.
#[derive(Default)]
pub(super) struct Tries(Mutex<HashMap<String, u8>>);

impl Tries {
    /// Counts a code before it is compared. Returns how many more the person may enter, or `None` if there were too many.
    pub(super) fn count(&self, email: &Email) -> Option<u8> {
        let mut people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if people.len() >= PEOPLE_MAX {
            people.clear();
        }
        let tries = people.entry(email.key()).or_default();
        if *tries >= TRIES_MAX {
            return None;
        }
        *tries += 1;
        Some(TRIES_MAX - *tries)
    }

    /// Forgets the codes of a person.
    pub(super) fn reset(&self, email: &Email) {
        let mut people = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        people.remove(&email.key());
    }
}
