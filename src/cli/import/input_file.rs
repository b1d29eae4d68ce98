//! Reads the file that a command takes people from.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use encoding_rs_io::DecodeReaderBytesBuilder;

use super::error::FileError;

/// The files of Excel and LibreOffice are ZIP archives. Old ones of Excel are compound files. The third is gzip.
const ARCHIVES: [&[u8]; 3] = [b"PK", b"\xd0\xcf\x11\xe0", b"\x1f\x8b"];
/// The number of bytes in which null bytes are searched for. Text in UTF-16 has one at least at each separator.
const NULL_SEARCH_BYTES: usize = 1 << 10;
/// The beginning of every backup.
const BACKUP: &[u8] = b"{\"backup\":";

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
    if ARCHIVES.iter().any(|it| bytes.starts_with(it)) {
        return Err(FileError::Archive);
    }
    let mut decoder = DecodeReaderBytesBuilder::new().strip_bom(true).build(bytes);
    let mut text = Vec::new();
    decoder.read_to_end(&mut text)?;
    if text.iter().take(NULL_SEARCH_BYTES).any(|it| *it == 0) {
        return Err(FileError::NullBytes);
    }
    if text.starts_with(BACKUP) {
        return Err(FileError::Backup);
    }
    let text = String::from_utf8_lossy(&text);
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}
