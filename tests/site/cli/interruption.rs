//! Commands that are cut off in the middle, and run again.

use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Stdio},
    thread,
};

use super::{Owner, everywhere, many, served, told};
use crate::process::signal;

const PEOPLE: usize = 100_000;

impl Owner {
    fn begin(&self, args: &[&str]) -> Child {
        let mut command = self.calling(env!("CARGO_BIN_EXE_landing"));
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
    }

    /// Files that are not complete.
    fn partials(&self) -> Vec<String> {
        let mut names = self.names();
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
fn an_import_that_is_killed_and_run_again_loses_and_doubles_nobody() {
    for owner in everywhere() {
        let file = many(PEOPLE);
        owner.write("people.csv", &file);
        // An empty list.
        owner.run_with(&["import"], "email\n").success();
        let mut cut_off = 0;
        for _ in 0..4 {
            let before = owner.size();
            let mut import = owner.begin(&["import", "people.csv"]);
            // Its first people are on the way to the list.
            let is_over = loop {
                match import.try_wait().expect("it runs") {
                    Some(_) => break true,
                    None if owner.size() > before => break false,
                    None => thread::yield_now(),
                }
            };
            import.kill().expect("it may be over");
            import.wait().expect("it ends");
            let there = owner.people().len();
            cut_off += u32::from(!is_over && there < PEOPLE);
            owner.run(&["check"]).success();
        }
        assert!(cut_off > 0, "none was cut off in the middle");
        owner.run(&["import", "people.csv"]).success();
        let expected: BTreeSet<_> = file
            .lines()
            .skip(1)
            .filter_map(|line| line.split_once(','))
            .map(|(email, time)| format!("{time}\t{email}"))
            .collect();
        assert_eq!(owner.people(), expected);
    }
}

#[test]
fn an_export_that_is_killed_leaves_the_file_as_it_was_and_the_next_one_is_whole() {
    for owner in everywhere() {
        owner.run_with(&["import"], many(PEOPLE)).success();
        owner.write("list.csv", "older");
        let mut cut_off = 0;
        for how in ["-KILL", "-INT", "-TERM", "-HUP", "-KILL"] {
            let before = owner.partials();
            let mut export = owner.begin(&["export", "-o", "list.csv"]);
            // Its first bytes are on the way.
            let is_over = loop {
                let is_new = |name: &String| !before.contains(name);
                let size = |name: &String| fs::metadata(owner.file(name)).map_or(0, |it| it.len());
                match export.try_wait().expect("it runs") {
                    Some(_) => break true,
                    None if owner
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
            if owner.read("list.csv") != "older" {
                // The signal came late.
                let report = owner.printed(&["import", "list.csv"]);
                assert!(
                    report.contains(&format!(" {PEOPLE} already there")),
                    "{report}"
                );
                owner.write("list.csv", "older");
                continue;
            }
            cut_off += 1;
            let left = owner.partials().len();
            assert_eq!(left, usize::from(how == "-KILL"), "{how}");
        }
        assert!(cut_off > 0, "none was cut off in the middle");
        owner.run(&["export", "-o", "list.csv"]).success();
        assert_eq!(owner.partials(), [""; 0]);
        let report = owner.printed(&["import", "list.csv"]);
        assert_eq!(
            report,
            format!("0 added, {PEOPLE} already there, 0 rejected\n")
        );
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_and_what_was_added_stays() {
    let mut owner = served();
    // The signal must not come late.
    let people = PEOPLE * 3;
    owner.write("people.csv", many(people));
    let mut server = owner.server.take().expect("it runs");
    let done = thread::scope(|scope| {
        let import = scope.spawn(|| owner.run(&["import", "people.csv"]));
        while server.count() == "{\"count\":0}" && !import.is_finished() {}
        server.signal("-TERM");
        assert_eq!(server.ended(), Some(0));
        import.join().expect("no panic")
    });
    let said = told(&done.code(1));
    assert!(
        said.contains("the server does not answer; if it was stopped, run this again"),
        "{said}"
    );
    assert!(
        said.contains("were added before that: import it again"),
        "{said}"
    );
    let there = owner.people().len();
    assert!(there > 0 && there < people, "{there}");
    owner.run(&["import", "people.csv"]).success();
    assert_eq!(owner.people().len(), people);
}

#[test]
fn two_exports_to_one_file_do_not_mix() {
    for owner in everywhere() {
        owner.run_with(&["import"], many(PEOPLE)).success();
        let mut exports = [(); 2].map(|()| owner.begin(&["export", "-o", "list.csv"]));
        for export in &mut exports {
            // Without a server, one waits for the list.
            assert!(export.wait().expect("it ends").success());
        }
        assert_eq!(owner.partials(), [""; 0]);
        let report = owner.printed(&["import", "list.csv"]);
        assert_eq!(
            report,
            format!("0 added, {PEOPLE} already there, 0 rejected\n")
        );
    }
}
