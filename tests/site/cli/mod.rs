//! Runs the commands with a list in three places: in a directory, in a directory that a server has locked,
//! and in a database that a server uses as well.

mod backup;
pub(crate) mod backup_file;
mod blocked_stdout;
mod check;
mod clock_skew;
pub(crate) mod compact;
mod control_socket;
mod health;
mod import_files;
mod import_presets;
mod import_transcripts;
mod interruption;
mod progress;
mod send;
mod send_dkim;
mod send_failures;
mod send_ledger;
pub(crate) mod transcripts;
mod usage;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::{
    cli::{Person, import_dry_run},
    waitlist::DatabaseUrl,
};
use ring::digest::{SHA256, digest};
use serde_json::Value;

use crate::{
    ended::{Ended, RunToEnd},
    postgres_server::SHARED_SERVER,
    process::{Sandbox, ServerProcess},
    raw_store::open_database,
};

/// A place in which a test runs commands.
pub(super) struct TestCli {
    sandbox: Sandbox,
    server: Option<ServerProcess>,
    /// The URL of the database, if the list is in one.
    database: Option<String>,
}

/// Returns the three places a list can be in. The directory without a server has no list yet, the other lists
/// are empty.
pub(super) fn all_stores() -> [TestCli; 3] {
    [without_server(), with_server(), with_database()]
}

/// Like [`all_stores`], with three people on each list.
pub(super) fn with_three_people() -> [TestCli; 3] {
    all_stores().map(TestCli::with_three_people)
}

/// Returns a directory without a server and without a list.
pub(super) fn without_server() -> TestCli {
    TestCli {
        sandbox: Sandbox::new(),
        server: None,
        database: None,
    }
}

/// Returns a directory whose empty list a server has locked.
pub(super) fn with_server() -> TestCli {
    let sandbox = Sandbox::new();
    TestCli {
        server: Some(sandbox.serve()),
        sandbox,
        database: None,
    }
}

/// Returns an empty list in a database that a server uses as well.
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

/// Returns a directory, with or without a server, whose list has one record with this content. It is written
/// with sled itself, because the program would reject it.
fn with_raw_record(record: &[u8], is_served: bool) -> TestCli {
    let sandbox = Sandbox::new();
    write_raw_records(&sandbox, [(0, record.to_vec())]);
    TestCli {
        server: is_served.then(|| sandbox.serve()),
        sandbox,
        database: None,
    }
}

/// Creates a list and writes records with sled itself. The first record, number 0, would otherwise hold one
/// person.
fn write_raw_records(sandbox: &Sandbox, records: impl IntoIterator<Item = (u64, Vec<u8>)>) {
    sandbox.serve().join("ann@example.com");
    let database = open_database(&sandbox.path().join("data/waitlist"));
    let entries = database.open_tree("entries").expect("a tree");
    for (number, record) in records {
        let written = entries.insert(number.to_be_bytes(), record);
        written.expect("writable");
    }
}

impl TestCli {
    fn landing(&self) -> process::Command {
        self.command_for(env!("CARGO_BIN_EXE_landing"))
    }

    /// Returns a command that runs another program in the sandbox, such as a shell.
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

    /// Imports this number of people: `p0@example.com` and so on.
    fn import_people(&self, count: usize) {
        let rows = (0..count).map(|number| format!("p{number}@example.com\n"));
        self.run_with_input(&["import"], rows.collect::<String>())
            .success();
    }

    fn run(&self, args: &[&str]) -> Ended {
        self.landing().args(args).run()
    }

    /// Runs a command with this standard input.
    fn run_with_input(&self, args: &[&str], input: impl Into<Vec<u8>>) -> Ended {
        self.landing().args(args).run_with_input(input)
    }

    /// Runs a command that must fail with this text in its error.
    #[track_caller]
    fn assert_fails(&self, args: &[&str], part: impl AsRef<str>) {
        assert_contains(stderr(&self.run(args).code(1)), part);
    }

    /// Runs a command that must succeed without writing to standard error, and returns its output.
    fn stdout(&self, args: &[&str]) -> String {
        let result = self.run(args).success();
        assert_eq!(stderr(&result), "", "standard error");
        stdout(&result)
    }

