//! The items of a record, and their bytes.
//!
//! Messages are numbered from 0, and so are the deliveries of each message. An item of the ledger names them by these
//! numbers.

use std::time::SystemTime;

use uuid::Uuid;

use super::super::{
    email::Email,
    entry::{Fact, Source, WaitlistEntry, from_unix_millis, unix_millis},
    event::Event,
    ledger::{DeliveryState, DeliveryStatus, Message, MessageId, ServerReply},
    suppression::{AddressHash, Departure, ListKey},
};

/// First byte of a removed entry. The first byte of any other entry is the length of its address, 1 to 254.
const REMOVED_ENTRY: u8 = 0;
/// First byte of every item that is not an entry. The second one is its kind.
const OTHER: u8 = 255;

/// Kind of a removed item that was not an entry.
const REMOVED: u8 = 0;
/// Kind of a fact: the address was confirmed.
const CONFIRMED: u8 = 1;
/// Kind of the key of the list.
const LIST_KEY: u8 = 2;
/// Kind of a suppression.
const SUPPRESSION: u8 = 3;
/// Kind of a lifted suppression.
const LIFTED: u8 = 4;
/// Kind of a message.
const MESSAGE: u8 = 5;
/// Kind of a recipient of a message.
const RECIPIENT: u8 = 6;
/// Kind of a status of a delivery.
const STATUS: u8 = 7;
/// Kind of a fact: the person is asked to confirm the address.
const ASKED: u8 = 8;
/// Kind of a departure.
const DEPARTURE: u8 = 9;
/// Kind of an erasure of an entry.
const ERASED: u8 = 10;
/// Kind of a correction: an entry has another address.
const READDRESSED: u8 = 11;
/// Kind of a message with the digest of its text.
const MESSAGE_WITH_DIGEST: u8 = 12;
/// Kind of an event.
const EVENT: u8 = 13;
/// Kind of a finished event.
const FINISHED_EVENT: u8 = 14;
/// Kind of a switch: from here on, the list records events, or no longer does.
const RECORDING: u8 = 15;

/// An item of a record.
#[derive(Clone, Debug)]
pub(super) enum RecordItem {
    /// An entry. Its facts are items of their own.
    Entry(WaitlistEntry),
    /// A fact about the entry with this number.
    Fact(u64, Fact),
    /// The entry with this number is erased.
    Erased(u64),
    /// The entry with this number has another address.
    Readdressed(u64, Email),
    /// A compaction has removed an entry that was erased.
    RemovedEntry,
    /// A compaction has removed another item that was void.
    Removed,
    ListKey(ListKey),
    Suppressed(AddressHash),
    /// A suppression before this item is void.
    Lifted(AddressHash),
    Departure(Departure),
    Message(Message),
    /// A recipient of the message with this number, who gets the next number. The delivery is waiting.
    Recipient(u16, AddressHash),
    /// A new status of a delivery.
    Status {
        message: u16,
        delivery: u32,
        status: DeliveryStatus,
    },
    Event(Event),
    /// The event with this number is delivered, or given up.
    FinishedEvent(u64),
    /// Whether events are recorded from here on. If not, all events before are void.
    Recording(bool),
}

impl RecordItem {
    /// Returns the size of the item, in bytes.
    pub(super) fn len(&self) -> usize {
        let mut bytes = Vec::new();
        self.write(&mut bytes);
        bytes.len()
    }

