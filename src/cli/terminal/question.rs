//! Questions on a terminal.

use std::io::{self, IsTerminal, Write};

/// Returns whether somebody can answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until one of these keys is pressed.
///
/// # Errors
/// Also at the end of the input.
pub(crate) fn ask(question: &str, keys: &str) -> io::Result<char> {
    let choice: Vec<_> = keys.chars().map(String::from).collect();
    let question = format!("{question} [{}]", choice.join("/"));
    loop {
        write!(io::stderr(), "{question} ")?;
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer)? == 0 {
            return Err(io::Error::other("there was no answer"));
        }
        let key = answer.trim().to_lowercase().chars().next();
        if let Some(key) = key.filter(|key| keys.contains(*key)) {
            return Ok(key);
        }
    }
}
