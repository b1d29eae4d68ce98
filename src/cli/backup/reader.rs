//! Reads a backup, and rejects one that was changed or cut off.
//!
//! The checksum in the last line covers every byte before it. So no editor, spreadsheet or interrupted copy changes a backup
//! unnoticed, and the other checks only say better what is wrong.

use std::{
    io::{self, BufRead, BufReader, Read},
    time::SystemTime,
};

use thiserror::Error;

use super::lines::{BackupCounts, FORMAT_VERSION, Format, Frame, Header, Summary, to_line};
use crate::waitlist::{BackupItem, ListKey, MessageId};

/// The beginning of the last line.
const END: &[u8] = b"{\"end\":";
/// Maximum length of a line, in bytes. JSON needs up to six bytes for each of the 200 of a subject or a reply.
const LINE_MAX_BYTES: u64 = 1 << 13;

/// Why a backup cannot be read.
#[derive(Debug, Error)]
pub(crate) enum BackupError {
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error(
        "it is not a backup, or its first line was changed; use the original file, or `landing import` for a file of people"
    )]
    NotABackup,
    #[error(
        "it is a backup of format {format}, and this program reads format {FORMAT_VERSION}; use {program}, which wrote it, or a \
         newer version"
    )]
    OtherFormat { format: u64, program: String },
    #[error("line {line} of the backup was changed; use the original file")]
    ChangedLine { line: u64 },
    #[error("the backup was changed: its checksum is wrong; use the original file")]
    Changed,
    #[error("the backup was cut off: its last line is missing; use the original file")]
    CutOff,
}

/// Reads the parts of a list from a backup. The iterator ends without an error only if the backup is complete and
/// unchanged. It begins again afterwards, so fuse it.
pub(crate) struct BackupReader<R> {
    file: BufReader<R>,
    line_number: u64,
    key: ListKey,
    created_at: SystemTime,
    summary: Summary,
    last_message: Option<MessageId>,
}

impl<R: Read> BackupReader<R> {
    /// Reads the first line.
    pub(crate) fn open(file: R) -> Result<Self, BackupError> {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let first = read_line(&mut file).map_err(|_| BackupError::NotABackup)?;
        // Another format may have other fields.
        let Ok(Frame::Backup(Format { format, program })) = serde_json::from_slice(&first) else {
            return Err(BackupError::NotABackup);
        };
        if format != FORMAT_VERSION {
            return Err(BackupError::OtherFormat { format, program });
        }
        let Ok(Frame::Backup(header)) = serde_json::from_slice(&first) else {
            return Err(BackupError::NotABackup);
        };
        let Header {
            key, created_at, ..
        } = header;
        Ok(Self {
            file,
            line_number: 1,
            key,
            created_at,
            summary: Summary::new(&first),
            last_message: None,
        })
    }

    /// Returns the key of the list.
    pub(crate) fn key(&self) -> ListKey {
        self.key
    }

    /// Returns when the backup was begun.
    pub(crate) fn created_at(&self) -> SystemTime {
        self.created_at
    }

    /// Reads the rest of the backup, and returns what it has.
    pub(crate) fn verify(mut self) -> Result<BackupCounts, BackupError> {
        while self.next_item()?.is_some() {}
        Ok(self.summary.counts)
    }

    fn next_item(&mut self) -> Result<Option<BackupItem>, BackupError> {
        let text = read_line(&mut self.file)?;
        self.line_number += 1;
        let line = self.line_number;
        if text.starts_with(END) {
            return self.check_trailer(&text).map(|()| None);
        }
        let item = serde_json::from_slice(&text).map_err(|_| BackupError::ChangedLine { line })?;
        match &item {
            BackupItem::Message(message) => self.last_message = Some(message.id.clone()),
            BackupItem::Delivery(message, _) if self.last_message.as_ref() != Some(message) => {
                return Err(BackupError::ChangedLine { line });
            }
            _ => {}
        }
        self.summary.add(&item, &text);
        Ok(Some(item))
    }

    /// Compares the last line with the counts and the checksum of the lines before it.
    fn check_trailer(&mut self, found: &[u8]) -> Result<(), BackupError> {
        let expected = to_line(&<Frame>::End(self.summary.trailer()))?;
        if found != expected || !self.file.fill_buf()?.is_empty() {
            return Err(BackupError::Changed);
        }
        Ok(())
    }
}

impl<R: Read> Iterator for BackupReader<R> {
    type Item = io::Result<BackupItem>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_item().map_err(io::Error::other).transpose()
    }
}

/// Reads a line, with its line break.
fn read_line(file: &mut impl BufRead) -> Result<Vec<u8>, BackupError> {
    let mut line = Vec::new();
    file.take(LINE_MAX_BYTES).read_until(b'\n', &mut line)?;
    let is_too_long = line.len() as u64 == LINE_MAX_BYTES;
    if !line.ends_with(b"\n") && !is_too_long {
        return Err(BackupError::CutOff);
    }
    Ok(line)
}
