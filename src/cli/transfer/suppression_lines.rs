//! The suppressed addresses in an export: lines between the entries and the trailer.
//!
//! In CSV they are comments in the first cell, so that no spreadsheet takes them for numbers or formulas:
//! `# list key KEY`, then `# suppressed HASH`. In JSON lines they are `{"list_key":"KEY"}` and
//! `{"suppressed":"HASH"}`. The bytes are in base64url.

use std::{
    fs::File,
    io::{self, BufReader, Seek},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use serde::Deserialize;

use super::line_reader::{Line, next_line};
use crate::waitlist::{AddressHash, ListKey, SuppressionItem};

const CSV_KEY: &str = "# list key ";
const CSV_ADDRESS: &str = "# suppressed ";
/// The beginnings of both kinds of lines in JSON, by which other lines are excluded without parsing them.
const JSON_STARTS: [&[u8]; 2] = [b"{\"list_key", b"{\"suppressed"];

/// A line of a JSON lines file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum JsonLine {
    ListKey(String),
    Suppressed(String),
}

/// Returns the line for a key or a suppressed address in CSV, without its line break.
pub(crate) fn to_csv(item: SuppressionItem) -> String {
    match item {
        SuppressionItem::Key(key) => format!("{CSV_KEY}{}", BASE64.encode(key.as_bytes())),
        SuppressionItem::Address(hash) => {
            format!("{CSV_ADDRESS}{}", BASE64.encode(hash.as_bytes()))
        }
    }
}

/// Returns the line for a key or a suppressed address in JSON, without its line break.
pub(crate) fn to_json(item: SuppressionItem) -> String {
    match item {
        SuppressionItem::Key(key) => {
            format!(r#"{{"list_key":"{}"}}"#, BASE64.encode(key.as_bytes()))
        }
        SuppressionItem::Address(hash) => {
            format!(r#"{{"suppressed":"{}"}}"#, BASE64.encode(hash.as_bytes()))
        }
    }
}

/// Parses a line. A spreadsheet that saved the file may have added quotation marks and separators. Returns `None` for
/// every other line.
pub(crate) fn parse(line: &[u8]) -> Option<SuppressionItem> {
    let line = line.trim_ascii();
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let is_json = JSON_STARTS.iter().any(|start| line.starts_with(start));
    if !is_json && !line.starts_with(b"# ") {
        return None;
    }
    let text = str::from_utf8(line).ok()?;
    let parsed = if is_json {
        serde_json::from_str(text).ok()?
    } else {
        let text = text.trim_end_matches([',', ';', '\t', '"']);
        match text.strip_prefix(CSV_KEY) {
            Some(key) => JsonLine::ListKey(key.to_owned()),
            None => JsonLine::Suppressed(text.strip_prefix(CSV_ADDRESS)?.to_owned()),
        }
    };
    Some(match parsed {
        JsonLine::ListKey(text) => {
            SuppressionItem::Key(ListKey::from_slice(&BASE64.decode(text).ok()?)?)
        }
        JsonLine::Suppressed(text) => {
            SuppressionItem::Address(AddressHash::from_slice(&BASE64.decode(text).ok()?)?)
        }
    })
}

/// Reads the suppressions of an export, and rewinds it.
pub(crate) fn read(mut file: &File) -> io::Result<Vec<SuppressionItem>> {
    let mut lines = BufReader::with_capacity(1 << 16, file);
    let mut items = Vec::new();
    while let Some(line) = next_line(&mut lines)? {
        if let Line::Text(line) = line {
            items.extend(parse(&line));
        }
    }
    file.rewind()?;
    Ok(items)
}
