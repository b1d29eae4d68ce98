//! The simplest possible store, which the others are compared with.

use std::{
    sync::{Arc, Mutex},
    time::SystemTime,
};

use landing::waitlist::{
    Compaction, CorrectOutcome, Delivery, DeliveryResult, DeliveryStart, DeliveryState,
    DeliveryStatus, Departure, Email, EntryStream, Erasure, Event, Fact, JoinOutcome, Ledger,
    ListKey, Message, MessageId, OwnerList, PendingEvents, Selection, StoreError, StoreFuture,
    Suppressions, Waitlist, WaitlistEntry,
};
use tokio::sync::watch;
use uuid::Uuid;

use super::{ledger::may_become, model_events::ModelEvents};

/// The entries in the order of their sign-ups, and the suppressions.
pub(super) struct ModelState {
    entries: Vec<WaitlistEntry>,
    suppressions: Suppressions,
    messages: Vec<(Message, Vec<Delivery>)>,
    events: ModelEvents,
}

impl ModelState {
    fn join(&mut self, entry: WaitlistEntry, is_imported: bool) -> JoinOutcome {
        let is_listed = self.is_listed(&entry.email);
        if !is_imported && !entry.awaits_confirmation() {
            self.lift(&entry.email);
        }
        if is_listed {
            JoinOutcome::AlreadyListed
        } else if is_imported && self.suppressions.contains(&entry.email) {
            JoinOutcome::Suppressed
        } else {
            self.events
                .add_new(&entry.email, &entry.source, entry.confirmed_at.is_some());
            self.entries.push(entry);
            JoinOutcome::New
        }
    }

    fn is_listed(&self, email: &Email) -> bool {
        self.entries
            .iter()
            .any(|entry| entry.email.key() == email.key())
    }

    fn suppress(&mut self, email: &Email) {
        let hash = self.suppressions.list_key().hash(email.key());
        self.suppressions.suppress(hash);
    }

    fn deliveries(&mut self, id: &MessageId) -> Option<&mut Vec<Delivery>> {
        let message = self.messages.iter_mut().find(|(it, _)| it.id == *id);
        message.map(|(_, deliveries)| deliveries)
    }

    /// The process ends.
    pub(super) fn interrupt(&mut self) {
        for delivery in self.messages.iter_mut().flat_map(|(_, it)| it) {
            if delivery.status.state == DeliveryState::Sending {
                delivery.status.state = DeliveryState::Unknown;
            }
        }
    }

    fn lift(&mut self, email: &Email) {
        let hash = self.suppressions.list_key().hash(email.key());
        self.suppressions.lift(hash);
    }
}

impl Default for ModelState {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            suppressions: Suppressions::new(ListKey::generate()),
            messages: Vec::new(),
            events: ModelEvents::default(),
        }
    }
}

/// An open model.
pub(super) struct ReferenceModel {
    state: Arc<Mutex<ModelState>>,
    count: watch::Sender<u64>,
}

impl ReferenceModel {
    /// Opens a list in this state.
    pub(super) fn over(state: Arc<Mutex<ModelState>>) -> Self {
        let count = state.lock().expect("no panic").entries.len() as u64;
        Self {
            state,
            count: watch::channel(count).0,
        }
    }

    fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut ModelState) -> T,
    ) -> StoreFuture<'_, T> {
        let mut state = self.state.lock().expect("no panic");
        let result = change(&mut state);
        self.count.send_if_modified(|count| {
            let before = std::mem::replace(count, state.entries.len() as u64);
            before != *count
        });
        Box::pin(async { Ok(result) })
    }
}

impl Ledger for ReferenceModel {
    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        self.change(|state| {
            let messages = state.messages.iter().map(|(message, _)| message.clone());
            let mut messages: Vec<_> = messages.collect();
            messages.sort_by_key(|message| message.begun_at);
            messages
        })
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        self.change(|state| {
            if state.deliveries(&message.id).is_none() {
                state.messages.push((message, Vec::new()));
            }
        })
    }

    fn deliveries(&self, message: &MessageId, from: u32) -> StoreFuture<'_, Vec<Delivery>> {
        self.change(|state| {
            let deliveries = state.deliveries(message).cloned().unwrap_or_default();
            deliveries.into_iter().skip(from as usize).collect()
        })
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        mut deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        for delivery in &mut deliveries {
            delivery.attempts = 0;
            // Nobody sends what is only added.
            if delivery.status.state == DeliveryState::Sending {
                delivery.status.state = DeliveryState::Unknown;
            }
        }
        self.change(|state| {
            let existing = state.deliveries(message);
            let existing = existing.filter(|it| it.len() == known as usize);
            existing.map(|it| it.extend(deliveries)).is_some()
        })
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        self.change(|state| {
            let mut existing = state.deliveries(message);
            let mut begin = |start: &DeliveryStart| {
                let delivery = existing
                    .as_mut()
                    .and_then(|it| it.get_mut(start.number as usize));
                let delivery = delivery.filter(|it| {
                    it.status.state == start.state
                        && it.attempts == start.attempts
                        && it.status.state != DeliveryState::Sending
                });
                delivery.map(|it| {
                    it.status = DeliveryStatus::new(DeliveryState::Sending);
                    it.attempts += 1;
                })
            };
            deliveries.iter().map(|it| begin(it).is_some()).collect()
        })
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        let recorded = self.change(|state| {
            let mut existing = state.deliveries(message);
            let mut finish = |result: DeliveryResult| {
                let delivery = existing
                    .as_mut()
                    .and_then(|it| it.get_mut(result.number as usize));
                let delivery = delivery.filter(|it| {
                    it.attempts == result.attempt && may_become(it.status.state, &result)
                });
                delivery.map(|it| it.status = result.status).is_some()
            };
            let recorded: Vec<_> = results.into_iter().map(&mut finish).collect();
            recorded.iter().all(|it| *it)
        });
        Box::pin(async move {
            match recorded.await? {
                true => Ok(()),
                false => Err(StoreError::Superseded),
            }
        })
    }
}

