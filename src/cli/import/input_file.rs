//! Opens the file that a command reads.

use std::{
    fs::File,
    io::{self, Read, Seek},
    path::Path,
};

/// Returns the name of a file for messages.
pub(in crate::cli) fn display_name(path: Option<&Path>) -> String {
    path.map_or("standard input".into(), |file| file.display().to_string())
}

/// Opens a file, or standard input. Input that is not a regular file is copied to a temporary file first, because it is
/// read more than once. The temporary file has no name and disappears with this process.
pub(in crate::cli) fn open(path: Option<&Path>) -> io::Result<File> {
    let mut input: Box<dyn Read> = match path {
        Some(path) => {
            let file = File::open(path)?;
            if file.metadata()?.is_file() {
                return Ok(file);
            }
            Box::new(file)
        }
        None => Box::new(io::stdin().lock()),
    };
    let mut temp_file = tempfile::tempfile()?;
    io::copy(&mut input, &mut temp_file)?;
    temp_file.rewind()?;
    Ok(temp_file)
}
