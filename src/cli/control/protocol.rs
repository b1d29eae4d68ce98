//! The messages on the control socket.

use std::{fmt::Display, time::SystemTime};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use super::ledger_protocol::LedgerCommand;
use crate::waitlist::{
    AddressFilter, AddressHash, Compaction, CorrectOutcome, Departure, Email, EmailDomain, Erasure,
    InvalidEmail, JoinOutcome, ListKey, Selection, Source, SuppressionItem, WaitlistEntry,
    from_unix_millis, unix_millis,
};

/// Version of the protocol. A server and a command differ when the program was replaced while the server runs.
pub(super) const PROTOCOL_VERSION: u32 = 5;

/// Entries per line, in both directions.
pub(crate) const BATCH_SIZE: usize = 512;
/// Parts of the suppressions per line, in both directions. Each takes at most 122 bytes.
pub(super) const SUPPRESSIONS_BATCH_SIZE: usize = 4096;

/// A request.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Request {
    pub(super) protocol: u32,
    #[serde(rename = "ask")]
    pub(super) command: Command,
}

/// What a request asks for. The response to each command is a [`Reply`] of the type named here.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum Command {
    /// `u64`: the number of entries.
    Count,
    /// `Vec<WireJoinOutcome>`: the outcome for each entry.
    Join(Vec<WireEntry>),
    /// `Vec<bool>`: whether each address was on the list.
    Erase {
        addresses: Vec<String>,
        #[serde(with = "ErasureDef")]
        erasure: Erasure,
    },
    /// `()`, see [`Waitlist::add_suppressions`](crate::waitlist::Waitlist::add_suppressions).
    AddSuppressions(Vec<WireSuppression>),
    /// `Vec<bool>`: whether each address is on the list.
    LiftListed(Vec<String>),
    /// One `Vec<WireSuppression>` per line. An empty one ends the response.
    Suppressions,
    /// `bool`: whether an address is suppressed.
    IsSuppressed(String),
    /// [`WireCorrectOutcome`].
    Correct { old: String, new: String },
    /// See [`LedgerCommand`].
    Ledger(LedgerCommand),
    /// [`CompactionStep`], one per line, until [`CompactionStep::Done`].
    Compact,
    /// `u64`, the number of selected entries; then one `Vec<WireEntry>` per line. An empty one ends the response.
    Entries {
        since: Option<u64>,
        until: Option<u64>,
        addresses: WireAddressFilter,
        source: Option<String>,
        confirmed: Option<bool>,
        newest_first: bool,
    },
}

/// See [`AddressFilter`].
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum WireAddressFilter {
    Any,
    Address(String),
    Domain(String),
}

/// See [`Erasure`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "Erasure")]
pub(super) enum ErasureDef {
    Complete,
    Suppress,
    Unconfirmed { before: SystemTime },
}

/// See [`JoinOutcome`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "JoinOutcome")]
pub(super) enum JoinOutcomeDef {
    New,
    AlreadyListed,
    Suppressed,
}

/// A part of the response to [`Command::Join`].
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireJoinOutcome(#[serde(with = "JoinOutcomeDef")] pub(super) JoinOutcome);

/// A key or a suppressed address, in base64url, or a departure.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum WireSuppression {
    Key(String),
    Address(String),
    /// The id, and the source.
    Departure(String, Option<String>),
}

impl From<SuppressionItem> for WireSuppression {
    fn from(item: SuppressionItem) -> Self {
        match item {
            SuppressionItem::Key(key) => Self::Key(BASE64.encode(key.as_bytes())),
            SuppressionItem::Address(hash) => Self::Address(BASE64.encode(hash.as_bytes())),
            SuppressionItem::Departure(Departure { id, source }) => {
                Self::Departure(id.to_string(), source.map(|it| it.to_string()))
            }
        }
    }
}

impl WireSuppression {
    /// Returns `None` if the text is malformed.
    pub(super) fn parse(self) -> Option<SuppressionItem> {
        let decode = |text: &str| BASE64.decode(text).ok();
        Some(match self {
            Self::Key(text) => SuppressionItem::Key(ListKey::from_slice(&decode(&text)?)?),
            Self::Address(text) => {
                SuppressionItem::Address(AddressHash::from_slice(&decode(&text)?)?)
            }
            Self::Departure(id, source) => {
                SuppressionItem::Departure(Departure::parse(&id, source.as_deref())?)
            }
        })
    }
}

