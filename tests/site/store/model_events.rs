//! The events of the reference model.

use landing::waitlist::{CALL_MAX, Email, Event, PendingEvents, Source};
use uuid::Uuid;

#[derive(Default)]
pub(super) struct ModelEvents {
    is_recording: bool,
    waiting: Vec<(u64, Event)>,
    last: u64,
}

impl ModelEvents {
    pub(super) fn add(&mut self, kind: &str, email: &Email, source: &Option<Source>) {
        if self.is_recording {
            self.last += 1;
            let event = Event::now(kind, email.clone(), source.clone());
            self.waiting.push((self.last, event));
        }
    }

    /// Adds those of a person who is new.
    pub(super) fn add_new(&mut self, email: &Email, source: &Option<Source>, is_confirmed: bool) {
        self.add("joined", email, source);
        if is_confirmed {
            self.add("confirmed", email, source);
        }
    }

    pub(super) fn record(&mut self, is_on: bool) {
        if !std::mem::replace(&mut self.is_recording, is_on) || !is_on {
            self.waiting.clear();
        }
    }

    pub(super) fn pending(&self) -> Option<PendingEvents> {
        self.is_recording.then(|| PendingEvents {
            count: self.waiting.len() as u64,
            oldest: self.waiting.first().map(|(_, event)| event.at),
        })
    }

    pub(super) fn after(&self, number: u64) -> Option<Vec<(u64, Event)>> {
        let events = self.waiting.iter().filter(|(it, _)| *it > number);
        let events = events.take(CALL_MAX).cloned().collect();
        self.is_recording.then_some(events)
    }

    pub(super) fn finish(&mut self, events: &[(u64, Uuid)]) {
        self.waiting
            .retain(|(number, event)| !events.contains(&(*number, event.id)));
    }
}
