//! `landing backup` and `landing restore`.

use std::fs;

use serde_json::Value;

use super::{
    TestCli, addresses, all_stores, assert_contains,
    backup_file::{
        NO_FACTS, NO_RESULT, delivery, everything, hash, message, person, time, with_lines,
    },
    send::{messages, send},
    stderr, with_database, with_server, with_three_people, without_server,
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

/// Returns the key, the lines and the counts of a backup, without the time, the program and the checksum.
fn content(backup: &str) -> (Value, Vec<&str>, Value) {
    let lines: Vec<_> = backup.lines().collect();
    let [header, lines @ .., end] = &lines[..] else {
        panic!("too short: {backup}");
    };
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let mut end = parse(end);
    end["end"]["sha256"].take();
    // Backups of version 0.1.0 have the people last.
    let mut lines = lines.to_vec();
    lines.sort_by_key(|line| !line.starts_with(r#"{"person":"#));
    (parse(header)["backup"]["key"].clone(), lines, end)
}

/// Restores a backup into a new list, and returns a backup of that.
fn round_trip(cli: &TestCli, backup: &str, store: &str) -> String {
    cli.write("from.backup", backup);
    cli.run(&["restore", "from.backup", "--store", store])
        .success();
    cli.stdout(&["backup", "-o", "to.backup", "--store", store]);
    let restored = cli.read("to.backup");
    assert_eq!(content(&restored), content(backup), "{store}");
    // The program verifies its own.
    let checked = cli.run(&["restore", "--dry-run", "to.backup", "--store", "none"]);
    checked.success();
    restored
}

#[test]
fn round_trip_over_both_stores_is_identical() {
    let cli = without_server();
    let database = crate::postgres_server::SHARED_SERVER.create_database();
    let first = round_trip(&cli, &everything(), "first");
    let second = round_trip(&cli, &first, &database);
    round_trip(&cli, &second, "second");
    // Nothing in the directories belongs to the restore any more.
    for data in ["first", "second"] {
        let names = fs::read_dir(cli.file(data)).expect("readable");
        let names: Vec<_> = names.map(|it| it.expect("readable").file_name()).collect();
        assert_eq!(names.len(), 3, "{names:?}");
    }
}

#[test]
fn every_place_is_restored_to_every_other() {
    for from in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann@") => Action::Reply("550 5.1.1 no such user"),
            Step::End if line.contains("Bob@") => Action::AcceptAndCut,
            _ => Action::Continue,
        });
        send(&from, &server, &["--all"]);
        from.stdout(&["unsubscribe", "cyd@example.com", "dan@example.com"]);
        let backup = from.stdout(&["backup"]);
        // An empty list that was served, an empty database, and nothing.
        let mut served = with_server();
        let server = served.server.as_mut().expect("a server");
        server.signal("-TERM");
        server.wait_for_exit();
        served.server = None;
        for to in [served, with_database(), without_server()] {
            to.run_with_input(&["restore", "-"], &*backup).success();
            assert_eq!(addresses(&to), addresses(&from));
            assert_eq!(messages(&to), messages(&from));
            assert_eq!(content(&to.stdout(&["backup"])), content(&backup));
            // Nobody gets the message again, and nobody who has left is added.
            let server = SmtpServer::start();
            let (out, ..) = send(&to, &server, &["--all"]);
            assert!(out.starts_with("nobody to send to"), "{out}");
            assert_eq!(server.connection_count(), 0);
            let left = "cyd@example.com\nDan@example.com\n";
            to.run_with_input(&["import"], left).success();
            assert_eq!(addresses(&to), addresses(&from));
        }
    }
}

/// A process that was sending has crashed, or was still sending when the backup was written.
#[test]
fn deliveries_that_were_under_way_are_unknown() {
    let backup = with_lines(&[
        message("launch", "Hi", "null"),
        delivery("launch", "ann@example.com", "sending", NO_RESULT, 2),
        person("ann@example.com", &time(8, 0), NO_FACTS),
    ]);
    for cli in [without_server(), with_database()] {
        cli.run_with_input(&["restore", "-"], &*backup).success();
        let restored = cli.stdout(&["backup"]);
        assert_contains(
            &restored,
            r#""state":"unknown","since":null,"reply":null},"attempts":2"#,
        );
    }
}

#[test]
fn list_that_is_not_empty_is_not_restored() {
    for cli in all_stores() {
        let is_in_directory = cli.database.is_none();
        cli.run_with_input(&["import"], "ann@example.com\n")
            .success();
        cli.write("list.backup", everything());
        let in_use = "stop it, restore the backup, and start it again";
        let not_empty = "nothing was restored: the list is not empty; choose a new place";
        let expected = match is_in_directory && cli.server.is_some() {
            true => in_use,
            false => not_empty,
        };
        let error = stderr(&cli.run(&["restore", "list.backup"]).code(1));
        assert!(
            error.contains(expected)
                && error.contains("list.backup: ")
                && error.contains("nothing was restored: "),
            "{error}"
        );
        assert_eq!(addresses(&cli), ["ann@example.com"]);
        // The suppression that stays of a person counts.
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        cli.assert_fails(&["restore", "list.backup"], expected);
        let check = cli.stdout(&["check"]);
        assert_eq!(check, "0 on the list, no faults\n1 suppressed address\n");
    }
}

/// Its checksum is right, but a list cannot have both lines.
#[test]
fn backup_that_contradicts_itself_is_not_restored() {
    let departure = r#"{"departure":{"id":"0b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11","source":null}}"#;
    let message = message("launch", "Hi", "null");
    let person = |email: &str| person(email, &time(8, 0), NO_FACTS);
    let suppressed = format!(r#"{{"suppressed":{}}}"#, hash("eve@example.com"));
    for (first, second, kind) in [
        (suppressed.clone(), suppressed, "suppressed address"),
        (departure.to_owned(), departure.to_owned(), "departure"),
        (message.clone(), message, "message"),
        (
            person("ann@example.com"),
            person("Ann@example.com"),
            "person",
        ),
    ] {
        let backup = with_lines(&[first, person("bob@example.com"), second]);
        for cli in [without_server(), with_database()] {
            cli.run_with_input(&["import", "-"], "email\n").code(0);
            let restored = cli.run_with_input(&["restore", "-"], &*backup).code(1);
            let error = stderr(&restored);
            let expected = match cli.database.is_some() {
                true => "duplicate key value violates unique constraint".to_owned(),
                false => format!("line 4 of the backup: this {kind} is in it twice"),
            };
            assert!(
                error.contains("nothing was restored") && error.contains(&expected),
                "{error}"
            );
            let found = cli.stdout(&["backup"]);
            assert_eq!(found.lines().count(), 2, "{found}");
        }
    }
}