impl OwnerList for ReferenceModel {
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        let join = |state: &mut ModelState| {
            let joined = entries.into_iter().map(|entry| state.join(entry, true));
            joined.collect()
        };
        self.change(join)
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        self.change(|state| {
            let mut erase = |email: &Email| {
                if erasure == Erasure::Suppress {
                    state.suppress(email);
                }
                let is_kept = |entry: &WaitlistEntry| match erasure {
                    Erasure::Unconfirmed { before } => {
                        entry.confirmed_at.is_some()
                            || entry.joined_at >= before
                            || entry.asked_at.is_some_and(|asked_at| asked_at >= before)
                    }
                    Erasure::Complete | Erasure::Suppress => false,
                };
                let is_gone =
                    |entry: &mut WaitlistEntry| entry.email.key() == email.key() && !is_kept(entry);
                let gone: Vec<_> = state.entries.extract_if(.., is_gone).collect();
                for entry in &gone {
                    state.events.add("left", &entry.email, &entry.source);
                }
                if erasure == Erasure::Suppress {
                    for entry in &gone {
                        let departure = Departure::new(entry.source.clone());
                        state.suppressions.add_departure(departure);
                    }
                }
                !gone.is_empty()
            };
            emails.iter().map(&mut erase).collect()
        })
    }

    fn find(&self, emails: &[Email]) -> StoreFuture<'_, Vec<Option<WaitlistEntry>>> {
        self.change(|state| {
            let entry = |key: String| state.entries.iter().find(|it| it.email.key() == key);
            let emails = emails.iter();
            emails.map(|email| entry(email.key()).cloned()).collect()
        })
    }

    fn list_key(&self) -> StoreFuture<'_, ListKey> {
        self.change(|state| state.suppressions.list_key())
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.change(|state| {
            let mut suppress = |email: &Email| {
                let mut entries = state.entries.iter();
                let entry = entries.find(|it| it.email.key() == email.key());
                let is_member = entry.is_some_and(|it| !it.awaits_confirmation());
                if !is_member {
                    state.suppress(email);
                }
                !is_member
            };
            emails.iter().map(&mut suppress).collect()
        })
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.change(|state| {
            let mut lift = |email: &Email| {
                state.lift(email);
                state.is_listed(email)
            };
            emails.iter().map(&mut lift).collect()
        })
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        self.change(|state| state.suppressions.clone())
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        self.change(|state| state.suppressions.contains(email))
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        self.change(|state| {
            let entries = &mut state.entries;
            let position = |key: String| entries.iter().position(|entry| entry.email.key() == key);
            let Some(at) = position(old.key()) else {
                return CorrectOutcome::NotListed;
            };
            if position(new.key()).is_some_and(|taken| taken != at) {
                return CorrectOutcome::NewAddressListed;
            }
            let entry = entries[at].clone();
            entries[at].email = new.clone();
            if old.key() != new.key() {
                state.events.add("left", &entry.email, &entry.source);
                state
                    .events
                    .add_new(new, &entry.source, entry.confirmed_at.is_some());
            }
            CorrectOutcome::Corrected
        })
    }

    fn compact(&self) -> StoreFuture<'_, Compaction> {
        let nothing = Compaction {
            bytes_before: 0,
            bytes_after: 0,
        };
        self.change(move |_| nothing)
    }

    fn pending_events(&self) -> StoreFuture<'_, Option<PendingEvents>> {
        self.change(|state| state.events.pending())
    }

    fn entries(&self, selection: Selection) -> Result<EntryStream, StoreError> {
        let mut entries = self.state.lock().expect("no panic").entries.clone();
        entries.retain(|entry| selection.selects(entry));
        entries.sort_by_key(|entry| entry.joined_at);
        if selection.newest_first {
            entries.reverse();
        }
        let count = entries.len() as u64;
        Ok(EntryStream::new(count, entries.into_iter().map(Ok)))
    }
}

impl Waitlist for ReferenceModel {
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        self.change(|state| state.join(entry, false))
    }

    fn add_fact(&self, email: &Email, joined_at: SystemTime, fact: Fact) -> StoreFuture<'_, bool> {
        let email = email.clone();
        self.change(|state| {
            let mut entries = state.entries.iter_mut();
            let entry = entries.find(|entry| entry.email.key() == email.key());
            let Some(entry) = entry.filter(|it| it.is_of_sign_up(joined_at)) else {
                return false;
            };
            let before = entry.clone();
            entry.apply(fact);
            if matches!(fact, Fact::ConfirmedAt(_)) {
                state.lift(&email);
                if before.confirmed_at.is_none() {
                    state.events.add("confirmed", &before.email, &before.source);
                }
            }
            true
        })
    }

    fn record_events(&self, is_on: bool) -> StoreFuture<'_, ()> {
        self.change(|state| state.events.record(is_on))
    }

    fn events_after(&self, number: u64) -> StoreFuture<'_, Option<Vec<(u64, Event)>>> {
        self.change(|state| state.events.after(number))
    }

    fn finish_events(&self, events: Vec<(u64, Uuid)>) -> StoreFuture<'_, ()> {
        self.change(|state| state.events.finish(&events))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn count(&self) -> u64 {
        *self.count.borrow()
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }
}
