//! Detects UTF-16, which some spreadsheets write, and files that are not text.

use super::error::ImportError;

/// Starts a CSV export, because spreadsheets recognize UTF-8 by it.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The number of bytes by which [`is_utf16`] recognizes a file.
pub(crate) const BOM_MAX_BYTES: u64 = 4;

/// The number of bytes in which null bytes are searched for. Text in UTF-16 has one at least at each separator and
/// line break.
const NULL_SEARCH_BYTES: usize = 1 << 10;

const UTF_32_LE_BOM: &[u8] = b"\xff\xfe\0\0";
const UTF_16_BOMS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

const GZIP: &[u8] = b"\x1f\x8b";
/// The files of Excel and LibreOffice are ZIP archives. Old ones of Excel are compound files.
const ARCHIVES: [&[u8]; 7] = [
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\xd0\xcf\x11\xe0",
    b"7z\xbc\xaf",
    b"Rar!\x1a",
    b"\xfd7zXZ\0",
    b"\x28\xb5\x2f\xfd",
];

/// How vCards and LDIF files begin, in lower case.
const ADDRESS_BOOKS: [&[u8]; 4] = [b"begin:vcard", b"dn: ", b"dn:: ", b"version: 1"];

/// Whether a file begins with the byte order mark of UTF-16.
pub(crate) fn is_utf16(beginning: &[u8]) -> bool {
    // In UTF-16, this would be a byte order mark and a null character.
    !beginning.starts_with(UTF_32_LE_BOM) && UTF_16_BOMS.iter().any(|it| beginning.starts_with(it))
}

/// Rejects a file that is not text in UTF-8. `input_file` has decoded UTF-16 with a byte order mark.
///
/// # Errors
/// [`ImportError::Archive`], [`ImportError::Compressed`], [`ImportError::AddressBook`] and
/// [`ImportError::NullBytes`].
pub(crate) fn check_is_text(beginning: &[u8]) -> Result<(), ImportError> {
    if ARCHIVES.iter().any(|it| beginning.starts_with(it)) {
        return Err(ImportError::Archive);
    }
    if beginning.starts_with(GZIP) {
        return Err(ImportError::Compressed);
    }
    let text = beginning.strip_prefix(BYTE_ORDER_MARK.as_bytes());
    let text = text.unwrap_or(beginning).trim_ascii_start();
    let begins_with = |it: &&[u8]| {
        text.get(..it.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(it))
    };
    if ADDRESS_BOOKS.iter().any(begins_with) {
        return Err(ImportError::AddressBook);
    }
    if beginning.iter().take(NULL_SEARCH_BYTES).any(|it| *it == 0) {
        return Err(ImportError::NullBytes);
    }
    Ok(())
}
