//! Counts wrong codes, so that nobody guesses one.

use std::{num::NonZeroUsize, sync::Mutex};

use lru::LruCache;

use crate::waitlist::{Email, locked};

/// Number of codes that a person may enter, until the next message.
const TRIES_MAX: u8 = 5;
/// Maximum number of people who are remembered, which takes about 9 MB. Beyond that, the one who entered a code the longest ago
/// is forgotten: for that, somebody must enter codes of as many people who were asked.
const PEOPLE_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// The codes that people have entered since the last message, or since the start, by the keys of their addresses.
pub(super) struct Tries(Mutex<LruCache<String, u8>>);

impl Default for Tries {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(PEOPLE_MAX)))
    }
}

impl Tries {
    /// Counts a code before it is compared. Returns how many more the person may enter, or `None` if there were too many.
    pub(super) fn count(&self, email: &Email) -> Option<u8> {
        let mut people = locked(&self.0);
        let tries = people.get_or_insert_mut(email.key(), || 0);
        if *tries >= TRIES_MAX {
            return None;
        }
        *tries += 1;
        Some(TRIES_MAX - *tries)
    }

    /// Forgets the codes of a person.
    pub(super) fn reset(&self, email: &Email) {
        let mut people = locked(&self.0);
        people.pop(&email.key());
    }
}
