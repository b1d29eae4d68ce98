//! Questions on a terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// A terminal, or the texts that a test uses instead.
pub(crate) struct Terminal<'a> {
    pub(crate) input: &'a mut dyn BufRead,
    pub(crate) output: &'a mut dyn Write,
}

/// Returns whether somebody can answer.
pub(crate) fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on the terminal of the program until one of these keys is pressed. Returns `None` at the end of the input.
pub(crate) fn ask(question: &str, keys: &str) -> io::Result<Option<char>> {
    let mut terminal = Terminal {
        input: &mut io::stdin().lock(),
        output: &mut io::stderr().lock(),
    };
    terminal.key(question, keys)
}

impl Terminal<'_> {
    /// Asks for a line. Returns `None` at the end of the input.
    pub(crate) fn line(&mut self, question: &str) -> io::Result<Option<String>> {
        write!(self.output, "{question} ")?;
        self.output.flush()?;
        let mut answer = String::new();
        let read = self.input.read_line(&mut answer)?;
        Ok((read > 0).then(|| answer.trim().to_owned()))
    }

    /// Asks until one of these keys is pressed. Returns `None` at the end of the input.
    pub(crate) fn key(&mut self, question: &str, keys: &str) -> io::Result<Option<char>> {
        let choice: Vec<_> = keys.chars().map(String::from).collect();
        let question = format!("{question} [{}]", choice.join("/"));
        while let Some(answer) = self.line(&question)? {
            let key = answer.to_lowercase().chars().next();
            if let Some(key) = key.filter(|key| keys.contains(*key)) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}