/// See [`CorrectOutcome`].
#[derive(Debug, Deserialize, Serialize)]
#[serde(remote = "CorrectOutcome")]
pub(super) enum CorrectOutcomeDef {
    Corrected,
    NotListed,
    NewAddressListed,
}

/// The response to [`Command::Correct`].
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireCorrectOutcome(
    #[serde(with = "CorrectOutcomeDef")] pub(super) CorrectOutcome,
);

/// A step of a compaction.
#[derive(Debug, Deserialize, Serialize)]
pub(super) enum CompactionStep {
    /// This number of entries is copied.
    Copied(u64),
    /// See [`Compaction`].
    Done { bytes_before: u64, bytes_after: u64 },
}

impl From<Compaction> for CompactionStep {
    fn from(compaction: Compaction) -> Self {
        let Compaction {
            bytes_before,
            bytes_after,
        } = compaction;
        Self::Done {
            bytes_before,
            bytes_after,
        }
    }
}

/// The result of a command.
pub(super) type Reply<T> = Result<T, ErrorMessage>;

/// An error as it reaches the owner: what happened, and what to do.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ErrorMessage(pub(super) String);

impl<E: Display> From<E> for ErrorMessage {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// An entry: milliseconds since 1970, the address, the source, and when the person was asked to confirm, and has.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct WireEntry(u64, String, Option<String>, Option<u64>, Option<u64>);

impl From<&WaitlistEntry> for WireEntry {
    fn from(entry: &WaitlistEntry) -> Self {
        Self(
            unix_millis(entry.joined_at),
            entry.email.as_typed().to_owned(),
            entry.source.as_ref().map(|it| it.as_str().to_owned()),
            entry.asked_at.map(unix_millis),
            entry.confirmed_at.map(unix_millis),
        )
    }
}

impl WireEntry {
    /// Converts an entry from a command. Its address must be valid.
    pub(super) fn parse(self) -> Result<WaitlistEntry, InvalidEmail> {
        let email = Email::parse(&self.1)?;
        Ok(WaitlistEntry {
            email,
            ..self.into_stored_entry()
        })
    }

    /// Converts an entry from the list. Its address was validated when it joined, perhaps by an earlier version
    /// with other rules.
    pub(super) fn into_stored_entry(self) -> WaitlistEntry {
        let Self(joined_at, email, source, asked_at, confirmed_at) = self;
        WaitlistEntry {
            email: Email::from_stored(&email),
            joined_at: from_unix_millis(joined_at),
            source: source.as_deref().map(Source::from_stored),
            asked_at: asked_at.map(from_unix_millis),
            confirmed_at: confirmed_at.map(from_unix_millis),
        }
    }
}

impl Command {
    /// Asks for the selected entries.
    pub(super) fn entries(selection: Selection) -> Self {
        let Selection {
            since,
            until,
            addresses,
            source,
            confirmed,
            newest_first,
        } = selection;
        Self::Entries {
            since: since.map(unix_millis),
            until: until.map(unix_millis),
            addresses: match addresses {
                AddressFilter::Any => WireAddressFilter::Any,
                AddressFilter::Address(email) => {
                    WireAddressFilter::Address(email.as_typed().to_owned())
                }
                AddressFilter::Domain(domain) => {
                    WireAddressFilter::Domain(domain.as_str().to_owned())
                }
            },
            source: source.map(|it| it.as_str().to_owned()),
            confirmed,
            newest_first,
        }
    }
}

impl WireAddressFilter {
    /// Converts the filter of a request.
    ///
    /// # Errors
    /// If its domain is invalid.
    pub(super) fn parse(self) -> Result<AddressFilter, InvalidEmail> {
        Ok(match self {
            Self::Any => AddressFilter::Any,
            Self::Address(address) => AddressFilter::Address(Email::from_stored(&address)),
            Self::Domain(domain) => AddressFilter::Domain(EmailDomain::parse(&domain)?),
        })
    }
}
