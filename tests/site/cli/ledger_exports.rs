//! Exports carry the ledger: a restored list writes to nobody again.

use std::fs;

use super::{
    TestCli, addresses,
    send::{messages, send},
    stderr, with_database, with_server, with_three_people, without_server,
};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

#[test]
fn exports_carry_the_ledger_to_another_list() {
    for (number, cli) in with_three_people().into_iter().enumerate() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann@") => Action::Reply("550 5.1.1 no such user"),
            Step::End if line.contains("Bob@") => Action::AcceptAndCut,
            _ => Action::Continue,
        });
        send(&cli, &server, &["--all", "--connections", "1"]);
        // Each place and each format is read from and written to.
        for (format, shift) in [("csv", 1), ("jsonl", 2)] {
            let file = format!("list.{format}");
            cli.run(&["export", "-o", &file]).success();
            let to = [without_server, with_server, with_database][(number + shift) % 3];
            let other = to();
            other.write(
                &file,
                std::fs::read(cli.sandbox.path().join(&file)).expect("readable"),
            );
            other.run(&["import", &file]).success();
            other.run(&["import", &file]).success();
            assert_eq!(addresses(&other), addresses(&cli));
            assert_eq!(messages(&other), messages(&cli));
            assert_eq!(
                other.stdout(&["messages", "launch"]),
                cli.stdout(&["messages", "launch"])
            );
            let server = SmtpServer::start();
            let (out, ..) = send(&other, &server, &["--all"]);
            assert!(out.starts_with("nobody to send to"), "{out}");
            assert_eq!(server.connection_count(), 0);
        }
    }
}

/// Exports a list of three people. Nobody has the message yet: the server has deferred it.
fn export_of_deferred(format: &str) -> (TestCli, String) {
    let cli = without_server().with_three_people();
    let server = SmtpServer::scripted(|step, _| match step {
        Step::Recipient => Action::Reply("450 4.2.1 later"),
        _ => Action::Continue,
    });
    let (out, ..) = send(&cli, &server, &["--all", "--no-wait"]);
    assert_eq!(out, "0 accepted, 3 deferred\n");
    let file = format!("older.{format}");
    cli.run(&["export", "-o", &file]).success();
    let text = fs::read_to_string(cli.sandbox.path().join(&file)).expect("readable");
    (cli, text)
}

#[test]
fn newer_export_brings_the_results_of_messages() {
    for to in [without_server, with_server, with_database] {
        let (cli, older) = export_of_deferred("jsonl");
        let (out, ..) = send(&cli, &SmtpServer::start(), &["--next", "2"]);
        assert_eq!(out, "2 accepted\n");
        cli.run(&["export", "-o", "newer.jsonl"]).success();
        let newer = fs::read(cli.sandbox.path().join("newer.jsonl")).expect("readable");
        let other = to();
        other.write("older.jsonl", older);
        other.write("newer.jsonl", newer);
        // An older export takes nothing back.
        for file in ["older.jsonl", "newer.jsonl", "older.jsonl"] {
            other.run(&["import", file]).success();
        }
        assert_eq!(messages(&other), messages(&cli));
        let server = SmtpServer::start();
        let (out, ..) = send(&other, &server, &["--all"]);
        assert_eq!((&*out, server.received().len()), ("1 accepted\n", 1));
    }
}

#[test]
fn person_with_two_deliveries_gets_the_message_once() {
    // The same message went out from two lists with a key each.
    let (_, deferred) = export_of_deferred("csv");
    let cli = without_server().with_three_people();
    let (out, ..) = send(&cli, &SmtpServer::start(), &["--all"]);
    assert_eq!(out, "3 accepted\n");
    cli.run(&["export", "-o", "accepted.csv"]).success();
    let accepted = fs::read(cli.sandbox.path().join("accepted.csv")).expect("readable");
    for files in [
        ["deferred.csv", "accepted.csv"],
        ["accepted.csv", "deferred.csv"],
    ] {
        let other = without_server();
        other.write("deferred.csv", &deferred);
        other.write("accepted.csv", &accepted);
        for file in files {
            other.run(&["import", file]).success();
        }
        let (out, ..) = send(&other, &SmtpServer::start(), &["--all"]);
        assert!(out.starts_with("nobody to send to"), "{out}");
    }
}

#[test]
fn edited_export_loses_no_delivery_in_silence() {
    for format in ["csv", "jsonl"] {
        let (_, export) = export_of_deferred(format);
        let lines: Vec<_> = export.lines().collect();
        let at = |what: [&str; 2]| {
            let is_it = |line: &&str| what.iter().any(|start| line.starts_with(start));
            let found = lines.iter().position(is_it);
            found.unwrap_or_else(|| panic!("no {what:?}: {export}"))
        };
        let key = at(["# list key", "{\"list_key\""]);
        let message = at(["# message", "{\"message\""]);
        let delivery = at(["# delivery", "{\"delivery\""]);
        let without = |line: usize| {
            let mut lines = lines.clone();
            lines.remove(line);
            lines.join("\n")
        };
        let damaged = |line: usize| {
            let mut lines: Vec<_> = lines.iter().map(|line| line.to_string()).collect();
            lines[line] = lines[line].replace("deferred", "defered");
            lines.join("\n")
        };
        for (edited, line, reason) in [
            (without(key), delivery, "the key of the list is missing"),
            (
                without(message),
                delivery,
                "the line of the message \"launch\" is missing",
            ),
            (damaged(delivery), delivery + 1, "is damaged"),
        ] {
            let cli = without_server();
            let file = format!("edited.{format}");
            cli.write(&file, edited);
            let error = stderr(&cli.run(&["import", "--changed", &file]).failure());
            let place = format!("{file}:{line}: nothing was imported");
            assert!(error.contains(&place) && error.contains(reason), "{error}");
        }
    }
}
