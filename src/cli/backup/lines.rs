//! The lines of a backup, which are JSON objects with one field each.
//!
//! ```text
//! {"backup":{"format":1,"program":"landing 0.1.0","created_at":TIME,"key":KEY}}
//! {"person":{"email":"ann@example.com","joined_at":TIME, …}}
//! {"suppressed":HASH}
//! {"departure":{"id":"UUID","source":"hn"}}
//! {"message":{"id":"launch","begun_at":TIME,"subject":"TEXT","text_digest":DIGEST}}
//! {"delivery":["launch",{"recipient":HASH,"status":{"state":"accepted", …},"attempts":1}]}
//! {"end":{"people":1,"suppressed":1,"departures":1,"messages":1,"deliveries":1,"sha256":"DIGEST"}}
//! ```
//!
//! Between the first line and the last one, each is a [`BackupItem`].

use std::{fmt, io, time::SystemTime};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::{
    cli::terminal::output::counted,
    waitlist::{BackupItem, ListKey},
};

/// The format that this program writes and reads. A change of a field of a [`BackupItem`] needs a new one.
pub(super) const FORMAT_VERSION: u64 = 1;

/// The first line and the last one.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Frame<H = Header> {
    Backup(H),
    End(Trailer),
}

/// What the first line of every format says.
#[derive(Deserialize)]
pub(super) struct Format {
    pub(super) format: u64,
    pub(super) program: String,
}

/// What the first line says.
#[derive(Deserialize, Serialize)]
pub(super) struct Header {
    pub(super) format: u64,
    pub(super) program: String,
    /// When the backup was begun.
    pub(super) created_at: SystemTime,
    pub(super) key: ListKey,
}

/// What the last line says: the counts, and the SHA-256 of all bytes before it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Trailer {
    #[serde(flatten)]
    pub(crate) counts: BackupCounts,
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

/// What the lines before the last one have.
pub(super) struct Summary {
    hash: Context,
    pub(super) counts: BackupCounts,
}

impl Summary {
    /// Begins with the first line.
    pub(super) fn new(first: &[u8]) -> Self {
        let mut hash = Context::new(&SHA256);
        hash.update(first);
        Self {
            hash,
            counts: BackupCounts::default(),
        }
    }

    /// Adds an item, and its line.
    pub(super) fn add(&mut self, item: &BackupItem, line: &[u8]) {
        self.hash.update(line);
        let counts = &mut self.counts;
        match item {
            BackupItem::Suppressed(_) => counts.suppressed += 1,
            BackupItem::Departure(_) => counts.departures += 1,
            BackupItem::Message(_) => counts.messages += 1,
            BackupItem::Delivery(..) => counts.deliveries += 1,
            BackupItem::Person(_) => counts.people += 1,
        }
    }

    /// Returns what the last line says.
    pub(super) fn trailer(&self) -> Trailer {
        let digest = self.hash.clone().finish();
        let bytes = digest.as_ref().iter();
        Trailer {
            counts: self.counts,
            sha256: bytes.map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Returns a line with its line break.
pub(super) fn to_line(line: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// `7 people, 3 suppressed addresses, 1 message with 5 deliveries`.
impl fmt::Display for BackupCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}, {} with {}",
            counted(self.people, "person", "people"),
            counted(
                self.suppressed,
                "suppressed address",
                "suppressed addresses"
            ),
            counted(self.messages, "message", "messages"),
            counted(self.deliveries, "delivery", "deliveries"),
        )
    }
}
