//! The owner's half: each command as the shell has it, with a server that holds the list, without one, and
//! with the list in a database.

mod blocked_stdout;
mod check;
mod clock_skew;
mod control_socket;
mod erase;
mod export;
mod export_shared_directory;
mod import;
mod import_duplicates;
mod import_flags;
mod import_formats;
mod import_limits;
mod import_status_columns;
mod import_unsubscribed;
mod interruption;
mod list;
mod readme_examples;
mod stats;
mod usage;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use assert_cmd::{Command, assert::Assert};
use serde_json::Value;

use crate::{
    postgres_server::SHARED_SERVER,
    process::{Sandbox, ServerProcess},
};

/// A place with a list, or without one yet.
pub(super) struct TestCli {
    sandbox: Sandbox,
    server: Option<ServerProcess>,
    /// The database that the list is in, if it is in one.
    database: Option<String>,
}

/// Wherever a list can be, without one or with an empty one.
pub(super) fn all_stores() -> [TestCli; 3] {
    [without_server(), with_server(), with_database()]
}

/// The same with three people on the list.
pub(super) fn with_three_people() -> [TestCli; 3] {
    all_stores().map(TestCli::with_three_people)
}

/// A directory that no server holds.
pub(super) fn without_server() -> TestCli {
    TestCli {
        sandbox: Sandbox::new(),
        server: None,
        database: None,
    }
}

/// A directory that a server holds.
pub(super) fn with_server() -> TestCli {
    let sandbox = Sandbox::new();
    TestCli {
        server: Some(sandbox.serve()),
        sandbox,
        database: None,
    }
}

/// A database that a server uses too.
pub(super) fn with_database() -> TestCli {
    let (sandbox, database) = (Sandbox::new(), SHARED_SERVER.create_database());
    let mut command = sandbox.command();
    command.env("DATABASE_URL", &database);
    TestCli {
        server: Some(ServerProcess::start(command)),
        sandbox,
        database: Some(database),
    }
}

impl TestCli {
    fn command(&self) -> Command {
        self.command_for(env!("CARGO_BIN_EXE_landing")).into()
    }

    /// Another program, that calls this one.
    fn command_for(&self, program: &str) -> process::Command {
        let mut command = process::Command::new(program);
        let path = env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path);
        if let Some(database) = &self.database {
            command.env("DATABASE_URL", database);
        }
        command.current_dir(self.sandbox.path());
        command
    }

    fn with_three_people(self) -> Self {
        let three = "email,joined_at\n\
                     ann@example.com,2026-11-01T08:00:00Z\n\
                     Bob@Example.com,2026-11-02T08:00:00.250Z\n\
                     cyd@example.com,2026-11-03T08:00:00Z\n";
        self.run_with_input(&["import"], three).success();
        self
    }

    /// Runs a command.
    fn run(&self, args: &[&str]) -> Assert {
        self.command().args(args).assert()
    }

    /// Runs a command that reads.
    fn run_with_input(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Assert {
        self.command().args(args).write_stdin(input).assert()
    }

    /// What a command prints that succeeds.
    fn stdout(&self, args: &[&str]) -> String {
        let done = self.run(args).success();
        assert_eq!(stderr(&done), "", "a pipe is told nothing else");
        stdout(&done)
    }

    /// The JSON that a command prints.
    fn json(&self, args: &[&str]) -> Value {
        let stdout = stdout(&self.run(&[args, &["--json"]].concat()));
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("no JSON: {stdout}"))
    }

    /// The lines of the list, the oldest first.
    fn listed(&self) -> Vec<String> {
        let list = self.stdout(&["list"]);
        list.lines().rev().map(str::to_owned).collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.path().join(name)
    }

    fn write(&self, name: &str, body: impl AsRef<[u8]>) {
        fs::write(self.file(name), body).expect("writable");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("readable")
    }

    fn file_names(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.sandbox.path())
            .expect("readable")
            .map(|entry| {
                entry
                    .expect("readable")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

fn stdout(done: &Assert) -> String {
    String::from_utf8(done.get_output().stdout.clone()).expect("text")
}

/// The count that a dry run prints, or everything it prints if there is no count.
fn dry_run_counts(cli: &TestCli, file: &str) -> String {
    dry_run_counts_with(cli, file, &[])
}

/// The same with more options.
fn dry_run_counts_with(cli: &TestCli, file: &str, options: &[&str]) -> String {
    let args = [&["import", "--dry-run"], options].concat();
    let done = cli.run_with_input(&args, file);
    let report = stdout(&done);
    let counts = report.lines().find(|line| line.contains(" would be added"));
    counts.map_or_else(|| report.clone() + &stderr(&done), str::to_owned)
}

fn stderr(done: &Assert) -> String {
    String::from_utf8(done.get_output().stderr.clone()).expect("text")
}

/// A file of another program.
fn fixture(name: &str) -> PathBuf {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/site/cli/fixtures");
    files.join(name)
}

/// A file of so many people, as `export` has it but for its end.
fn people_csv(people: usize) -> String {
    let mut file = String::from("email,joined_at\n");
    for number in 0..people {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
        file += &format!("person{number}@example.com,{}\n", rfc3339(time));
    }
    file
}

fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).expect("a time of this age");
    format!("{time:.3}")
}
