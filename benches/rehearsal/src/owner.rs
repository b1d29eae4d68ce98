//! What the owner does while the site is in use: commands, and restarts.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    process::{Command, Stdio},
    sync::Arc,
};

use anyhow::{Context, ensure};

use crate::{
    environment::ORIGIN_OPTION,
    expected_list::{Differences, ExpectedList},
    server::{Program, RunDirectory, SiteSocket},
};

/// People in a file that is imported, and people who are erased at once.
const PEOPLE: usize = 50;

/// The owner of a list that is in use.
pub(crate) struct Owner {
    pub(crate) run_directory: RunDirectory,
    pub(crate) socket: SiteSocket,
    pub(crate) server: Program,
    pub(crate) expected: Arc<ExpectedList>,
    imports: usize,
    /// How often each command was run.
    pub(crate) commands: BTreeMap<String, usize>,
    /// The warnings and errors in the log, and how often each came.
    pub(crate) warnings: BTreeMap<String, usize>,
}

impl Owner {
    pub(crate) fn new(
        run_directory: RunDirectory,
        socket: SiteSocket,
        server: Program,
        expected: Arc<ExpectedList>,
    ) -> Self {
        Self {
            run_directory,
            socket,
            server,
            expected,
            imports: 0,
            commands: BTreeMap::new(),
            warnings: BTreeMap::new(),
        }
    }

    /// Exports the list, imports that file, imports new people, and erases as many.
    ///
    /// # Errors
    /// If a command fails.
    pub(crate) fn export_import_erase(&mut self) -> anyhow::Result<()> {
        self.run("export -o list.csv")?;
        // Everybody in it is listed already.
        self.run("import list.csv")?;
        let emails: Vec<_> = (0..PEOPLE)
            .map(|person| format!("{person}.{}@import.example", self.imports))
            .collect();
        self.imports += 1;
        self.write_emails("people.csv", &emails)?;
        self.run("import people.csv")?;
        self.expected.add_imported(emails);
        let gone = self.expected.choose(PEOPLE);
        self.write_emails("gone.csv", &gone)?;
        self.run("erase --file gone.csv")?;
        self.expected.set_erased(gone);
        Ok(())
    }

    /// Looks at the list.
    ///
    /// # Errors
    /// If a command fails.
    pub(crate) fn run_reports(&mut self) -> anyhow::Result<()> {
        self.run("report -o report.html")?;
        self.run("stats")?;
        self.run("check")
    }

    /// Stops the server with a signal, and starts it again. Its socket stays open.
    ///
    /// # Errors
    /// If it does not stop or start.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        let status = self.server.stop()?;
        ensure!(status.success(), "the server has stopped with {status}");
        self.read_log()?;
        let log = self.run_directory.path("log");
        self.server = self
            .socket
            .serve(&self.run_directory, &log, &[ORIGIN_OPTION])?;
        *self.commands.entry("restart".into()).or_default() += 1;
        Ok(())
    }

    /// Exports the list, and compares it with the expected one.
    ///
    /// # Errors
    /// If the export fails.
    pub(crate) fn compare(&mut self) -> anyhow::Result<Differences> {
        let before = self.expected.snapshot();
        self.run("export -o compare.csv")?;
        let later = self.expected.snapshot();
        let list = fs::read_to_string(self.run_directory.path("compare.csv"))?;
        // The first cell of each line but the header row; the last line is a comment with a checksum.
        let emails = list
            .lines()
            .filter_map(|line| line.split(',').find(|cell| cell.contains('@')))
            .map(str::to_owned)
            .collect::<Vec<_>>();
        Ok(before.compare(&later, &emails))
    }

    /// Returns the number of people that the command `count` prints.
    ///
    /// # Errors
    /// If it fails.
    pub(crate) fn count(&self) -> anyhow::Result<usize> {
        let output = self.run_directory.landing(&["count"]).output()?;
        let number = String::from_utf8(output.stdout)?;
        number.trim().parse().context("no count")
    }

    /// Collects the warnings and errors of the log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub(crate) fn read_log(&mut self) -> anyhow::Result<()> {
        let log = fs::read_to_string(self.run_directory.path("log"))?;
        for line in log.lines() {
            let message = ["WARN ", "ERROR "]
                .iter()
                .find_map(|it| line.split_once(it));
            if let Some((_, message)) = message {
                *self.warnings.entry(message.to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    fn run(&mut self, command: &str) -> anyhow::Result<()> {
        let words: Vec<_> = command.split(' ').collect();
        let mut command: Command = self.run_directory.landing(&words);
        let output = command.stdin(Stdio::null()).output()?;
        ensure!(output.status.success(), "{words:?} failed: {output:?}");
        *self.commands.entry(words[0].to_owned()).or_default() += 1;
        Ok(())
    }

    fn write_emails(&self, file: &str, emails: &[String]) -> anyhow::Result<()> {
        let mut file = fs::File::create(self.run_directory.path(file))?;
        writeln!(file, "Email Address,OPTIN_TIME")?;
        for email in emails {
            writeln!(file, "{email},2026-11-01 08:00:00")?;
        }
        Ok(())
    }
}
