//! The file that `import` reads, and whether it is as `export` wrote it.

use std::{
    fs::File,
    io::{self, BufReader, IsTerminal, Read, Seek, SeekFrom},
    path::Path,
};

use sha2::{Digest, Sha256};

use super::export_format::{Trailer, hex, is_own_export};

/// Opens a file. A pipe is copied to a temporary file first, because the input is read more than once.
pub(crate) fn open(from: Option<&Path>) -> io::Result<File> {
    let mut from: Box<dyn Read> = match from {
        Some(path) => {
            let file = File::open(path)?;
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            Box::new(file)
        }
        None => {
            if io::stdin().is_terminal() {
                eprintln!("landing: type addresses, one a line, and end with Ctrl-D");
            }
            Box::new(io::stdin().lock())
        }
    };
    // Before anybody of it is put on the list it is seen whether it is whole. The file has no name and is
    // gone with this process.
    let mut temp_file = tempfile::tempfile()?;
    io::copy(&mut from, &mut temp_file)?;
    temp_file.rewind()?;
    Ok(temp_file)
}

/// Longer than any line that `export` writes.
const TRAILER_MAX_BYTES: u64 = 1024;

/// Compares a file with its last line, and returns what that says; nothing when it is of another program.
pub(crate) fn verify_trailer(mut file: &File) -> io::Result<Option<Trailer>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRAILER_MAX_BYTES)))?;
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

    let rest = length - (end.len() - start) as u64;
    let mut hash = Sha256::new();
    let is_intact = match &trailer {
        Some(trailer) => {
            io::copy(
                &mut BufReader::with_capacity(1 << 16, file).take(rest),
                &mut hash,
            )?;
            hex(hash) == trailer.sha256
        }
        None => {
            let mut beginning = Vec::new();
            file.take(TRAILER_MAX_BYTES).read_to_end(&mut beginning)?;
            !is_own_export(&beginning)
        }
    };
    file.rewind()?;
    if is_intact {
        return Ok(trailer);
    }
    Err(io::Error::other(
        "it is an export, and not as it was: it was changed, or its end is missing. Take the original, or \
         say --changed if that is on purpose",
    ))
}
