//! What an export has besides the entries: the keys of the list, the suppressed addresses, the departures, and the
//! ledger. These lines are between the entries and the trailer.
//!
//! In CSV they are comments in the first cell, so that no spreadsheet takes them for numbers or formulas:
//!
//! ```text
//! # list key KEY
//! # suppressed HASH
//! # departure UUID SOURCE
//! # message ID MILLISECONDS SUBJECT
//! # delivery ID HASH STATE MILLISECONDS CODE REPLY
//! ```
//!
//! Keys, hashes, sources, subjects and replies are in base64url, times in milliseconds since 1970, and `-` is a missing
//! value. In JSON lines, each is an object with one field: `{"list_key":"KEY"}`, `{"suppressed":"HASH"}`,
//! `{"departure":{…}}`, `{"message":{…}}` and `{"delivery":{…}}`. There, a source is not encoded.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufReader, Seek},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use super::{
    error::ImportError,
    line_reader::{Line, next_line},
};
use crate::waitlist::{
    AddressHash, Delivery, DeliveryState, DeliveryStatus, Departure, ListKey, Message, MessageId,
    ServerReply, SuppressionItem, from_unix_millis, unix_millis,
};

/// A line of an export that is not an entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ListLine {
    Suppression(SuppressionItem),
    Message(Message),
    /// A delivery of a message.
    Delivery(MessageId, Delivery),
}

