//! Interrupts commands in the middle, and runs them again.

use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Stdio},
    thread,
    time::Duration,
};

use super::{TestCli, all_stores, assert_contains, people_csv, stderr, with_server};
use crate::process::signal;

/// Enough people that an import or an export can be interrupted. It is, as soon as the list has grown.
const PEOPLE: usize = 30_000;
/// Pause between two looks at the list. Without it, the test would take the processor from the import.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

impl TestCli {
    fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command_for(env!("CARGO_BIN_EXE_landing"));
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts")
    }

    /// The names of incomplete exports.
    fn partials(&self) -> Vec<String> {
        let mut names = self.file_names();
        names.retain(|name| name.ends_with(".partial"));
        names
    }

    /// A number that grows with the list.
    fn size(&self) -> u64 {
        match &self.server {
            Some(server) if self.database.is_some() => server.count(),
            _ => fs::metadata(self.file("data/waitlist/db")).map_or(0, |file| file.len()),
        }
    }

    /// Returns the lines of `list`, which must differ from each other.
    fn listed_once(&self) -> BTreeSet<String> {
        let listed = self.listed();
        let unique: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(unique.len(), listed.len(), "an entry is listed twice");
        unique
    }
}

#[test]
fn killed_import_can_be_repeated_without_loss_or_duplicates() {
    for cli in all_stores() {
        let file = people_csv(PEOPLE);
        cli.write("people.csv", &file);
        // Creates an empty list.
        cli.run_with_input(&["import"], "email\n").success();
        let mut interrupted = 0;
        for _ in 0..4 {
            let before = cli.size();
            let mut import = cli.spawn(&["import", "people.csv"]);
            // Wait until the list grows.
            let is_finished = loop {
                match import.try_wait().expect("the program runs") {
                    Some(_) => break true,
                    None if cli.size() > before => break false,
                    None => thread::sleep(POLL_INTERVAL),
                }
            };
            import.kill().expect("a child process");
            import.wait().expect("the process ends");
            let listed = cli.listed_once().len();
            interrupted += u32::from(!is_finished && listed < PEOPLE);
            cli.run(&["check"]).success();
        }
        assert!(interrupted > 0, "no import was interrupted");
        cli.run(&["import", "people.csv"]).success();
        let expected: BTreeSet<_> = file
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .map(|(email, rest)| format!("{}\t{email}", rest.trim_end_matches(',')))
            .collect();
        assert_eq!(cli.listed_once(), expected);
    }
}

#[test]
fn killed_export_keeps_the_old_file_and_the_next_is_complete() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], people_csv(PEOPLE))
            .success();
        cli.write("list.csv", "older");
        let (mut interrupted, mut killed) = (0, 0);
        for name in ["-KILL", "-INT", "-TERM", "-KILL"] {
            let before = cli.partials();
            let mut export = cli.spawn(&["export", "-o", "list.csv"]);
            // Wait until the export has written its first bytes.
            let is_writing = || {
                cli.partials().iter().any(|partial| {
                    let size = fs::metadata(cli.file(partial)).map_or(0, |file| file.len());
                    !before.contains(partial) && size > 0
                })
            };
            let is_finished = loop {
                match export.try_wait().expect("a child process") {
                    Some(_) => break true,
                    None if is_writing() => break false,
                    None => thread::sleep(POLL_INTERVAL),
                }
            };
            if !is_finished {
                signal(export.id(), name);
            }
            export.wait().expect("the process ends");
            if cli.read("list.csv") != "older" {
                // The export finished before the signal.
                assert_eq!(cli.read("list.csv").lines().count(), PEOPLE + 1);
                cli.write("list.csv", "older");
                continue;
            }
            interrupted += 1;
            // Only a process that is killed leaves its file.
            killed += usize::from(name == "-KILL");
            assert_eq!(cli.partials().len(), killed, "{name}");
        }
        assert!(interrupted > 0, "no export was interrupted");
        cli.run(&["export", "-o", "list.csv"]).success();
        assert_eq!(cli.partials().len(), killed);
        assert_eq!(cli.read("list.csv").lines().count(), PEOPLE + 1);
    }
}

#[test]
fn import_reports_a_server_shutdown_and_keeps_its_progress() {
    let mut cli = with_server();
    // Enough people that the import cannot finish before the signal.
    let people = PEOPLE * 3;
    cli.write("people.csv", people_csv(people));
    let mut server = cli.server.take().expect("the program runs");
    let result = thread::scope(|scope| {
        let import = scope.spawn(|| cli.run(&["import", "people.csv"]));
        while server.count() == 0 && !import.is_finished() {}
        server.signal("-TERM");
        assert_eq!(server.wait_for_exit(), Some(0));
        import.join().expect("no panic")
    });
    let stderr = stderr(&result.code(1));
    assert!(
        stderr.contains("the server does not respond: ")
            && stderr.contains("; if it was stopped, run the command again"),
        "{stderr}"
    );
    assert_contains(
        &stderr,
        "perhaps not everybody was added; import the file again",
    );
    let listed = cli.listed_once().len();
    assert!(listed > 0 && listed < people, "{listed}");
    cli.run(&["import", "people.csv"]).success();
    assert_eq!(cli.listed_once().len(), people);
}

#[test]
fn concurrent_exports_to_one_file_do_not_mix() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], people_csv(PEOPLE))
            .success();
        let mut exports = [(); 2].map(|()| cli.spawn(&["export", "-o", "list.csv"]));
        for export in &mut exports {
            // Without a server, one export waits until the other one releases the list.
            assert!(export.wait().expect("the process ends").success());
        }
        assert_eq!(cli.partials(), [""; 0]);
        assert_eq!(cli.read("list.csv").lines().count(), PEOPLE + 1);
    }
}
