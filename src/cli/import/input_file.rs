//! Opens the file that a command reads people from.

use std::{
    fs::File,
    io::{self, Cursor, IsTerminal, Read, Seek, Write},
    path::Path,
};

use encoding_rs_io::DecodeReaderBytesBuilder;

/// The number of bytes by which UTF-16 is recognized.
const BOM_MAX_BYTES: u64 = 4;
const UTF_32_LE_BOM: &[u8] = b"\xff\xfe\0\0";
const UTF_16_BOMS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// Returns the name of a file for messages. Control characters are escaped, so that it stays on one line.
pub(in crate::cli) fn display_name(path: Option<&Path>) -> String {
    let Some(file) = path else {
        return "standard input".into();
    };
    let mut escaped = String::new();
    for c in file.display().to_string().chars() {
        if c.is_control() {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Opens a file, or standard input. Input that is not a regular file, or is in UTF-16, is copied to a temporary file
/// first, because it is read more than once. The temporary file is in UTF-8, has no name and disappears with this
/// process.
pub(in crate::cli) fn open(path: Option<&Path>) -> io::Result<File> {
    let mut input: Box<dyn Read> = match path {
        Some(path) => {
            let mut file = File::open(path)?;
            if file.metadata()?.is_file() {
                let is_utf8 = !is_utf16(&read_beginning(&mut file)?);
                file.rewind()?;
                if is_utf8 {
                    return Ok(file);
                }
            }
            Box::new(file)
        }
        None => {
            if io::stdin().is_terminal() {
                // Whoever types sees the prompt of the terminal anyway.
                let _ = writeln!(
                    io::stderr(),
                    "landing: type one address per line, and finish with Ctrl-D"
                );
            }
            Box::new(io::stdin().lock())
        }
    };
    let beginning = read_beginning(&mut input)?;
    let is_utf16 = is_utf16(&beginning);
    let mut input: Box<dyn Read> = Box::new(Cursor::new(beginning).chain(input));
    if is_utf16 {
        input = Box::new(DecodeReaderBytesBuilder::new().strip_bom(true).build(input));
    }
    let mut temp_file = tempfile::tempfile()?;
    io::copy(&mut input, &mut temp_file)?;
    temp_file.rewind()?;
    Ok(temp_file)
}

/// Whether a file begins with the byte order mark of UTF-16. In UTF-32, a null character would follow.
fn is_utf16(beginning: &[u8]) -> bool {
    !beginning.starts_with(UTF_32_LE_BOM) && UTF_16_BOMS.iter().any(|it| beginning.starts_with(it))
}

/// Reads the bytes that show whether a file is in UTF-16.
fn read_beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    input.take(BOM_MAX_BYTES).read_to_end(&mut beginning)?;
    Ok(beginning)
}
