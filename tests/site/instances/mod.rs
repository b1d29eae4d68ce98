//! Several instances of the server with one database, during failures.
//!
//! - `recorder`: clients that sign up, an owner who erases, and the history of what they did.
//! - `history`: compares the history with the list.

mod database_faults;
mod history;
mod load_balancer;
mod owner;
mod patroni;
mod recorder;

use std::{
    fs::{self, File},
    process::Command,
};

use history::violations;
use patroni::machine::REPORT;
use recorder::Recorder;

use crate::{
    postgres_server::{PostgresServer, free_port},
    process::{Sandbox, ServerProcess, has_stopped, signal, wait_until},
};

/// What the owner of a test adds has addresses of this domain. Nobody signs up with them.
const OWNER_DOMAIN: &str = "@owner.example";

/// An instance of the server, in its own directory.
struct Instance {
    sandbox: Sandbox,
    database: String,
    addr: String,
    running: Option<ServerProcess>,
}

impl Instance {
    fn start(database: &str) -> Self {
        let mut instance = Self {
            sandbox: Sandbox::new(),
            database: database.to_owned(),
            addr: format!("127.0.0.1:{}", free_port()),
            running: None,
        };
        instance.restart();
        instance
    }

    fn restart(&mut self) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command
            .env_clear()
            .current_dir(self.sandbox.path())
            .args(["--addr", &self.addr])
            .args(["--trusted-proxies=127.0.0.1", "--signups-per-minute=0"])
            .env("DATABASE_URL", &self.database);
        let log = self.sandbox.path().join("log");
        let file = File::options().create(true).append(true).open(&log);
        command.stderr(file.expect("writable"));
        self.running = Some(ServerProcess::start_with_log_file(command, &log));
    }

    /// Returns how often the log reports the start and the end of an outage.
    fn outages(&self) -> (usize, usize) {
        let log = self.log_without_requests();
        let count = |text| log.iter().filter(|line| line.contains(text)).count();
        (
            count("nobody can sign up until it is back"),
            count("the database is available again"),
        )
    }

    /// Returns the lines of the log, except those of the requests.
    fn log_without_requests(&self) -> Vec<String> {
        let log = fs::read_to_string(self.sandbox.path().join("log")).expect("readable");
        let lines = log.lines().filter(|line| !line.contains(" answered "));
        lines.map(str::to_owned).collect()
    }

    fn running(&self) -> &ServerProcess {
        self.running.as_ref().expect("the instance runs")
    }

    fn wait_for_exit(&mut self) -> Option<i32> {
        let running = self.running.as_mut();
        running.expect("the instance runs").wait_for_exit()
    }

    fn count(&self) -> u64 {
        self.running().count()
    }

    /// Waits until a path responds with a status.
    fn wait_for(&self, path: &str, status: &str) {
        wait_until(&format!("{path} is {status}"), || {
            self.status(path) == status
        });
    }

    fn status(&self, path: &str) -> String {
        let response = self.running().request("GET", path, "");
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }
}

/// A command on the list in a database.
fn landing(url: &str, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().env("DATABASE_URL", url).args(args);
    command
}

/// Stops all processes of a database until [`resume`]. The postmaster stops first: afterwards, no process starts, and one
/// that ends stays as a zombie.
fn suspend(server: &PostgresServer) -> Vec<u32> {
    let postmaster = server.processes()[0];
    signal(postmaster, "-STOP");
    assert!(has_stopped(postmaster));
    let processes = server.processes();
    processes.iter().for_each(|pid| signal(*pid, "-STOP"));
    processes
}

/// Continues these processes, the postmaster last.
fn resume(processes: &[u32]) {
    processes.iter().rev().for_each(|pid| signal(*pid, "-CONT"));
}

/// Compares the list and its count with the history, while nobody signs up. Every instance counts the same. Returns the
/// number of entries. `sql` runs a statement in the database of the list.
fn check_list(recorder: &Recorder, instances: &[Instance], sql: impl Fn(&str) -> String) -> usize {
    let (history, _guard) = recorder.pause();
    // In one statement: a sign-up that has failed may be committed at any moment.
    let statement = "SELECT email FROM waitlist_entries UNION ALL SELECT sum(entries)::text FROM waitlist_count";
    let lines = sql(statement);
    let (mut list, counts): (Vec<_>, Vec<_>) = lines
        .lines()
        .map(str::to_owned)
        .partition(|line| line.contains('@'));
    let count: u64 = counts[0].parse().expect("a number");
    let owners = list.extract_if(.., |it| it.ends_with(OWNER_DOMAIN)).count() as u64;
    let found = violations(&history, &list);
    for (address, _) in &found {
        for operation in history.iter().filter(|it| it.address == *address) {
            println!("{REPORT}{operation:?}");
        }
    }
    assert_eq!(found, []);
    assert_eq!(count - owners, list.len() as u64, "the count is exact");
    for instance in instances {
        wait_until("the instance's count is exact", || {
            instance.count() == count
        });
    }
    list.len()
}
