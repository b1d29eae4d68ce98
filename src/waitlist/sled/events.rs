//! The events that wait for the webhook, and the calls about them.

use std::ops::Bound;

use uuid::Uuid;

use super::{
    super::{
        entry::WaitlistEntry,
        event::{Event, PendingEvents},
        store::CALL_MAX,
    },
    committer::SledCommitter,
    database,
    error::or_exit,
    items::RecordItem,
    record::FORMAT_VERSION,
};

impl SledCommitter {
    /// Returns the events that an item causes, which is not in the list yet.
    pub(super) fn events_of(&self, item: &RecordItem) -> Vec<RecordItem> {
        if !self.contents.outbox.is_recording {
            return Vec::new();
        }
        let person = |number: &u64| or_exit(self.contents.person(&self.records, *number));
        let (old, new) = match item {
            RecordItem::Entry(entry) => (None, Some(entry.clone())),
            RecordItem::Erased(number) => (person(number), None),
            RecordItem::Readdressed(number, email) => {
                let (old, email) = (person(number), email.clone());
                (old.clone(), old.map(|it| WaitlistEntry { email, ..it }))
            }
            // A fact about an entry that is new as well adds nothing.
            RecordItem::Fact(number, fact) => {
                let old = person(number);
                let mut new = old.clone();
                new.iter_mut().for_each(|it| it.apply(*fact));
                (old, new)
            }
            _ => return Vec::new(),
        };
        let events = Event::of_change(old.as_ref(), new.as_ref());
        events.map(RecordItem::Event).collect()
    }

    /// Switches the recording of events on or off. An earlier program cannot read a list that has recorded some.
    pub(super) fn record_events(&mut self, is_on: bool) {
        if is_on != self.contents.outbox.is_recording {
            or_exit(database::raise_format(&self.database, FORMAT_VERSION));
            self.append([RecordItem::Recording(is_on)]);
        }
    }

    /// Returns the events with numbers above this one, or `None` if the list records none.
    pub(super) fn events_after(&self, number: u64) -> Option<Vec<(u64, Event)>> {
        let outbox = &self.contents.outbox;
        let numbers = (Bound::Excluded(number), Bound::Unbounded);
        let numbers = outbox.pending.range(numbers).take(CALL_MAX);
        let events = numbers.filter_map(|number| Some((*number, self.event(*number)?)));
        outbox.is_recording.then(|| events.collect())
    }

    /// Finishes events.
    pub(super) fn finish_events(&mut self, events: Vec<(u64, Uuid)>) {
        for (number, _) in events {
            if self.contents.outbox.pending.contains(&number) {
                self.append([RecordItem::FinishedEvent(number)]);
            }
        }
    }

    /// Returns the events that wait, or `None` if the list records none.
    pub(super) fn pending_events(&self) -> Option<PendingEvents> {
        let outbox = &self.contents.outbox;
        let oldest = outbox.pending.first().and_then(|it| self.event(*it));
        outbox.is_recording.then(|| PendingEvents {
            count: outbox.pending.len() as u64,
            oldest: oldest.map(|event| event.at),
        })
    }

    fn event(&self, number: u64) -> Option<Event> {
        match or_exit(self.contents.item(&self.records, number)) {
            Some(RecordItem::Event(event)) => Some(event),
            _ => None,
        }
    }
}
