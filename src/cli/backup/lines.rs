//! The lines of a backup, which are JSON objects with one field each.
//!
//! ```text
//! {"backup":{"format":1,"program":"landing 0.1.0","created_at":"2026-11-21T08:00:00.000Z","key":"KEY"}}
//! {"suppressed":"HASH"}
//! {"departure":{"id":"UUID","source":"hn"}}
//! {"message":{"id":"launch","begun_at":"TIME","subject":"TEXT","text_digest":"DIGEST"}}
//! {"delivery":{"message":"launch","recipient":"HASH","state":"refused","since":"TIME","code":550,"reply":"TEXT",
//!     "attempts":1}}
//! {"person":{"email":"ann@example.com","joined_at":"TIME","source":"hn","asked_at":"TIME","confirmed_at":"TIME"}}
//! {"end":{"people":1,"suppressed":1,"departures":1,"messages":1,"deliveries":1,"sha256":"DIGEST"}}
//! ```
//!
//! What protects people comes first. Keys, hashes and the digest of a text are in base64url. A field without a value is left
//! out.

use std::{fmt, time::SystemTime};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use crate::{
    cli::time::{parse, rfc3339},
    waitlist::{
        AddressHash, BackupItem, Delivery, DeliveryState, DeliveryStatus, Departure, Email,
        ListKey, Message, ServerReply, Source, WaitlistEntry,
    },
};

/// The format that this program writes and reads.
pub(super) const FORMAT: u32 = 1;
/// Maximum length of an address or a source that a store can hold, in bytes.
const STORED_TEXT_MAX_BYTES: usize = 254;

/// A line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Line {
    Backup(Header),
    Suppressed(String),
    Departure(DepartureLine),
    Message(MessageLine),
    Delivery(DeliveryLine),
    Person(PersonLine),
    End(Trailer),
}

/// The first line.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    format: u32,
    program: String,
    created_at: String,
    key: String,
}

/// The beginning of the first line in any format.
#[derive(Deserialize)]
pub(super) struct AnyHeader {
    pub(super) backup: AnyFormat,
}

#[derive(Deserialize)]
pub(super) struct AnyFormat {
    pub(super) format: u32,
    #[serde(default)]
    pub(super) program: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DepartureLine {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageLine {
    id: String,
    begun_at: String,
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_digest: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeliveryLine {
    message: String,
    recipient: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    attempts: u32,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonLine {
    email: String,
    joined_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirmed_at: Option<String>,
}

/// The last line: the counts, and the SHA-256 of all bytes before it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Trailer {
    #[serde(flatten)]
    pub(super) counts: BackupCounts,
    pub(super) sha256: String,
}

/// What a backup has.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct BackupCounts {
    pub(crate) people: u64,
    pub(crate) suppressed: u64,
    pub(crate) departures: u64,
    pub(crate) messages: u64,
    pub(crate) deliveries: u64,
}

impl BackupCounts {
    pub(super) fn add(&mut self, item: &BackupItem) {
        match item {
            BackupItem::Suppressed(_) => self.suppressed += 1,
            BackupItem::Departure(_) => self.departures += 1,
            BackupItem::Message(_) => self.messages += 1,
            BackupItem::Delivery(..) => self.deliveries += 1,
            BackupItem::Person(_) => self.people += 1,
        }
    }
}

/// `7 people, 3 suppressed addresses, 1 message with 5 deliveries`.
impl fmt::Display for BackupCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = |count, one, many| if count == 1 { one } else { many };
        let Self {
            people,
            suppressed,
            departures: _,
            messages,
            deliveries,
        } = *self;
        write!(
            f,
            "{people} {}, {suppressed} suppressed {}, {messages} {} with {deliveries} {}",
            noun(people, "person", "people"),
            noun(suppressed, "address", "addresses"),
            noun(messages, "message", "messages"),
            noun(deliveries, "delivery", "deliveries"),
        )
    }
}

impl Header {
    pub(super) fn new(key: &ListKey, created_at: SystemTime) -> Self {
        Self {
            format: FORMAT,
            program: format!("landing {}", env!("LANDING_VERSION")),
            created_at: rfc3339(created_at),
            key: BASE64.encode(key.as_bytes()),
        }
    }