    /// Appends the bytes of the item. Numbers are big-endian, and times are milliseconds since 1970.
    ///
    /// - An entry: the length of the address (one byte), the length of the source (one byte), the time, the address and the
    ///   source.
    /// - A removed entry: the byte 0.
    /// - Any other item: the byte 255, its kind (one byte), and its content. The length of a text (one byte) is before it.
    ///   - A fact: the number of the entry and the time.
    ///   - An erasure: the number of the entry. A correction: the number of the entry, and the new address.
    ///   - A part of the suppressions: the key, or the hash of the address. A departure: its id and the source.
    ///   - A message: the time, the id, the subject, and the digest if there is one.
    ///   - A recipient: the number of the message (two bytes), and the hash of the address.
    ///   - A status: the number of the message (two bytes), that of the delivery (four bytes), and that of the state (one
    ///     byte). If the state is not `Sending`, the time or 0, the code of the reply (two bytes) or 0, and its text follow.
    ///   - An event: what happened, its id, the time, the address and the source. A finished event: its number. A
    ///     switch: 1 or 0 (one byte).
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Entry(entry) => {
                let (address, source) = (entry.email.as_typed(), source_text(&entry.source));
                // An `Email` has at most 254 bytes, and a `Source` has at most 64.
                bytes.extend([address.len() as u8, source.len() as u8]);
                bytes.extend(unix_millis(entry.joined_at).to_be_bytes());
                bytes.extend_from_slice(address.as_bytes());
                bytes.extend_from_slice(source.as_bytes());
            }
            Self::RemovedEntry => bytes.push(REMOVED_ENTRY),
            other => {
                bytes.extend([OTHER, other.kind()]);
                other.write_content(bytes);
            }
        }
    }

    /// Returns the kind of an item that is not an entry.
    fn kind(&self) -> u8 {
        match self {
            Self::Entry(_) | Self::RemovedEntry | Self::Removed => REMOVED,
            Self::Fact(_, Fact::AskedAt(_)) => ASKED,
            Self::Fact(_, Fact::ConfirmedAt(_)) => CONFIRMED,
            Self::Erased(_) => ERASED,
            Self::Readdressed(..) => READDRESSED,
            Self::ListKey(_) => LIST_KEY,
            Self::Suppressed(_) => SUPPRESSION,
            Self::Lifted(_) => LIFTED,
            Self::Departure(_) => DEPARTURE,
            Self::Message(message) if message.text_digest.is_some() => MESSAGE_WITH_DIGEST,
            Self::Message(_) => MESSAGE,
            Self::Recipient(..) => RECIPIENT,
            Self::Status { .. } => STATUS,
            Self::Event(_) => EVENT,
            Self::FinishedEvent(_) => FINISHED_EVENT,
            Self::Recording(_) => RECORDING,
        }
    }

    fn write_content(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Entry(_) | Self::RemovedEntry | Self::Removed => {}
            Self::Fact(entry, Fact::AskedAt(time) | Fact::ConfirmedAt(time)) => {
                bytes.extend(entry.to_be_bytes());
                bytes.extend(unix_millis(*time).to_be_bytes());
            }
            Self::Erased(number) | Self::FinishedEvent(number) => {
                bytes.extend(number.to_be_bytes());
            }
            Self::Readdressed(entry, address) => {
                bytes.extend(entry.to_be_bytes());
                write_text(bytes, address.as_typed());
            }
            Self::ListKey(key) => bytes.extend_from_slice(key.as_bytes()),
            Self::Suppressed(hash) | Self::Lifted(hash) => bytes.extend_from_slice(hash.as_bytes()),
            Self::Departure(departure) => {
                bytes.extend_from_slice(departure.id.as_bytes());
                write_text(bytes, source_text(&departure.source));
            }
            Self::Message(message) => {
                bytes.extend(unix_millis(message.begun_at).to_be_bytes());
                write_text(bytes, message.id.as_str());
                write_text(bytes, message.subject());
                bytes.extend(message.text_digest.into_iter().flatten());
            }
            Self::Recipient(message, recipient) => {
                bytes.extend(message.to_be_bytes());
                bytes.extend_from_slice(recipient.as_bytes());
            }
            Self::Status {
                message,
                delivery,
                status,
            } => {
                bytes.extend(message.to_be_bytes());
                bytes.extend(delivery.to_be_bytes());
                bytes.push(status.state as u8);
                if status.state != DeliveryState::Sending {
                    let reply = status.reply.as_ref();
                    bytes.extend(status.since.map_or(0, unix_millis).to_be_bytes());
                    bytes.extend(reply.map_or(0, |reply| reply.code).to_be_bytes());
                    write_text(bytes, reply.map_or("", ServerReply::text));
                }
            }
            Self::Event(event) => {
                write_text(bytes, &event.kind);
                bytes.extend_from_slice(event.id.as_bytes());
                bytes.extend(unix_millis(event.at).to_be_bytes());
                write_text(bytes, event.email.as_typed());
                write_text(bytes, source_text(&event.source));
            }
            Self::Recording(is_on) => bytes.push(u8::from(*is_on)),
        }
    }

    /// Removes an item from the beginning of the bytes. Returns `None` if they end too early or are invalid.
    pub(super) fn parse(bytes: &mut &[u8]) -> Option<Self> {
        Some(match parse_array::<1>(bytes)? {
            [REMOVED_ENTRY] => Self::RemovedEntry,
            [OTHER] => Self::parse_other(bytes)?,
            [address_len] => {
                let [source_len] = parse_array(bytes)?;
                let joined_at = parse_time(bytes)?;
                let email = Email::from_stored(parse_text(address_len, bytes)?);
                Self::Entry(WaitlistEntry {
                    source: stored_source(parse_text(source_len, bytes)?),
                    ..WaitlistEntry::new(email, joined_at)
                })
            }
        })
    }

    /// Parses what follows the first byte of an item that is not an entry.
    fn parse_other(bytes: &mut &[u8]) -> Option<Self> {
        let [kind] = parse_array(bytes)?;
        Some(match kind {
            REMOVED => Self::Removed,
            ERASED => Self::Erased(parse_number(bytes)?),
            READDRESSED => {
                let entry = parse_number(bytes)?;
                Self::Readdressed(entry, Email::from_stored(parse_short_text(bytes)?))
            }
            ASKED => Self::Fact(parse_number(bytes)?, Fact::AskedAt(parse_time(bytes)?)),
            CONFIRMED => Self::Fact(parse_number(bytes)?, Fact::ConfirmedAt(parse_time(bytes)?)),
            LIST_KEY => {
                let key: [u8; size_of::<ListKey>()] = parse_array(bytes)?;
                Self::ListKey(ListKey::from_slice(&key)?)
            }
            SUPPRESSION => Self::Suppressed(parse_hash(bytes)?),
            LIFTED => Self::Lifted(parse_hash(bytes)?),
            DEPARTURE => Self::Departure(Departure {
                id: Uuid::from_bytes(parse_array(bytes)?),
                source: stored_source(parse_short_text(bytes)?),
            }),
            MESSAGE | MESSAGE_WITH_DIGEST => {
                let begun_at = parse_time(bytes)?;
                let id = MessageId::from_stored(parse_short_text(bytes)?);
                let subject = parse_short_text(bytes)?;
                let message = Message::new(id, begun_at, subject);
                let has_digest = kind == MESSAGE_WITH_DIGEST;
                let digest = match has_digest {
                    true => Some(parse_array(bytes)?),
                    false => None,
                };
                // A longer one would be cut.
                let is_whole = message.subject() == subject;
                Self::Message(is_whole.then(|| message.with_text_digest(digest))?)
            }
            RECIPIENT => {
                let message = u16::from_be_bytes(parse_array(bytes)?);
                Self::Recipient(message, parse_hash(bytes)?)
            }
            STATUS => Self::Status {
                message: u16::from_be_bytes(parse_array(bytes)?),
                delivery: u32::from_be_bytes(parse_array(bytes)?),
                status: parse_status(bytes)?,
            },
            EVENT => Self::Event(Event {
                kind: parse_short_text(bytes)?.into(),
                id: Uuid::from_bytes(parse_array(bytes)?),
                at: parse_time(bytes)?,
                email: Email::from_stored(parse_short_text(bytes)?),
                source: stored_source(parse_short_text(bytes)?),
            }),
            FINISHED_EVENT => Self::FinishedEvent(parse_number(bytes)?),
            RECORDING => match parse_array(bytes)? {
                [is_on @ (0 | 1)] => Self::Recording(is_on == 1),
                _ => return None,
            },
            _ => return None,
        })
    }
}

