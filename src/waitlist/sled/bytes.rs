//! Reads the parts of stored items. Each function removes what it reads from the beginning of the bytes, and returns
//! `None` if they end too early or are invalid.

use super::super::suppression::AddressHash;

pub(super) fn parse_u8(bytes: &mut &[u8]) -> Option<u8> {
    parse_array(bytes).map(u8::from_be_bytes)
}

pub(super) fn parse_u16(bytes: &mut &[u8]) -> Option<u16> {
    parse_array(bytes).map(u16::from_be_bytes)
}

pub(super) fn parse_u32(bytes: &mut &[u8]) -> Option<u32> {
    parse_array(bytes).map(u32::from_be_bytes)
}

pub(super) fn parse_u64(bytes: &mut &[u8]) -> Option<u64> {
    parse_array(bytes).map(u64::from_be_bytes)
}

pub(super) fn parse_hash(bytes: &mut &[u8]) -> Option<AddressHash> {
    let hash: [u8; size_of::<AddressHash>()] = parse_array(bytes)?;
    AddressHash::from_slice(&hash)
}

/// Reads a text of at most 255 bytes after its length.
pub(super) fn parse_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let len = parse_u8(bytes)?;
    let (text, rest) = bytes.split_at_checked(len.into())?;
    *bytes = rest;
    str::from_utf8(text).ok()
}

pub(super) fn parse_array<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*array)
}
