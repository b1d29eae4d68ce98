//! The formats of earlier versions, which a migration reads.

use super::{
    bytes::parse_u64,
    contents::ParseRecord,
    record::{self, RecordItem, StoredEntry},
};

/// An earlier format that can be migrated.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlierFormat {
    pub(super) version: u64,
    pub(super) parse: ParseRecord,
}

/// The formats that can be migrated.
const EARLIER_FORMATS: [EarlierFormat; 2] = [
    EarlierFormat {
        version: 2,
        parse: parse_format_2,
    },
    EarlierFormat {
        version: 3,
        parse: parse_format_3,
    },
];

/// Returns the format with this version, if it can be migrated.
pub(super) fn earlier_format(version: u64) -> Option<EarlierFormat> {
    EARLIER_FORMATS
        .into_iter()
        .find(|format| format.version == version)
}

/// Parses a record of format 2, which has no sources and no facts. An entry is the length of the address (one byte),
/// the time (big-endian) and the address. An erased entry is only the byte 0.
fn parse_format_2<'a>(key: &[u8], bytes: &'a [u8]) -> Option<(u64, Vec<RecordItem<'a>>)> {
    let first = u64::from_be_bytes(key.try_into().ok()?);
    let mut items = Vec::new();
    let mut remaining = bytes;
    while let Some((&len, rest)) = remaining.split_first() {
        remaining = rest;
        if len == 0 {
            items.push(RecordItem::ErasedEntry);
            continue;
        }
        let joined_at_millis = parse_u64(&mut remaining)?;
        let (address, rest) = remaining.split_at_checked(len.into())?;
        remaining = rest;
        items.push(RecordItem::Entry(StoredEntry {
            joined_at_millis,
            address: str::from_utf8(address).ok()?,
            source: "",
        }));
    }
    Some((first, items))
}

/// Parses a record of format 3, which has only entries and facts.
fn parse_format_3<'a>(key: &[u8], bytes: &'a [u8]) -> Option<(u64, Vec<RecordItem<'a>>)> {
    let (first, items) = record::parse(key, bytes)?;
    let is_known = |item: &RecordItem<'_>| {
        use RecordItem::{Entry, ErasedEntry, ErasedFact, Fact};
        matches!(item, Entry(_) | Fact(_) | ErasedEntry | ErasedFact)
    };
    items.iter().all(is_known).then_some((first, items))
}
