//! Questions on a terminal.

use std::io::{self, BufRead, IsTerminal, Write};

/// A terminal, or the texts that a test uses instead.
pub(crate) struct Terminal<'a> {
    pub(crate) input: Box<dyn BufRead + 'a>,
    pub(crate) output: Box<dyn Write + 'a>,
}

impl Terminal<'_> {
    /// Returns the terminal of the program, if somebody can answer.
    pub(crate) fn open() -> Option<Self> {
        let can_ask = io::stdin().is_terminal() && io::stderr().is_terminal();
        can_ask.then(|| Self {
            input: Box::new(io::stdin().lock()),
            output: Box::new(io::stderr()),
        })
    }

    /// Asks for a line.
    ///
    /// # Errors
    /// Also at the end of the input, which is [`io::ErrorKind::UnexpectedEof`].
    pub(crate) fn line(&mut self, question: &str) -> io::Result<String> {
        write!(self.output, "{question} ")?;
        self.output.flush()?;
        let mut answer = String::new();
        if self.input.read_line(&mut answer)? == 0 {
            let error = "there was no answer";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, error));
        }
        Ok(answer.trim().to_owned())
    }

    /// Asks until one of these keys is pressed.
    ///
    /// # Errors
    /// Also at the end of the input.
    pub(crate) fn key(&mut self, question: &str, keys: &str) -> io::Result<char> {
        let choice: Vec<_> = keys.chars().map(String::from).collect();
        let question = format!("{question} [{}]", choice.join("/"));
        loop {
            let key = self.line(&question)?.to_lowercase().chars().next();
            if let Some(key) = key.filter(|key| keys.contains(*key)) {
                return Ok(key);
            }
        }
    }
}
