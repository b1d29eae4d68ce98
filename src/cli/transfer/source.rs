//! The file that `import` reads, and whether it is as `export` wrote it.

use std::{
    fs::File,
    io::{self, BufReader, IsTerminal, Read, Seek, SeekFrom},
    path::Path,
};

use sha2::{Digest, Sha256};

use super::export_format::{Seal, hex, is_ours};

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
    let mut kept = tempfile::tempfile()?;
    io::copy(&mut from, &mut kept)?;
    kept.rewind()?;
    Ok(kept)
}

/// Longer than any line that `export` writes.
const LINE_MAX: u64 = 1024;

/// Compares a file with its last line, and returns what that says; nothing when it is of another program.
pub(crate) fn seal(mut file: &File) -> io::Result<Option<Seal>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LINE_MAX)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    file.rewind()?;
    let trimmed = end.trim_ascii_end();
    let start = trimmed
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    let seal = str::from_utf8(&trimmed[start..]).ok().and_then(Seal::parse);

    let rest = length - (end.len() - start) as u64;
    let mut hash = Sha256::new();
    let is_whole = match &seal {
        Some(seal) => {
            io::copy(
                &mut BufReader::with_capacity(1 << 16, file).take(rest),
                &mut hash,
            )?;
            hex(hash) == seal.sha256
        }
        None => {
            let mut beginning = Vec::new();
            file.take(LINE_MAX).read_to_end(&mut beginning)?;
            !is_ours(&beginning)
        }
    };
    file.rewind()?;
    if is_whole {
        return Ok(seal);
    }
    Err(io::Error::other(
        "it is an export, and not as it was: it was changed, or its end is missing. Take the original, or \
         say --changed if that is on purpose",
    ))
}
