//! Opens the file that `import` reads.

use std::{
    fs::File,
    io::{self, Cursor, IsTerminal, Read, Seek},
    path::Path,
};

use encoding_rs_io::DecodeReaderBytesBuilder;

use super::{
    encoding::{BOM_MAX_BYTES, is_utf16},
    text::escape_control,
};

/// Returns the name of a file for messages.
pub(crate) fn display_name(path: Option<&Path>) -> String {
    path.map_or("standard input".into(), |file| {
        escape_control(&file.display().to_string())
    })
}

/// Opens a file, or standard input. Input that is not a regular file, or is in UTF-16, is copied to a temporary file
/// first, because it is read more than once. The temporary file is in UTF-8, has no name and disappears with this
/// process.
pub(crate) fn open(path: Option<&Path>) -> io::Result<File> {
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
                eprintln!("landing: type one address per line, and finish with Ctrl-D");
            }
            Box::new(io::stdin().lock())
        }
    };
    let mut temp_file = tempfile::tempfile()?;
    let beginning = read_beginning(&mut input)?;
    let is_utf16 = is_utf16(&beginning);
    let mut input = Cursor::new(beginning).chain(input);
    if is_utf16 {
        let mut decoded = DecodeReaderBytesBuilder::new().strip_bom(true).build(input);
        io::copy(&mut decoded, &mut temp_file)?;
    } else {
        io::copy(&mut input, &mut temp_file)?;
    }
    temp_file.rewind()?;
    Ok(temp_file)
}

/// Reads the bytes that show whether a file is in UTF-16.
fn read_beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut beginning = Vec::new();
    input.take(BOM_MAX_BYTES).read_to_end(&mut beginning)?;
    Ok(beginning)
}