fn parse_status(bytes: &mut &[u8]) -> Option<DeliveryStatus> {
    let [state] = parse_array(bytes)?;
    let state = DeliveryState::from_number(state)?;
    if state == DeliveryState::Sending {
        return Some(DeliveryStatus::new(state));
    }
    let since = parse_number(bytes)?;
    let code = u16::from_be_bytes(parse_array(bytes)?);
    let text = parse_short_text(bytes)?;
    let reply = (code > 0).then(|| ServerReply::new(code, text));
    // Without a code there is no text, and a longer one would be cut.
    let is_whole = reply.as_ref().map_or("", ServerReply::text) == text;
    is_whole.then_some(DeliveryStatus {
        state,
        since: (since > 0).then(|| from_unix_millis(since)),
        reply,
    })
}

/// Appends a text of at most 255 bytes after its length.
fn write_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.push(text.len() as u8);
    bytes.extend_from_slice(text.as_bytes());
}

fn source_text(source: &Option<Source>) -> &str {
    source.as_ref().map_or("", Source::as_str)
}

fn stored_source(text: &str) -> Option<Source> {
    (!text.is_empty()).then(|| Source::from_stored(text))
}

fn parse_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*array)
}

fn parse_number(bytes: &mut &[u8]) -> Option<u64> {
    parse_array(bytes).map(u64::from_be_bytes)
}

fn parse_time(bytes: &mut &[u8]) -> Option<SystemTime> {
    parse_number(bytes).map(from_unix_millis)
}

fn parse_hash(bytes: &mut &[u8]) -> Option<AddressHash> {
    let hash: [u8; size_of::<AddressHash>()] = parse_array(bytes)?;
    AddressHash::from_slice(&hash)
}

fn parse_text<'a>(len: u8, bytes: &mut &'a [u8]) -> Option<&'a str> {
    let (text, rest) = bytes.split_at_checked(len.into())?;
    *bytes = rest;
    str::from_utf8(text).ok()
}

/// Parses a text after its length.
fn parse_short_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let [len] = parse_array(bytes)?;
    parse_text(len, bytes)
}
