//! Commands that are cut off in the middle, and run again.

use std::{
    collections::BTreeSet,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::{Owner, both, many, told};
use crate::running::signal;

const PEOPLE: usize = 100_000;

impl Owner {
    fn begin(&self, args: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
        command
            .env_clear()
            .current_dir(self.place.path())
            .args(args);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts")
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
    for owner in both() {
        let file = many(PEOPLE);
        owner.write("people.csv", &file);
        // An empty list.
        owner.run_with(&["import"], "email\n").success();
        let mut cut_off = 0;
        for round in 1..=8 {
            let mut import = owner.begin(&["import", "people.csv"]);
            thread::sleep(Duration::from_millis(round * 25));
            let is_over = import.try_wait().expect("it runs").is_some();
            import.kill().expect("it may be over");
            import.wait().expect("it ends");
            let there = owner.people().len();
            cut_off += u32::from(!is_over && there > 0 && there < PEOPLE);
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
    for owner in both() {
        owner.run_with(&["import"], many(PEOPLE)).success();
        owner.write("list.csv", "older");
        let mut cut_off = 0;
        for (round, how) in ["-KILL", "-INT", "-TERM", "-KILL"].into_iter().enumerate() {
            let partial = owner.file(".list.csv.partial");
            // Of the round before, if that was killed.
            let _ = std::fs::remove_file(&partial);
            let mut export = owner.begin(&["export", "-o", "list.csv"]);
            // Its first bytes are on the way.
            while std::fs::metadata(&partial).map_or(0, |file| file.len()) == 0
                && export.try_wait().expect("it runs").is_none()
            {}
            signal(export.id(), how);
            let ended = export.wait().expect("it ends");
            if ended.success() {
                owner.write("list.csv", "older");
                continue;
            }
            cut_off += 1;
            assert_eq!(owner.read("list.csv"), "older", "{round}");
            if how != "-KILL" {
                assert_eq!(ended.code(), Some(1));
                assert!(!partial.exists(), "{how} leaves nothing");
            }
        }
        assert!(cut_off > 0, "none was cut off in the middle");
        owner.run(&["export", "-o", "list.csv"]).success();
        assert!(!owner.names().iter().any(|name| name.contains("partial")));
        let report = owner.printed(&["import", "list.csv"]);
        assert_eq!(
            report,
            format!("0 added, {PEOPLE} already there, 0 rejected\n")
        );
    }
}

#[test]
fn a_server_that_ends_in_the_middle_is_told_and_what_was_added_stays() {
    let [_, mut owner] = both();
    owner.write("people.csv", many(PEOPLE));
    let mut server = owner.server.take().expect("it runs");
    let done = thread::scope(|scope| {
        let import = scope.spawn(|| owner.run(&["import", "people.csv"]));
        while server.count() == "{\"count\":0}" {}
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
    assert!(there > 0 && there < PEOPLE, "{there}");
    owner.run(&["import", "people.csv"]).success();
    assert_eq!(owner.people().len(), PEOPLE);
}

#[test]
fn two_exports_to_one_file_do_not_mix() {
    for owner in both() {
        owner
            .run_with(&["import"], "email\nann@example.com\n")
            .success();
        let partial = std::fs::File::create(owner.file(".list.csv.partial")).expect("writable");
        partial.lock().expect("ours");
        let said = told(&owner.run(&["export", "-o", "list.csv"]).code(1));
        assert!(
            said.contains("another export is writing this file"),
            "{said}"
        );
        drop(partial);
        owner.run(&["export", "-o", "list.csv"]).success();
    }
}
