//! Reasons why a whole file cannot be read.

use std::io;

use thiserror::Error;

/// Why a file cannot be read, whatever its columns mean.
#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error("cannot read the file")]
    Io(#[from] io::Error),
    #[error(
        "the file is a spreadsheet or an archive, or it is compressed; save the spreadsheet as CSV in UTF-8, or unpack \
         the file first"
    )]
    Archive,
    #[error(
        "the file has null bytes: it is in UTF-16 or UTF-32, or it is not text; save it as CSV in UTF-8"
    )]
    NullBytes,
    #[error("the file is a JSON array; write one object per line, for example with `jq -c '.[]'`")]
    JsonArray,
    #[error("there is no such file; to add one person, run `landing add ADDRESS`")]
    AddressAsFile,
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
