//! Writes a backup.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use ring::digest::{Context, Digest, SHA256};
use serde::Serialize;

use super::lines::{BackupCounts, FORMAT, Frame, Header, Trailer};
use crate::waitlist::{BackupItem, ListKey};

/// Writes the lines of a backup, and counts them.
pub(super) struct BackupWriter<W: Write> {
    out: W,
    hash: Context,
    counts: BackupCounts,
}

impl<W: Write> BackupWriter<W> {
    /// Writes the first line.
    pub(super) fn new(out: W, key: ListKey, created_at: SystemTime) -> io::Result<Self> {
        let mut writer = Self {
            out,
            hash: Context::new(&SHA256),
            counts: BackupCounts::default(),
        };
        writer.write_line(&Frame::Backup(Header {
            format: FORMAT,
            program: format!("landing {}", env!("LANDING_VERSION")),
            created_at,
            key,
        }))?;
        Ok(writer)
    }

    pub(super) fn write(&mut self, item: &BackupItem) -> io::Result<()> {
        self.counts.add(item);
        self.write_line(item)
    }

    /// Writes the last line, and returns what it says.
    pub(super) fn finish(mut self) -> io::Result<Trailer> {
        let trailer = Trailer {
            counts: self.counts,
            sha256: hex(self.hash.clone().finish()),
        };
        self.write_line(&Frame::End(trailer.clone()))?;
        self.out.flush()?;
        Ok(trailer)
    }

    fn write_line(&mut self, line: &impl Serialize) -> io::Result<()> {
        let text = to_line(line)?;
        self.hash.update(&text);
        self.out.write_all(&text)
    }
}

/// Returns a line with its line break.
pub(super) fn to_line(line: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

/// Returns a digest in hexadecimal.
pub(super) fn hex(digest: Digest) -> String {
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
