//! `landing backup` and `landing restore`.

use std::{fs, os::unix::fs::PermissionsExt};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use landing::waitlist::ListKey;
use serde_json::{Value, json};

use super::{
    TestCli, addresses, all_stores,
    send::{messages, send},
    sha256, stderr, stdout, with_database, with_server, with_three_people, without_server,
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

/// The key of the list in [`everything`].
fn key() -> ListKey {
    ListKey::from_slice(&[7; 32]).expect("32 bytes")
}

/// Returns the hash of an address under [`key`], as a backup has it.
pub(crate) fn hash(address: &str) -> String {
    BASE64.encode(key().hash(address).as_bytes())
}

/// Returns a backup with these lines between the first and the last one.
pub(crate) fn with_lines(lines: &[String]) -> String {
    let header = json!({ "backup": {
        "format": 1,
        "program": "landing 0.1.0",
        "created_at": "2026-11-21T08:00:00.000Z",
        "key": BASE64.encode(key().as_bytes()),
    } });
    // The fields in the order in which the program writes them.
    let header = format!(
        r#"{{"backup":{{"format":1,"program":"landing 0.1.0","created_at":{},"key":{}}}}}"#,
        header["backup"]["created_at"], header["backup"]["key"]
    );
    let body = lines.iter().map(|line| format!("{line}\n"));
    let text = format!("{header}\n{}", body.collect::<String>());
    let count = |kind: &str| {
        let start = format!("{{\"{kind}\":");
        lines.iter().filter(|line| line.starts_with(&start)).count()
    };
    let end = format!(
        r#"{{"end":{{"people":{},"suppressed":{},"departures":{},"messages":{},"deliveries":{},"sha256":"{}"}}}}"#,
        count("person"),
        count("suppressed"),
        count("departure"),
        count("message"),
        count("delivery"),
        sha256(&text)
    );
    text + &end + "\n"
}

fn delivery(message: &str, address: &str, rest: &str) -> String {
    let recipient = hash(address);
    format!(r#"{{"delivery":{{"message":"{message}","recipient":"{recipient}",{rest}}}}}"#)
}

/// Returns a backup with every kind of line, every field, and every state of a delivery except those under way.
pub(super) fn everything() -> String {
    let mut suppressed: Vec<_> = ["dan@example.com", "eve@example.com", "cyd@example.com"]
        .map(|address| {
            *key()
                .hash(address)
                .as_bytes()
                .first_chunk::<16>()
                .expect("16 bytes")
        })
        .to_vec();
    suppressed.sort_unstable();
    let suppressed = suppressed
        .iter()
        .map(|hash| format!(r#"{{"suppressed":"{}"}}"#, BASE64.encode(hash)));
    let mut lines: Vec<_> = suppressed.collect();
    let since = r#""since":"2026-11-20T08:00:00.125Z""#;
    lines.extend([
        r#"{"departure":{"id":"0b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11","source":"hn"}}"#.to_owned(),
        r#"{"departure":{"id":"9b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11"}}"#.to_owned(),
        r#"{"message":{"id":"confirmation-1","begun_at":"2026-11-01T08:00:00.000Z","subject":"123456 is your code"}}"#.to_owned(),
        delivery("confirmation-1", "bob@example.com", &format!(r#""state":"deferred",{since},"code":451,"reply":"4.7.1 later \"please\"","attempts":3"#)),
        delivery("confirmation-1", "ann@example.com", &format!(r#""state":"accepted",{since},"code":250,"reply":"","attempts":1"#)),
        r#"{"message":{"id":"launch","begun_at":"2026-11-20T08:00:00.000Z","subject":"We are open 🎉","text_digest":"rqJk5zN0yzQ8nM3oO0l2wW1qvY9cQmFhB7t6dXu4_-8"}}"#.to_owned(),
        delivery("launch", "ann@example.com", &format!(r#""state":"accepted",{since},"code":250,"reply":"2.0.0 Ok: queued as 4bX","attempts":1"#)),
        delivery("launch", "bob@example.com", &format!(r#""state":"refused",{since},"code":550,"reply":"5.1.1 no such user","attempts":1"#)),
        delivery("launch", "cyd@example.com", &format!(r#""state":"unknown",{since},"attempts":1"#)),
        delivery("launch", "dan@example.com", &format!(r#""state":"skipped",{since},"attempts":0"#)),
        delivery("launch", "eve@example.com", r#""state":"waiting","attempts":0"#),
        r#"{"person":{"email":"old@example.com","joined_at":"1970-01-01T00:00:00.001Z"}}"#.to_owned(),
        r#"{"person":{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z","source":"hn","asked_at":"2026-11-01T08:00:00.000Z","confirmed_at":"2026-11-01T09:30:00.500Z"}}"#.to_owned(),
        r#"{"person":{"email":"Bob@Example.com","joined_at":"2026-11-02T08:00:00.250Z","asked_at":"2026-11-02T08:00:00.250Z"}}"#.to_owned(),
        // In the order of their sign-ups.
        r#"{"person":{"email":"=1+1@example.com","joined_at":"2026-11-03T08:00:00.000Z","source":"-x"}}"#.to_owned(),
        // The owner has corrected the address to one that is suppressed.
        r#"{"person":{"email":"cyd@example.com","joined_at":"2026-11-03T08:00:00.000Z"}}"#.to_owned(),
        r#"{"person":{"email":"andré@bücher.example","joined_at":"2026-11-03T08:00:00.000Z","confirmed_at":"2026-11-03T08:00:00.000Z"}}"#.to_owned(),
    ]);
    with_lines(&lines)
}

/// Returns the key, the lines and the counts of a backup, without the time, the program and the checksum.
fn content(backup: &str) -> (Value, Vec<&str>, Value) {
    let lines: Vec<_> = backup.lines().collect();
    let [header, lines @ .., end] = &lines[..] else {
        panic!("too short: {backup}");
    };
    let parse = |line: &str| serde_json::from_str::<Value>(line).expect("JSON");
    let mut end = parse(end);
    end["end"]["sha256"].take();
    (parse(header)["backup"]["key"].clone(), lines.to_vec(), end)
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
        assert_eq!(names.len(), 2, "{names:?}");
    }
}

#[test]
fn backup_and_restore_say_what_they_have() {
    let cli = without_server();
    cli.write("list.backup", everything());
    let text = "6 people, 3 suppressed addresses, 2 messages with 7 deliveries";
    let note = "landing: the backup was written at 2026-11-21T08:00:00.000Z; the list does not know which messages were \
                sent since, and who has left or was erased since\n";
    let dry = cli.run(&["restore", "--dry-run", "list.backup"]).success();
    assert_eq!(
        stdout(&dry),
        format!("{text} would be restored from list.backup\n")
    );
    assert_eq!(stderr(&dry), note);
    assert!(!cli.file("data").exists());
    let expected = json!({
        "people": 6, "suppressed": 3, "departures": 2, "messages": 2, "deliveries": 7,
        "file": "list.backup", "created_at": "2026-11-21T08:00:00.000Z",
    });
    assert_eq!(cli.json(&["restore", "--dry-run", "list.backup"]), expected);
    let restored = cli.run(&["restore", "list.backup"]).success();
    assert_eq!(
        stdout(&restored),
        format!("{text} restored from list.backup\n")
    );
    assert_eq!(stderr(&restored), note);
    assert_eq!(
        cli.stdout(&["backup", "-o", "copy.backup"]),
        format!("{text} in copy.backup\n")
    );
    let mut report = cli.json(&["backup", "-o", "copy.backup"]);
    let copy = cli.read("copy.backup");
    let (before, _) = copy.trim_end().rsplit_once('\n').expect("lines");
    assert_eq!(report["sha256"].take(), sha256(&format!("{before}\n")));
    assert_eq!(
        (&report["people"], &report["file"]),
        (&json!(6), &json!("copy.backup"))
    );
    let mode = fs::metadata(cli.file("copy.backup")).expect("the file exists");
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    // From one program to the next.
    let piped = cli.stdout(&["backup"]);
    cli.run_with_input(&["restore", "-", "--store", "other"], piped)
        .success();
    assert_eq!(cli.stdout(&["count", "--store", "other"]), "6\n");
    let one = with_lines(&[
        r#"{"person":{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z"}}"#
            .to_owned(),
    ]);
    let one = cli
        .run_with_input(&["restore", "-", "--store", "one"], one)
        .success();
    let text = "1 person, 0 suppressed addresses, 0 messages with 0 deliveries restored from standard input\n";
    assert_eq!(stdout(&one), text);
}

#[test]
fn every_place_is_restored_to_every_other() {
    for from in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann@") => Action::Reply("550 5.1.1 no such user"),
            Step::End if line.contains("Bob@") => Action::AcceptAndCut,
            _ => Action::Continue,
        });
        send(&from, &server, &["--all", "--connections", "1"]);
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
        r#"{"message":{"id":"launch","begun_at":"2026-11-20T08:00:00.000Z","subject":"Hi"}}"#
            .to_owned(),
        delivery(
            "launch",
            "ann@example.com",
            r#""state":"sending","attempts":2"#,
        ),
        r#"{"person":{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z"}}"#
            .to_owned(),
    ]);
    for cli in [without_server(), with_database()] {
        cli.run_with_input(&["restore", "-"], &*backup).success();
        let restored = cli.stdout(&["backup"]);
        assert!(
            restored.contains(r#""state":"unknown","attempts":2"#),
            "{restored}"
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
        let error = stderr(&cli.run(&["restore", "list.backup"]).code(1));
        assert!(error.contains(expected), "{error}");
        let check = cli.stdout(&["check"]);
        assert_eq!(check, "0 on the list, no faults\n1 suppressed address\n");
    }
}

/// Its checksum is right, but a list cannot have both lines.
#[test]
fn backup_that_contradicts_itself_is_not_restored() {
    let departure = r#"{"departure":{"id":"0b8d3c1e-6f1c-4d9a-9a53-0f6a2d0b7c11"}}"#;
    let message =
        r#"{"message":{"id":"launch","begun_at":"2026-11-20T08:00:00.000Z","subject":"Hi"}}"#;
    let person = |email: &str| {
        format!(r#"{{"person":{{"email":"{email}","joined_at":"2026-11-01T08:00:00.000Z"}}}}"#)
    };
    let suppressed = format!(r#"{{"suppressed":"{}"}}"#, hash("eve@example.com"));
    for (first, second, kind) in [
        (suppressed.clone(), suppressed, "suppressed address"),
        (departure.to_owned(), departure.to_owned(), "departure"),
        (message.to_owned(), message.to_owned(), "message"),
        (
            person("ann@example.com"),
            person("Ann@example.com"),
            "person",
        ),
    ] {
        let backup = with_lines(&[first, person("bob@example.com"), second]);
        for cli in [without_server(), with_database()] {
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

#[test]
fn backup_of_a_newer_format_is_named() {
    let cli = without_server();
    let newer = everything().replace(
        r#""format":1,"program":"landing 0.1.0""#,
        r#""format":2,"program":"landing 9.0.0","new":1"#,
    );
    let error = stderr(&cli.run_with_input(&["restore", "-"], newer).code(1));
    let expected = "it is a backup of format 2, and this program reads format 1; use landing 9.0.0, which wrote it, or a \
                    newer version";
    assert!(error.contains(expected), "{error}");
}

#[cfg(target_os = "linux")]
#[test]
fn key_is_not_printed_to_a_terminal() {
    let cli = without_server().with_three_people();
    let mut script = cli.command_for("script");
    let command = format!("'{}' backup", env!("CARGO_BIN_EXE_landing"));
    let shown = script.args(["-qec", &command, "/dev/null"]).output();
    let shown = String::from_utf8_lossy(&shown.expect("script runs").stdout).into_owned();
    assert!(shown.contains("write it to a file with -o FILE"), "{shown}");
    assert!(!shown.contains("\"key\""), "{shown}");
}