    /// Runs a command with `--json` and returns its output.
    fn json(&self, args: &[&str]) -> Value {
        let stdout = stdout(&self.run(&[args, &["--json"]].concat()));
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("not JSON: {stdout}"))
    }

    /// The same for a command that prints a list, with an object per line.
    fn json_lines(&self, args: &[&str]) -> Value {
        let stdout = stdout(&self.run(&[args, &["--json"]].concat()));
        let values = stdout
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        Value::Array(values.collect())
    }

    /// Runs a command in a shell that finds the program, and this mail server. Returns what it prints, and its exit code
    /// unless that is 0.
    fn shell(&self, command: &str, smtp: &str) -> String {
        let mut shell = self.shell_command(&format!("exec 2>&1; {command}"), smtp);
        let output = shell.output().expect("a shell");
        let mut printed = String::from_utf8(output.stdout).expect("text");
        if let Some(code @ 1..) = output.status.code() {
            printed += &format!("[exit {code}]\n");
        }
        printed
    }

    /// Returns a shell that runs a command, with the functions of `transcripts.sh`.
    fn shell_command(&self, command: &str, smtp: &str) -> process::Command {
        let mut shell = self.command_for("bash");
        let programs = Path::new(env!("CARGO_BIN_EXE_landing")).parent();
        let programs = programs.expect("a directory").display();
        let path = env::var("PATH").unwrap_or_default();
        let server = self.server.as_ref();
        let site = server.map(|server| format!("http://{}", server.addr));
        shell.envs([
            ("PATH", &*format!("{programs}:{path}")),
            ("FIXTURES", fixture("").to_str().expect("UTF-8")),
            ("SITE", &site.unwrap_or_default()),
            ("LANDING_SMTP", smtp),
            ("LANDING_MAIL_FROM", "Steward <hello@steward.example>"),
            ("LANDING_ORIGIN", "https://steward.example"),
            (
                "LANDING_POSTAL_ADDRESS",
                "Steward, 1 Main Street, Springfield",
            ),
        ]);
        let script = format!("set -o pipefail; . $FIXTURES/transcripts.sh; {command}");
        shell.args(["-c", &script]);
        shell
    }

    /// Runs a command on a terminal. Returns everything that it showed there.
    #[cfg(target_os = "linux")]
    fn shown_on_terminal(&self, command: &str) -> String {
        let command = format!("'{}' {command}", env!("CARGO_BIN_EXE_landing"));
        // `script` of util-linux makes the terminal.
        let mut script = self.command_for("script");
        script
            .args(["-qec", &command, "/dev/null"])
            .env("TERM", "xterm");
        let output = script.output().expect("script runs");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {shown}");
        shown
    }

    /// Returns the lines of `list`, oldest first.
    fn listed(&self) -> Vec<String> {
        let list = self.stdout(&["list"]);
        list.lines().rev().map(str::to_owned).collect()
    }

    /// Returns how errors name the list.
    fn location(&self) -> String {
        match &self.database {
            Some(url) => url.parse::<DatabaseUrl>().expect("a URL").to_string(),
            None => self.file("data").display().to_string(),
        }
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

    /// Returns the names in the sandbox, sorted.
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

#[track_caller]
fn assert_contains(text: impl AsRef<str>, part: impl AsRef<str>) {
    let (text, part) = (text.as_ref(), part.as_ref());
    assert!(text.contains(part), "no {part:?} in: {text}");
}

/// Returns the addresses on a list, sorted.
fn addresses(cli: &TestCli) -> Vec<String> {
    let listed = cli.listed();
    let addresses = listed.iter().filter_map(|line| line.split('\t').nth(1));
    let mut addresses: Vec<_> = addresses.map(str::to_owned).collect();
    addresses.sort();
    addresses
}

/// Returns the people of a file, as an import with these options reads them, or why it does not.
fn dry_run(file: impl AsRef<[u8]>, options: &[&str]) -> anyhow::Result<Vec<Person>> {
    import_dry_run(file.as_ref(), options)
}

fn stdout(result: &Ended) -> String {
    result.stdout()
}

fn stderr(result: &Ended) -> String {
    result.stderr()
}

/// Returns the path of a file that tests share, such as an export of another program.
fn fixture(name: &str) -> PathBuf {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/site/cli/fixtures");
    files.join(name)
}

/// Returns the SHA-256 of a text, in hexadecimal.
fn sha256(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let bytes = digest.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns a CSV file with this number of people, as `export` writes it, without the byte order mark.
fn people_csv(people: usize) -> String {
    let mut file = String::from("email,joined_at,source,confirmed_at\n");
    for number in 0..people {
        let time = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + number as u64);
        file += &format!("person{number}@example.com,{},,\n", rfc3339(time));
    }
    file
}

fn rfc3339(time: SystemTime) -> String {
    let time = jiff::Timestamp::try_from(time).expect("a supported time");
    format!("{time:.3}")
}
