//! Commands that are cut off in the middle, and run again.

use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Stdio},
    thread,
};

use super::{TestCli, all_stores, people_csv, stderr, with_server};
use crate::process::signal;

const PEOPLE: usize = 100_000;

impl TestCli {
    fn spawn(&self, args: &[&str]) -> Child {
        let mut command = self.command_for(env!("CARGO_BIN_EXE_landing"));
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    }

    /// Files that are not complete.
    fn partials(&self) -> Vec<String> {
        let mut names = self.file_names();
        names.retain(|name| name.ends_with(".partial"));
        names
    }

    /// What grows with the list.
    fn size(&self) -> u64 {
        match &self.server {
            Some(server) if self.database.is_some() => {
                let count = server.count();
                let digits = count.trim_matches(|c: char| !c.is_ascii_digit());
                digits.parse().expect("a number")
            }
            _ => fs::metadata(self.file("data/waitlist/db")).map_or(0, |file| file.len()),
        }
    }

    /// Everybody on the list, once each.
    fn people(&self) -> BTreeSet<String> {
        let listed = self.listed();
        let people: BTreeSet<_> = listed.iter().cloned().collect();
        assert_eq!(people.len(), listed.len(), "nobody twice");
        people
    }
}

#[test]
fn killed_import_can_be_repeated_without_loss_or_duplicates() {
    for cli in all_stores() {
        let file = people_csv(PEOPLE);
        cli.write("people.csv", &file);
        // An empty list.
        cli.run_with_input(&["import"], "email\n").success();
        let mut cut_off = 0;
        for _ in 0..4 {
            let before = cli.size();
            let mut import = cli.spawn(&["import", "people.csv"]);
            // Its first people are on the way to the list.
            let is_over = loop {
                match import.try_wait().expect("it runs") {
                    Some(_) => break true,
                    None if cli.size() > before => break false,
                    None => thread::yield_now(),
                }
            };
            import.kill().expect("it may be over");
            import.wait().expect("it ends");
            let there = cli.people().len();
            cut_off += u32::from(!is_over && there < PEOPLE);
            cli.run(&["check"]).success();
        }
        assert!(cut_off > 0, "none was cut off in the middle");
        cli.run(&["import", "people.csv"]).success();
        let expected: BTreeSet<_> = file
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .map(|(email, time)| format!("{time}\t{email}"))
            .collect();
        assert_eq!(cli.people(), expected);
    }
}

#[test]
fn killed_export_keeps_the_old_file_and_the_next_is_complete() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], people_csv(PEOPLE))
            .success();
        cli.write("list.csv", "older");
        let mut cut_off = 0;
        for how in ["-KILL", "-INT", "-TERM", "-HUP", "-KILL"] {
            let before = cli.partials();
            let mut export = cli.spawn(&["export", "-o", "list.csv"]);
            // Its first bytes are on the way.
            let is_over = loop {
                let is_new = |name: &String| !before.contains(name);
                let size = |name: &String| fs::metadata(cli.file(name)).map_or(0, |it| it.len());
                match export.try_wait().expect("it runs") {
                    Some(_) => break true,
                    None if cli
                        .partials()
                        .iter()
                        .filter(|it| is_new(it))
                        .any(|it| size(it) > 0) =>
                    {
                        break false;
                    }
                    None => thread::yield_now(),
                }
            };
            if !is_over {
                signal(export.id(), how);
            }
            export.wait().expect("it ends");
            if cli.read("list.csv") != "older" {
                // The signal came late.
                let report = cli.stdout(&["import", "list.csv"]);
                assert!(
                    report.contains(&format!(" {PEOPLE} already there")),
                    "{report}"
                );
                cli.write("list.csv", "older");
                continue;
            }
            cut_off += 1;
            let left = cli.partials().len();
            assert_eq!(left, usize::from(how == "-KILL"), "{how}");
        }
        assert!(cut_off > 0, "none was cut off in the middle");
        cli.run(&["export", "-o", "list.csv"]).success();
        assert_eq!(cli.partials(), [""; 0]);
        let report = cli.stdout(&["import", "list.csv"]);
        assert_eq!(
            report,
            format!("0 added, {PEOPLE} already there, 0 rejected\n")
        );
    }
}

#[test]
fn import_reports_a_server_shutdown_and_keeps_its_progress() {
    let mut cli = with_server();
    // The signal must not come late.
    let people = PEOPLE * 3;
    cli.write("people.csv", people_csv(people));
    let mut server = cli.server.take().expect("it runs");
    let done = thread::scope(|scope| {
        let import = scope.spawn(|| cli.run(&["import", "people.csv"]));
        while server.count() == "{\"count\":0}" && !import.is_finished() {}
        server.signal("-TERM");
        assert_eq!(server.wait_for_exit(), Some(0));
        import.join().expect("no panic")
    });
    let stderr = stderr(&done.code(1));
    assert!(
        stderr.contains("the server does not answer; if it was stopped, run this again"),
        "{stderr}"
    );
    assert!(
        stderr.contains("were added before that: import it again"),
        "{stderr}"
    );
    let there = cli.people().len();
    assert!(there > 0 && there < people, "{there}");
    cli.run(&["import", "people.csv"]).success();
    assert_eq!(cli.people().len(), people);
}

#[test]
fn concurrent_exports_to_one_file_do_not_mix() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], people_csv(PEOPLE))
            .success();
        let mut exports = [(); 2].map(|()| cli.spawn(&["export", "-o", "list.csv"]));
        for export in &mut exports {
            // Without a server, one waits for the list.
            assert!(export.wait().expect("it ends").success());
        }
        assert_eq!(cli.partials(), [""; 0]);
        let report = cli.stdout(&["import", "list.csv"]);
        assert_eq!(
            report,
            format!("0 added, {PEOPLE} already there, 0 rejected\n")
        );
    }
}
