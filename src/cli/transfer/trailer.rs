//! The last line of an export, by which `import` detects a file that was changed or cut off.

use std::{
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::ImportError;

/// The header row of a CSV export. A file that begins with it is recognized as an export, even without its last line.
/// So a change must still recognize the rows that earlier versions wrote.
pub(crate) const HEADER: &str = "email,joined_at";

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
    pub(crate) fn new(entries: u64, hash: Sha256) -> Self {
        let sha256 = format!("{:x}", hash.finalize());
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
/// [`ImportError::ChangedExport`] and [`ImportError::Io`].
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

    let is_intact = match &trailer {
        Some(trailer) => {
            let hashed_bytes = length - (end.len() - start) as u64;
            let mut hashed = BufReader::with_capacity(1 << 16, file).take(hashed_bytes);
            let mut hash = Sha256::new();
            io::copy(&mut hashed, &mut hash)?;
            Trailer::new(trailer.entries, hash) == *trailer
        }
        None => {
            let mut beginning = Vec::new();
            file.take(EXPORT_LINE_MAX_BYTES)
                .read_to_end(&mut beginning)?;
            !is_own_export(&beginning)
        }
    };
    file.rewind()?;
    if is_intact {
        Ok(trailer)
    } else {
        Err(ImportError::ChangedExport)
    }
}

/// Whether `export` wrote the file that begins like this.
fn is_own_export(beginning: &[u8]) -> bool {
    let first = beginning.split(|byte| *byte == b'\n').next();
    let first = String::from_utf8_lossy(first.unwrap_or_default());
    let first = first.trim_end();
    first.strip_prefix(BYTE_ORDER_MARK) == Some(HEADER)
        || first.starts_with("{\"email\":\"") && first.contains("\",\"joined_at\":\"")
}
