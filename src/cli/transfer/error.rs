//! Reasons why a whole file cannot be imported.

use std::io;

use thiserror::Error;

use super::csv_reader::MalformedRow;

/// Why a file cannot be imported.
#[derive(Debug, Error)]
pub(crate) enum ImportError {
    #[error("cannot read the file")]
    Io(#[from] io::Error),
    #[error("the file is a backup; run `landing restore FILE` with an empty or new list")]
    Backup,
    #[error(
        "the file has null bytes: it is in UTF-16 or UTF-32, or it is not text; save it as CSV in UTF-8"
    )]
    NullBytes,
    #[error(
        "the file is a spreadsheet or an archive; save the spreadsheet as CSV in UTF-8, or unpack the archive first"
    )]
    Archive,
    #[error("the file is compressed; decompress it first, for example with `gunzip`")]
    Compressed,
    #[error("the file is an address book (vCard or LDIF); export the contacts as CSV instead")]
    AddressBook,
    #[error("there is no such file; to add one person, run `echo ADDRESS | landing import`")]
    AddressAsFile,
    #[error("the file is a JSON array; write one object per line, for example with `jq -c '.[]'`")]
    JsonArray,
    /// Without a header row nobody knows what the cells of the other rows mean.
    #[error("{}", .0.reason)]
    MalformedHeader(MalformedRow),
    #[error(
        "cannot find the column with the addresses; write one address per line, or add a header row that names the \
         column \"email\", and delete the lines before it"
    )]
    NoAddressColumn,
    #[error(
        "line {header_line} is the header row, but line {address_line} before it has an @ and may be a person; move \
         the people to the end of the file, and delete the lines before the header row"
    )]
    AddressBeforeHeader { address_line: u64, header_line: u64 },
    #[error(
        "cannot find the column with the addresses; if line {line} is the header row, delete the lines before it and \
         name the column \"email\"; otherwise add a header row"
    )]
    UncertainHeader { line: u64 },
    #[error(
        "its objects have more than {max} different names; keep only those that the import needs, \
         for example with `jq -c '{{email, joined_at, status}}'`, or skip an inner object with --ignore"
    )]
    TooManyColumns { max: usize },
}

impl ImportError {
    /// Returns the line of the file that the error is about, if it is about one.
    pub(crate) fn line(&self) -> Option<u64> {
        match self {
            Self::MalformedHeader(row) => Some(row.line),
            _ => None,
        }
    }
}
