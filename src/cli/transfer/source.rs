//! Opens the file that `import` reads.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Seek},
    path::Path,
};

/// Opens a file, or standard input. Input that is not a regular file is copied to a temporary file first,
/// because it is read more than once. The temporary file has no name and disappears with this process.
pub(crate) fn open(path: Option<&Path>) -> io::Result<File> {
    let mut input: Box<dyn Read> = match path {
        Some(path) => {
            let file = File::open(path)?;
            if file.metadata()?.is_file() {
                return Ok(file);
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
    io::copy(&mut input, &mut temp_file)?;
    temp_file.rewind()?;
    Ok(temp_file)
}
