//! Reads the file that a command takes people from.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use encoding_rs_io::DecodeReaderBytesBuilder;
use thiserror::Error;

/// The number of bytes in which null bytes are searched for. A spreadsheet or an archive has some, and text in UTF-16 has one
/// at least at each separator.
const NULL_SEARCH_BYTES: usize = 1 << 10;
/// The beginning of every backup.
const BACKUP: &str = "{\"backup\":";

/// Why a file cannot be read, whatever its columns mean.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error("cannot read the file")]
    Io(#[from] io::Error),
    #[error(
        "the file is not text in UTF-8; save a spreadsheet as CSV in UTF-8, and unpack an archive first"
    )]
    NotText,
    #[error("the file is a JSON array; write one object per line, for example with `jq -c '.[]'`")]
    JsonArray,
    #[error(
        "line {line} has an address, so the file has no header row: add one that names the columns, such as \
         \"email,joined_at\"; or write one address per line, and nothing else"
    )]
    NoHeaderRow { line: u64 },
    #[error("line {line}: the header row cannot be read: {reason}")]
    InvalidHeaderRow { line: u64, reason: &'static str },
    #[error("the file is a backup, which has more than people; run `landing restore FILE` instead")]
    Backup,
}

/// Returns the name of a file for messages.
pub(in crate::cli) fn display_name(path: Option<&Path>) -> String {
    path.map_or("standard input".into(), |file| file.display().to_string())
}

/// Reads a file, or standard input, to memory.
///
/// # Errors
/// [`FileError`].
pub(in crate::cli) fn read(path: Option<&Path>) -> Result<String, FileError> {
    let mut bytes = Vec::new();
    match path {
        Some(path) => File::open(path)?.read_to_end(&mut bytes)?,
        None => io::stdin().lock().read_to_end(&mut bytes)?,
    };
    decode(&bytes)
}

/// Returns a text whose lines end as in Unix. UTF-16 is recognized by its byte order mark. Invalid UTF-8 is replaced: it
/// matters only in cells that are used.
///
/// # Errors
/// [`FileError`], if it is not text.
pub(super) fn decode(bytes: &[u8]) -> Result<String, FileError> {
    let mut decoder = DecodeReaderBytesBuilder::new().strip_bom(true).build(bytes);
    let mut text = Vec::new();
    decoder.read_to_end(&mut text)?;
    if text.iter().take(NULL_SEARCH_BYTES).any(|it| *it == 0) {
        return Err(FileError::NotText);
    }
    let text = String::from_utf8_lossy(&text);
    if text.starts_with(BACKUP) {
        return Err(FileError::Backup);
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}