/// A line as JSON.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum JsonLine {
    ListKey(String),
    Suppressed(String),
    Departure(JsonDeparture),
    Message(JsonMessage),
    Delivery(JsonDelivery),
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct JsonDeparture {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct JsonMessage {
    id: String,
    begun_at: u64,
    subject: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct JsonDelivery {
    message: String,
    recipient: String,
    state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
}

/// The beginnings of the lines, by which other lines are excluded without parsing them.
const CSV_STARTS: [&[u8]; 5] = [
    b"# list key ",
    b"# suppressed ",
    b"# departure ",
    b"# message ",
    b"# delivery ",
];
const JSON_STARTS: [&[u8]; 5] = [
    b"{\"list_key\"",
    b"{\"suppressed\"",
    b"{\"departure\"",
    b"{\"message\"",
    b"{\"delivery\"",
];

/// Returns a line in CSV, without its line break.
pub(crate) fn to_csv(line: &ListLine) -> String {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    match JsonLine::from(line) {
        JsonLine::ListKey(key) => format!("# list key {key}"),
        JsonLine::Suppressed(hash) => format!("# suppressed {hash}"),
        JsonLine::Departure(JsonDeparture { id, source }) => {
            let source = or_dash(source.map(|it| BASE64.encode(it)));
            format!("# departure {id} {source}")
        }
        JsonLine::Message(JsonMessage {
            id,
            begun_at,
            subject,
        }) => format!("# message {id} {begun_at} {}", BASE64.encode(subject)),
        JsonLine::Delivery(JsonDelivery {
            message,
            recipient,
            state,
            since,
            code,
            reply,
        }) => format!(
            "# delivery {message} {recipient} {state} {} {} {}",
            or_dash(since.map(|it| it.to_string())),
            or_dash(code.map(|it| it.to_string())),
            or_dash(reply.map(|it| BASE64.encode(it))),
        ),
    }
}

/// Returns a line in JSON, without its line break.
pub(crate) fn to_json(line: &ListLine) -> String {
    // It fails only for maps whose keys are not strings.
    serde_json::to_string(&JsonLine::from(line)).unwrap_or_default()
}

/// Parses a line. A spreadsheet that saved the file may have added quotation marks and separators. Returns `None` for
/// every other line.
pub(crate) fn parse(line: &[u8]) -> Option<ListLine> {
    let line = unquote(line);
    if !is_list_line(line) {
        return None;
    }
    let text = str::from_utf8(line).ok()?;
    if line.starts_with(b"{") {
        return serde_json::from_str::<JsonLine>(text).ok()?.parse();
    }
    let text = text.trim_end_matches([',', ';', '\t', '"']);
    parse_csv(text.strip_prefix("# ")?)?.parse()
}

/// Returns whether a line begins like one of these.
fn is_list_line(line: &[u8]) -> bool {
    let line = unquote(line);
    let mut starts = CSV_STARTS.into_iter().chain(JSON_STARTS);
    starts.any(|start| line.starts_with(start))
}

fn unquote(line: &[u8]) -> &[u8] {
    let line = line.trim_ascii();
    line.strip_prefix(b"\"").unwrap_or(line)
}

fn parse_csv(text: &str) -> Option<JsonLine> {
    let some = |value: &str| (value != "-").then(|| value.to_owned());
    let decode = |value: &str| String::from_utf8(BASE64.decode(value).ok()?).ok();
    let decode_some = |value: &str| match some(value) {
        Some(value) => decode(&value).map(Some),
        None => Some(None),
    };
    let words: Vec<_> = text.split(' ').collect();
    Some(match words[..] {
        ["list", "key", key] => JsonLine::ListKey(key.to_owned()),
        ["suppressed", hash] => JsonLine::Suppressed(hash.to_owned()),
        ["departure", id, source] => JsonLine::Departure(JsonDeparture {
            id: id.to_owned(),
            source: decode_some(source)?,
        }),
        ["message", id, begun_at, subject] => JsonLine::Message(JsonMessage {
            id: id.to_owned(),
            begun_at: begun_at.parse().ok()?,
            subject: decode(subject)?,
        }),
        ["delivery", message, recipient, state, since, code, reply] => {
            JsonLine::Delivery(JsonDelivery {
                message: message.to_owned(),
                recipient: recipient.to_owned(),
                state: state.to_owned(),
                since: some(since).map(|it| it.parse()).transpose().ok()?,
                code: some(code).map(|it| it.parse()).transpose().ok()?,
                reply: decode_some(reply)?,
            })
        }
        _ => return None,
    })
}

impl From<&ListLine> for JsonLine {
    fn from(line: &ListLine) -> Self {
        match line {
            ListLine::Suppression(SuppressionItem::Key(key)) => {
                Self::ListKey(BASE64.encode(key.as_bytes()))
            }
            ListLine::Suppression(SuppressionItem::Address(hash)) => {
                Self::Suppressed(BASE64.encode(hash.as_bytes()))
            }
            ListLine::Suppression(SuppressionItem::Departure(Departure { id, source })) => {
                Self::Departure(JsonDeparture {
                    id: id.to_string(),
                    source: source.as_ref().map(ToString::to_string),
                })
            }
            ListLine::Message(message) => Self::Message(JsonMessage {
                id: message.id.to_string(),
                begun_at: unix_millis(message.begun_at),
                subject: message.subject().to_owned(),
            }),
            ListLine::Delivery(
                message,
                Delivery {
                    recipient, status, ..
                },
            ) => {
                let reply = status.reply.as_ref();
                Self::Delivery(JsonDelivery {
                    message: message.to_string(),
                    recipient: BASE64.encode(recipient.as_bytes()),
                    state: status.state.as_str().to_owned(),
                    since: status.since.map(unix_millis),
                    code: reply.map(|reply| reply.code),
                    reply: reply.map(|reply| reply.text().to_owned()),
                })
            }
        }
    }
}

impl JsonLine {
    /// Returns `None` if a value is malformed.
    fn parse(self) -> Option<ListLine> {
        let hash = |text: &str| AddressHash::from_slice(&BASE64.decode(text).ok()?);
        Some(match self {
            Self::ListKey(key) => {
                let key = ListKey::from_slice(&BASE64.decode(key).ok()?)?;
                ListLine::Suppression(SuppressionItem::Key(key))
            }
            Self::Suppressed(address) => {
                ListLine::Suppression(SuppressionItem::Address(hash(&address)?))
            }
            Self::Departure(JsonDeparture { id, source }) => {
                let departure = Departure::parse(&id, source.as_deref())?;
                ListLine::Suppression(SuppressionItem::Departure(departure))
            }
            Self::Message(message) => {
                let begun_at = from_unix_millis(message.begun_at);
                let id = message.id.parse().ok()?;
                ListLine::Message(Message::new(id, begun_at, &message.subject))
            }
            Self::Delivery(delivery) => {
                let status = DeliveryStatus {
                    state: DeliveryState::from_name(&delivery.state)?,
                    since: delivery.since.map(from_unix_millis),
                    reply: delivery
                        .code
                        .map(|code| ServerReply::new(code, &delivery.reply.unwrap_or_default())),
                };
                let recipient = hash(&delivery.recipient)?;
                ListLine::Delivery(
                    delivery.message.parse().ok()?,
                    Delivery {
                        status,
                        ..Delivery::waiting(recipient)
                    },
                )
            }
        })
    }
}

/// Reads these lines of an export, and rewinds it. A line that is lost would send a message again, or bring back a person
/// who has left.
///
/// # Errors
/// If a line is damaged, or needs another one that is missing.
pub(crate) fn read(mut file: &File) -> Result<Vec<ListLine>, ImportError> {
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let (mut found, mut messages) = (Vec::new(), HashSet::new());
    let (mut has_key, mut number) = (false, 0);
    while let Some(text) = next_line(&mut lines)? {
        number += 1;
        let Line::Text(text) = text else { continue };
        let Some(line) = parse(&text) else {
            match is_list_line(&text) {
                true => return Err(ImportError::DamagedListLine { line: number }),
                false => continue,
            }
        };
        match &line {
            ListLine::Suppression(SuppressionItem::Key(_)) => has_key = true,
            ListLine::Message(message) => drop(messages.insert(message.id.clone())),
            ListLine::Delivery(id, _) if !messages.contains(id) => {
                return Err(ImportError::UnknownMessage {
                    line: number,
                    id: id.to_string(),
                });
            }
            ListLine::Suppression(SuppressionItem::Address(_)) | ListLine::Delivery(..)
                if !has_key =>
            {
                return Err(ImportError::NoListKey { line: number });
            }
            _ => {}
        }
        found.push(line);
    }
    file.rewind()?;
    Ok(found)
}