    /// Returns the key of the list, and when the backup was begun. Returns `None` if one of them is malformed.
    pub(super) fn parse(&self) -> Option<(ListKey, SystemTime)> {
        let key = ListKey::from_slice(&BASE64.decode(&self.key).ok()?)?;
        Some((key, parse(&self.created_at).ok()?))
    }
}

impl From<&BackupItem> for Line {
    fn from(item: &BackupItem) -> Self {
        let text = |source: &Option<Source>| source.as_ref().map(ToString::to_string);
        match item {
            BackupItem::Suppressed(hash) => Self::Suppressed(BASE64.encode(hash.as_bytes())),
            BackupItem::Departure(Departure { id, source }) => Self::Departure(DepartureLine {
                id: id.to_string(),
                source: text(source),
            }),
            BackupItem::Message(message) => Self::Message(MessageLine {
                id: message.id.to_string(),
                begun_at: rfc3339(message.begun_at),
                subject: message.subject().to_owned(),
                text_digest: message.text_digest.map(|it| BASE64.encode(it)),
            }),
            BackupItem::Delivery(message, delivery) => {
                let DeliveryStatus {
                    state,
                    since,
                    reply,
                } = &delivery.status;
                Self::Delivery(DeliveryLine {
                    message: message.to_string(),
                    recipient: BASE64.encode(delivery.recipient.as_bytes()),
                    state: state.as_str().to_owned(),
                    since: since.map(rfc3339),
                    code: reply.as_ref().map(|reply| reply.code),
                    reply: reply.as_ref().map(|reply| reply.text().to_owned()),
                    attempts: delivery.attempts,
                })
            }
            BackupItem::Person(entry) => Self::Person(PersonLine {
                email: entry.email.as_typed().to_owned(),
                joined_at: rfc3339(entry.joined_at),
                source: text(&entry.source),
                asked_at: entry.asked_at.map(rfc3339),
                confirmed_at: entry.confirmed_at.map(rfc3339),
            }),
        }
    }
}

impl Line {
    /// Returns the part of the list that the line describes. Returns `None` for the first and the last line, and if a
    /// value is malformed.
    pub(super) fn item(self) -> Option<BackupItem> {
        let hash = |text: &str| AddressHash::from_slice(&BASE64.decode(text).ok()?);
        Some(match self {
            Self::Backup(_) | Self::End(_) => return None,
            Self::Suppressed(address) => BackupItem::Suppressed(hash(&address)?),
            Self::Departure(line) => {
                BackupItem::Departure(Departure::parse(&line.id, line.source.as_deref())?)
            }
            Self::Message(line) => {
                let (id, begun_at) = (line.id.parse().ok()?, parse(&line.begun_at).ok()?);
                let text_digest = match line.text_digest {
                    Some(digest) => Some(BASE64.decode(digest).ok()?.try_into().ok()?),
                    None => None,
                };
                let message = Message::new(id, begun_at, &line.subject);
                BackupItem::Message(message.with_text_digest(text_digest))
            }
            Self::Delivery(line) => {
                let reply = line.code.zip(line.reply);
                let delivery = Delivery {
                    recipient: hash(&line.recipient)?,
                    status: DeliveryStatus {
                        state: DeliveryState::from_name(&line.state)?,
                        since: time(line.since)?,
                        reply: reply.map(|(code, text)| ServerReply::new(code, &text)),
                    },
                    attempts: line.attempts,
                };
                BackupItem::Delivery(line.message.parse().ok()?, delivery)
            }
            Self::Person(line) => {
                let source = match &line.source {
                    Some(text) => Some(Source::from_stored(stored(text)?)),
                    None => None,
                };
                BackupItem::Person(WaitlistEntry {
                    email: Email::from_stored(stored(&line.email)?),
                    joined_at: parse(&line.joined_at).ok()?,
                    source,
                    asked_at: time(line.asked_at)?,
                    confirmed_at: time(line.confirmed_at)?,
                })
            }
        })
    }
}

/// Returns a text that was valid when a store wrote it, perhaps by the rules of an earlier version.
fn stored(text: &str) -> Option<&str> {
    (1..=STORED_TEXT_MAX_BYTES)
        .contains(&text.len())
        .then_some(text)
}

/// Returns `None` if there is a text that is not a time.
fn time(text: Option<String>) -> Option<Option<SystemTime>> {
    text.map(|text| parse(&text)).transpose().ok()
}
