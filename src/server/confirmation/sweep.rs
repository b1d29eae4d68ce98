//! What the task finds in the list: people who must be asked, and people whose time is up.

use std::time::SystemTime;

use super::{Confirmation, hashes, locked};
use crate::waitlist::{CALL_MAX, Email, Erasure, Selection, StoreError};

/// What a sweep has found.
#[derive(Default)]
pub(super) struct Findings {
    /// People who have signed up, and whose message is not in the ledger.
    pub(super) new: Vec<Email>,
    /// People whose message is in the ledger and was not sent.
    pub(super) due: Vec<Email>,
    /// People who have not confirmed in time. The book marks them as due.
    pub(super) expired: Vec<Email>,
}

/// Reads the list. It blocks on the disk.
pub(super) fn find(confirmation: &Confirmation, now: SystemTime) -> Result<Findings, StoreError> {
    let keys = locked(&confirmation.state).keys.clone();
    let lifetime = confirmation.lifetime();
    let mut findings = Findings::default();
    for entry in confirmation.list.entries(Selection::default())? {
        let entry = entry?;
        let hashes = hashes(&keys, &entry.email);
        let mut state = locked(&confirmation.state);
        let person = state.book.find(&hashes);
        // A person who has left and joined again within an hour of the last message was not asked since.
        let last = person.and_then(|person| person.status.since);
        let was_asked = last > entry.asked_at;
        let is_due = person.map(|person| !person.is_done());
        let last_sign_up = entry
            .joined_at
            .max(entry.asked_at.unwrap_or(entry.joined_at));
        match is_due {
            _ if entry.confirmed_at.is_some() => {
                state.book.note_recorded(&hashes);
            }
            // The owner has imported the person, perhaps after an earlier sign-up that was erased.
            _ if entry.asked_at.is_none() => {}
            Some(true) => findings.due.push(entry.email),
            None => findings.new.push(entry.email),
            Some(false) if state.book.mark_due(&hashes, last_sign_up, lifetime, now) => {
                findings.expired.push(entry.email);
            }
            Some(false) if !was_asked => findings.new.push(entry.email),
            _ => {}
        }
    }
    Ok(findings)
}

/// Erases people, except for those who have come back since `before` or have confirmed. Returns how many.
pub(super) async fn erase(
    confirmation: &Confirmation,
    people: &[Email],
    before: SystemTime,
) -> Result<usize, StoreError> {
    let mut count = 0;
    for people in people.chunks(CALL_MAX) {
        let is_still_due = |email: &&Email| {
            let state = &mut *locked(&confirmation.state);
            state.book.begin_erasure(&hashes(&state.keys, email))
        };
        let people: Vec<_> = people.iter().filter(is_still_due).cloned().collect();
        // Another instance may have recorded a confirmation or a return, of which this one does not know.
        let erasure = Erasure::Unconfirmed { before };
        let erased = confirmation.list.erase(&people, erasure).await;
        {
            let state = &mut *locked(&confirmation.state);
            for email in &people {
                state.book.end_erasure(&hashes(&state.keys, email));
            }
        }
        confirmation.erasure_ended.notify_waiters();
        count += erased?.iter().filter(|was_listed| **was_listed).count();
    }
    Ok(count)
}
