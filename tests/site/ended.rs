//! Runs a command to its end, and checks how it ended.

use std::{
    fmt,
    io::Write,
    process::{Command, Output, Stdio},
    thread,
};

/// Adds [`Ended`] to a command.
pub(crate) trait RunToEnd {
    /// Runs without standard input.
    fn run(&mut self) -> Ended;

    /// Runs with this standard input.
    fn run_with_input(&mut self, input: impl Into<Vec<u8>>) -> Ended;
}

impl RunToEnd for Command {
    fn run(&mut self) -> Ended {
        let output = self.output().expect("the program starts");
        Ended {
            command: format!("{self:?}"),
            output,
        }
    }

    fn run_with_input(&mut self, input: impl Into<Vec<u8>>) -> Ended {
        self.stdin(Stdio::piped());
        self.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.into();
        // Beside it, because the program may write before it has read everything. It may also end before that.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().expect("the program ends");
        writer.join().expect("no panic");
        Ended {
            command: format!("{self:?}"),
            output,
        }
    }
}

/// A command that has ended.
pub(crate) struct Ended {
    command: String,
    output: Output,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, output } = self;
        let [stdout, stderr] =
            [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        write!(f, "{command}: {}\n{stdout}\n{stderr}", output.status)
    }
}

impl Ended {
    /// Expects exit code 0.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        self.code(0)
    }

    /// Expects exit code 1.
    #[track_caller]
    pub(crate) fn failure(self) -> Self {
        self.code(1)
    }

    /// Expects this exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(self.output.status.code(), Some(code), "{self}");
        self
    }

    pub(crate) fn get_output(&self) -> &Output {
        &self.output
    }

    /// Returns what the command wrote to standard output.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).expect("text")
    }

    /// Returns what the command wrote to standard error.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).expect("text")
    }
}
