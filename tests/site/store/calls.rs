//! The calls that change a list, as values: a test makes the same ones to several stores.

use std::{
    fmt::Debug,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    Delivery, DeliveryResult, DeliveryStart, Email, Erasure, Fact, Message, MessageId, Source,
    StoreError, StoreFuture, Waitlist, WaitlistEntry,
};

use super::email;

/// A sign-up. Its times are in milliseconds since 1970, and its source is a number.
#[derive(Clone, Debug, Default)]
pub(super) struct SignUp {
    pub(super) typed: String,
    pub(super) millis: u16,
    pub(super) source: Option<u8>,
    pub(super) asked: Option<u16>,
    pub(super) confirmed: Option<u16>,
}

impl SignUp {
    fn entry(&self) -> WaitlistEntry {
        WaitlistEntry {
            email: email(&self.typed),
            joined_at: time(self.millis),
            source: self.source.map(source),
            asked_at: self.asked.map(time),
            confirmed_at: self.confirmed.map(time),
        }
    }
}

pub(super) fn time(millis: u16) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis.into())
}

/// Returns a source. Some are long, to fill records.
pub(super) fn source(number: u8) -> Source {
    let filling = "x".repeat(usize::from(number) * 20);
    let source = format!("source{number}{filling}");
    source.parse().expect("a source")
}

/// A call. People are the addresses that somebody typed.
#[derive(Clone, Debug)]
pub(super) enum Call {
    Join(SignUp),
    Import(Vec<SignUp>),
    Erase(Vec<String>, Erasure),
    Correct(String, String),
    Record(Vec<(String, Fact)>),
    Suppress(Vec<String>),
    Lift(Vec<String>),
    AddMessage(Message),
    /// How many deliveries are known, and those that are added.
    AddDeliveries(MessageId, u32, Vec<Delivery>),
    Begin(MessageId, Vec<DeliveryStart>),
    Finish(MessageId, Vec<DeliveryResult>),
    RecordEvents(bool),
    /// Finishes the events of a person.
    FinishEvents(String),
}

impl Call {
    /// Makes the call, and returns the response as text.
    pub(super) async fn make(&self, list: &dyn Waitlist) -> Result<String, StoreError> {
        match self.clone() {
            Self::Join(sign_up) => shown(list.join(sign_up.entry())).await,
            Self::Import(all) => {
                let entries = all.iter().map(SignUp::entry).collect();
                shown(list.join_all(entries)).await
            }
            Self::Erase(typed, erasure) => shown(list.erase(&emails(&typed), erasure)).await,
            Self::Correct(old, new) => shown(list.correct(&email(&old), &email(&new))).await,
            Self::Record(facts) => {
                let mut recorded = Vec::new();
                for (typed, fact) in facts {
                    let address = email(&typed);
                    let person = list.person(&address).await?;
                    let joined_at = person.map_or(UNIX_EPOCH, |it| it.joined_at);
                    recorded.push(list.add_fact(&address, joined_at, fact).await?);
                }
                Ok(format!("{recorded:?}"))
            }
            Self::Suppress(typed) => shown(list.suppress(&emails(&typed))).await,
            Self::Lift(typed) => shown(list.lift(&emails(&typed))).await,
            Self::AddMessage(message) => shown(list.add_message(message)).await,
            Self::AddDeliveries(message, known, added) => {
                shown(list.add_deliveries(&message, known, added)).await
            }
            Self::Begin(message, starts) => shown(list.begin_deliveries(&message, starts)).await,
            Self::Finish(message, results) => {
                shown(list.finish_deliveries(&message, results)).await
            }
            Self::RecordEvents(is_on) => shown(list.record_events(is_on)).await,
            Self::FinishEvents(typed) => match list.events_after(0).await {
                Ok(events) => {
                    let mut events = events.expect("the list records events");
                    events.retain(|(_, event)| event.email.key() == email(&typed).key());
                    let finished = events.into_iter().map(|(number, it)| (number, it.id));
                    shown(list.finish_events(finished.collect())).await
                }
                Err(error) => Err(error),
            },
        }
    }
}

fn emails(typed: &[String]) -> Vec<Email> {
    typed.iter().map(|it| email(it)).collect()
}

async fn shown<T: Debug>(response: StoreFuture<'_, T>) -> Result<String, StoreError> {
    response.await.map(|it| format!("{it:?}"))
}
