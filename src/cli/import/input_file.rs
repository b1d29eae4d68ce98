//! Reads the file that a command takes people from.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use anyhow::{Context, ensure};
use encoding_rs_io::DecodeReaderBytesBuilder;

/// The beginning of every backup.
const BACKUP: &str = "{\"backup\":";

/// Returns the name of a file for messages.
pub(in crate::cli) fn display_name(path: Option<&Path>) -> String {
    path.map_or("standard input".into(), |file| file.display().to_string())
}

/// Reads a file, or standard input, to memory.
pub(in crate::cli) fn read(path: Option<&Path>) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = match path {
        Some(path) => File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
        None => io::stdin().lock().read_to_end(&mut bytes),
    };
    read.context("cannot read the file")?;
    decode(&bytes)
}

/// Returns a text whose lines end as in Unix. UTF-16 is recognised by its byte order mark. Invalid UTF-8 is replaced: it
/// matters only in cells that are used.
///
/// # Errors
/// If it is not text, or a backup.
pub(super) fn decode(bytes: &[u8]) -> anyhow::Result<String> {
    let mut decoder = DecodeReaderBytesBuilder::new().strip_bom(true).build(bytes);
    let mut text = Vec::new();
    decoder.read_to_end(&mut text)?;
    // A spreadsheet or an archive has null bytes, and text in UTF-16 has one at least at each separator.
    ensure!(
        !text.contains(&0),
        "the file is not text in UTF-8; save a spreadsheet as CSV in UTF-8, and unpack an archive first"
    );
    let text = String::from_utf8_lossy(&text);
    ensure!(
        !text.starts_with(BACKUP),
        "the file is a backup, which has more than people; run `landing restore FILE` instead"
    );
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}
