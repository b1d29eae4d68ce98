//! The last line of an export, by which `import` detects a file that was changed or cut off.

use std::{
    fmt::Write,
    fs::File,
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
};

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::{
    column_names::{EXPORT_COLUMNS, EXPORT_WIDTHS},
    error::ImportError,
    list_lines,
};
use crate::cli::time::{self, rfc3339};

/// Starts a CSV export, because spreadsheets recognize UTF-8 by it.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Upper limit for the length of a line that `export` writes, in bytes.
const EXPORT_LINE_MAX_BYTES: u64 = 1024;

/// The number of entries in a file, and the SHA-256 of all bytes before this line.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Trailer {
    pub(crate) entries: u64,
    pub(crate) sha256: String,
}

impl Trailer {
    pub(crate) fn new(entries: u64, hash: Context) -> Self {
        let mut sha256 = String::new();
        for byte in hash.finish().as_ref() {
            // Writing to a string never fails.
            let _ = write!(sha256, "{byte:02x}");
        }
        Self { entries, sha256 }
    }

    pub(crate) fn to_csv(&self) -> String {
        format!("# {} entries,sha256:{}", self.entries, self.sha256)
    }

    pub(crate) fn to_json(&self) -> String {
        let Self { entries, sha256 } = self;
        format!(r#"{{"entries":{entries},"sha256":"{sha256}"}}"#)
    }

    /// Parses a line. A spreadsheet that saved the file may have changed its quotation marks and separators.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        if let Ok(trailer) = serde_json::from_str(line) {
            return Some(trailer);
        }
        let line = line.replace('"', "");
        let (entries, rest) = line.strip_prefix("# ")?.split_once(" entries")?;
        let rest = rest.trim_start_matches([',', ';', '\t']);
        Some(Self {
            entries: entries.parse().ok()?,
            sha256: rest.strip_prefix("sha256:")?.get(..64)?.to_owned(),
        })
    }
}

/// Compares a file with its trailer, and returns the trailer, or `None` for a file of another program.
/// Rewinds the file.
///
/// # Errors
/// [`ImportError::ChangedExport`], [`ImportError::TruncatedExport`] and [`ImportError::Io`].
pub(crate) fn verify_trailer(mut file: &File) -> Result<Option<Trailer>, ImportError> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(
        length.saturating_sub(EXPORT_LINE_MAX_BYTES),
    ))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    file.rewind()?;
    let trimmed = end.trim_ascii_end();
    let start = trimmed
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let trailer = str::from_utf8(&trimmed[start..])
        .ok()
        .and_then(Trailer::parse);

    let verified = match trailer {
        Some(trailer) => {
            let hashed_bytes = length - (end.len() - start) as u64;
            let mut hashed = BufReader::with_capacity(1 << 16, file).take(hashed_bytes);
            let mut hash = Context::new(&SHA256);
            loop {
                let read = hashed.fill_buf()?;
                if read.is_empty() {
                    break;
                }
                hash.update(read);
                let length = read.len();
                hashed.consume(length);
            }
            if Trailer::new(trailer.entries, hash) == trailer {
                Ok(Some(trailer))
            } else {
                Err(ImportError::ChangedExport)
            }
        }
        None => {
            let mut beginning = Vec::new();
            file.take(EXPORT_LINE_MAX_BYTES)
                .read_to_end(&mut beginning)?;
            if is_own_export(&beginning) {
                Err(ImportError::TruncatedExport)
            } else {
                Ok(None)
            }
        }
    };
    file.rewind()?;
    verified
}

/// Whether `export` wrote the file that begins like this. Every version has written the byte order mark, one of these
/// header rows and times to the millisecond.
///
/// Other files can have the same columns: a spreadsheet saves them with a byte order mark too. Their times differ, so
/// the first row decides. If it is cut off or missing, the file counts as an export: rejecting a complete file costs
/// an option, but the people missing from a file that was cut off might never be noticed.
fn is_own_export(beginning: &[u8]) -> bool {
    let beginning = String::from_utf8_lossy(beginning);
    let mut lines = beginning.split_inclusive('\n');
    let first = lines.next().unwrap_or_default().trim_end();
    let header = first.strip_prefix(BYTE_ORDER_MARK);
    let mut headers = EXPORT_WIDTHS
        .map(|width| EXPORT_COLUMNS[..width].join(","))
        .into_iter();
    if headers.any(|it| header == Some(&*it)) {
        let row = lines.next().filter(|row| row.ends_with('\n'));
        let row = row.map(|row| row.trim_end().replace('"', ""));
        return row.is_none_or(|row| {
            let is_list_line = list_lines::parse(row.as_bytes()).is_some();
            is_list_line || row.split(',').nth(1).is_some_and(is_own_time)
        });
    }
    if list_lines::parse(first.as_bytes()).is_some() {
        return true;
    }
    let Some((_, rest)) = first
        .strip_prefix("{\"email\":\"")
        .and_then(|rest| rest.split_once("\",\"joined_at\":\""))
    else {
        return false;
    };
    rest.split_once('"')
        .is_none_or(|(joined_at, _)| is_own_time(joined_at))
}

/// Whether `export` could have written a time.
fn is_own_time(text: &str) -> bool {
    time::parse(text).is_ok_and(|time| rfc3339(time) == text)
}
