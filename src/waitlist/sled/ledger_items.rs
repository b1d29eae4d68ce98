//! The items of the ledger in a record.
//!
//! Messages are numbered from 0, and so are the deliveries of each message. An item names them by these numbers.

use super::{
    super::{
        entry::{from_unix_millis, unix_millis},
        ledger::{DeliveryState, DeliveryStatus, Message, ServerReply},
        message_id::MessageId,
        suppression::AddressHash,
    },
    bytes::{parse_array, parse_hash, parse_text, parse_u8, parse_u16, parse_u32, parse_u64},
};

/// A message as it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredMessage<'a> {
    /// Milliseconds since 1970.
    begun_at_millis: u64,
    pub(super) id: &'a str,
    subject: &'a str,
    pub(super) text_digest: Option<[u8; 32]>,
}

/// A recipient of a message, who gets the next number. The delivery is waiting.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredRecipient {
    pub(super) message: u16,
    pub(super) recipient: AddressHash,
}

/// A new status of a delivery.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredStatus<'a> {
    pub(super) message: u16,
    pub(super) delivery: u32,
    pub(super) state: DeliveryState,
    /// Milliseconds since 1970, or 0.
    since_millis: u64,
    /// The code of the server's reply, or 0.
    code: u16,
    text: &'a str,
}

impl<'a> StoredMessage<'a> {
    /// Returns the size, in bytes.
    pub(super) fn len(&self) -> usize {
        let digest = self.text_digest.map_or(0, |it| it.len());
        size_of::<u64>() + 2 + self.id.len() + self.subject.len() + digest
    }

    /// Appends the time, the length of the id, the id, the length of the subject, the subject, and the digest if there is
    /// one.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.begun_at_millis.to_be_bytes());
        for text in [self.id, self.subject] {
            // An id has at most 64 bytes, and the subject of a `Message` at most 200.
            bytes.push(text.len() as u8);
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.extend(self.text_digest.into_iter().flatten());
    }

    pub(super) fn parse(bytes: &mut &'a [u8], has_digest: bool) -> Option<Self> {
        Some(Self {
            begun_at_millis: parse_u64(bytes)?,
            id: parse_text(bytes)?,
            subject: parse_text(bytes)?,
            text_digest: match has_digest {
                true => Some(parse_array(bytes)?),
                false => None,
            },
        })
    }
}

impl<'a> From<&'a Message> for StoredMessage<'a> {
    fn from(message: &'a Message) -> Self {
        Self {
            begun_at_millis: unix_millis(message.begun_at),
            id: message.id.as_str(),
            subject: message.subject(),
            text_digest: message.text_digest,
        }
    }
}

impl From<StoredMessage<'_>> for Message {
    fn from(stored: StoredMessage<'_>) -> Self {
        Self::new(
            MessageId::from_stored(stored.id),
            from_unix_millis(stored.begun_at_millis),
            stored.subject,
        )
        .with_text_digest(stored.text_digest)
    }
}

impl StoredRecipient {
    /// The size, in bytes.
    pub(super) const BYTES: usize = size_of::<u16>() + size_of::<AddressHash>();

    /// Appends the number of the message, and the hash.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.message.to_be_bytes());
        bytes.extend_from_slice(self.recipient.as_bytes());
    }

    pub(super) fn parse(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self {
            message: parse_u16(bytes)?,
            recipient: parse_hash(bytes)?,
        })
    }
}

impl<'a> StoredStatus<'a> {
    /// Creates a status of a delivery.
    pub(super) fn new(message: u16, delivery: u32, status: &'a DeliveryStatus) -> Self {
        let reply = status.reply.as_ref();
        Self {
            message,
            delivery,
            state: status.state,
            since_millis: status.since.map_or(0, unix_millis),
            code: reply.map_or(0, |reply| reply.code),
            text: reply.map_or("", ServerReply::text),
        }
    }

    /// Returns whether the status has a time and a reply.
    fn has_details(state: DeliveryState) -> bool {
        state != DeliveryState::Sending
    }

    /// Returns the size, in bytes.
    pub(super) fn len(&self) -> usize {
        let details = size_of::<u64>() + size_of::<u16>() + 1 + self.text.len();
        let numbers = size_of::<u16>() + size_of::<u32>() + 1;
        numbers
            + if Self::has_details(self.state) {
                details
            } else {
                0
            }
    }

    /// Appends the number of the message, the number of the delivery, and that of the state (one byte). If that is not
    /// `Sending`, the time, the code of the reply, the length of its text, and the text follow.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.message.to_be_bytes());
        bytes.extend_from_slice(&self.delivery.to_be_bytes());
        bytes.push(self.state as u8);
        if Self::has_details(self.state) {
            bytes.extend_from_slice(&self.since_millis.to_be_bytes());
            bytes.extend_from_slice(&self.code.to_be_bytes());
            // The text of a `ServerReply` has at most 200 bytes.
            bytes.push(self.text.len() as u8);
            bytes.extend_from_slice(self.text.as_bytes());
        }
    }

    pub(super) fn parse(bytes: &mut &'a [u8]) -> Option<Self> {
        let (message, delivery) = (parse_u16(bytes)?, parse_u32(bytes)?);
        let state = DeliveryState::from_number(parse_u8(bytes)?)?;
        let (since_millis, code, text) = if Self::has_details(state) {
            (parse_u64(bytes)?, parse_u16(bytes)?, parse_text(bytes)?)
        } else {
            (0, 0, "")
        };
        Some(Self {
            message,
            delivery,
            state,
            since_millis,
            code,
            text,
        })
    }
}

impl From<StoredStatus<'_>> for DeliveryStatus {
    fn from(stored: StoredStatus<'_>) -> Self {
        let has_time = stored.since_millis > 0;
        Self {
            state: stored.state,
            since: has_time.then(|| from_unix_millis(stored.since_millis)),
            reply: (stored.code > 0).then(|| ServerReply::new(stored.code, stored.text)),
        }
    }
}
