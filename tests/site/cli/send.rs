//! `landing send` and `landing messages`.

use std::{collections::BTreeSet, process::Stdio, thread, time::Duration};

use serde_json::{Value, json};

use super::{TestCli, addresses, all_stores, stderr, stdout, with_three_people, without_server};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

const MESSAGE: &str = "---\nsubject: \"{product} is open\"\n---\nYou are number {position}.\n";

/// Returns the arguments of a send over a server.
fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "send",
        "launch.md",
        "--yes",
        "--rate",
        "0",
        "--smtp",
        url,
        "--mail-from",
        "Steward <hello@steward.test>",
        "--origin",
        "https://steward.test",
    ];
    [&fixed[..], more].concat()
}

fn send(cli: &TestCli, server: &SmtpServer, more: &[&str]) -> (String, String, bool) {
    cli.write("launch.md", MESSAGE);
    let url = server.url();
    let result = cli.run(&args(&url, more));
    let is_success = result.get_output().status.success();
    (stdout(&result), stderr(&result), is_success)
}

fn messages(cli: &TestCli) -> Value {
    cli.json(&["messages"])
}

#[test]
fn sends_to_those_who_have_waited_longest_and_to_nobody_twice() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        assert_eq!(
            cli.stdout(&["messages"]),
            "no message was sent yet; `landing send` sends one\n"
        );
        let (out, err, is_success) = send(&cli, &server, &["--next", "2"]);
        assert_eq!((&*out, &*err, is_success), ("2 accepted\n", "", true));
        assert_eq!(server.recipients(), ["Bob@Example.com", "ann@example.com"]);
        let (out, ..) = send(&cli, &server, &["--next", "2"]);
        assert_eq!(out, "1 accepted\n");
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        assert_eq!(
            (&*out, &*err, is_success),
            (
                "nobody to send to: 3 selected; 3 had the message, or may have had it\n",
                "",
                true
            )
        );
        assert_eq!(
            server.recipients(),
            ["Bob@Example.com", "ann@example.com", "cyd@example.com"]
        );
        let listed = messages(&cli);
        assert_eq!(
            (
                &listed[0]["id"],
                &listed[0]["recipients"],
                &listed[0]["accepted"],
                &listed[0]["waiting"]
            ),
            (&json!("launch"), &json!(3), &json!(3), &json!(0))
        );
    }
}

#[test]
fn message_has_the_headers_of_bulk_mail() {
    let cli = without_server().with_three_people();
    let server = SmtpServer::start();
    send(&cli, &server, &["--to", "ANN@example.com"]);
    let received = &server.received()[0];
    assert_eq!(received.sender, "hello@steward.test");
    let header = |name: &str| {
        let prefix = format!("{name}: ");
        let line = received
            .message
            .lines()
            .find_map(|line| line.strip_prefix(&prefix));
        line.unwrap_or_else(|| panic!("no {name}: {}", received.message))
            .to_owned()
    };
    assert_eq!(header("From"), "Steward <hello@steward.test>");
    assert_eq!(header("To"), "ann@example.com");
    assert_eq!(header("Subject"), "Steward is open");
    assert_eq!(header("List-Id"), "<waitlist.steward.test>");
    assert_eq!(
        header("List-Unsubscribe-Post"),
        "List-Unsubscribe=One-Click"
    );
    assert!(header("List-Unsubscribe").starts_with("<https://steward.test/unsubscribe/"));
    assert!(header("Message-ID").ends_with("@steward.test>"));
    assert!(received.message.contains("You are number 1."));
    assert!(received.message.is_ascii());
}

#[test]
fn dry_run_sends_and_records_nothing() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        let (out, _, is_success) = send(&cli, &server, &["--next", "2", "--dry-run"]);
        assert!(is_success);
        assert!(
            out.starts_with("would send to 2 of 3 people:\n       1  ann@example.com\n       2  Bob@Example.com\n"),
            "{out}"
        );
        assert!(
            out.contains("Subject: Steward is open\n\nYou are number 1.\n"),
            "{out}"
        );
        assert_eq!((server.connection_count(), messages(&cli)), (0, json!([])));
    }
}

#[test]
fn refusals_have_the_words_of_the_server_and_undeliverable_people_are_left_out() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann@") => {
                Action::Reply("550 5.1.1 <ann@example.com>: no such user")
            }
            _ => Action::Continue,
        });
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        assert_eq!(
            (&*out, &*err, is_success),
            ("2 accepted, 1 refused\n", "", true)
        );
        assert_eq!(
            cli.stdout(&["messages", "launch"]),
            "refused   ann@example.com  550 5.1.1 <address> no such user\n"
        );
        cli.write("again.md", MESSAGE);
        let url = server.url();
        let mut again = args(&url, &["--all"]);
        again[1] = "again.md";
        assert_eq!(cli.stdout(&again), "2 accepted\n");
    }
}

#[test]
fn unknown_results_are_not_sent_again_unless_the_owner_asks() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::End if line.contains("ann@") => Action::AcceptAndCut,
            _ => Action::Continue,
        });
        let (out, err, is_success) = send(&cli, &server, &["--all", "--connections", "1"]);
        assert_eq!(
            (&*out, &*err, is_success),
            ("2 accepted, 1 unknown\n", "", true)
        );
        assert!(
            cli.stdout(&["messages", "launch"])
                .starts_with("unknown   ann@example.com")
        );
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert!(
            out.contains("1 unknown: --resend-unknown sends to them again"),
            "{out}"
        );
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all", "--resend-unknown"]);
        assert_eq!(
            (&*out, server.recipients()),
            ("1 accepted\n", vec!["ann@example.com".into()])
        );
    }
}

#[test]
fn objection_of_the_server_stops_the_send() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, _| match step {
            Step::End => Action::Reply("451 4.7.1 too many messages from you"),
            _ => Action::Continue,
        });
        let (out, err, is_success) = send(&cli, &server, &["--all", "--connections", "1"]);
        assert!(!is_success);
        assert_eq!(out, "0 accepted, 1 deferred, 2 waiting\n");
        assert!(
            err.starts_with("landing: the mail server objects to the sender or to the message: 451 4.7.1 too many"),
            "{err}"
        );
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!((&*out, server.recipients().len()), ("3 accepted\n", 3));
    }
}

#[test]
fn many_refusals_stop_the_send() {
    let cli = without_server();
    let people: String = (0..400)
        .map(|number| format!("p{number}@example.com\n"))
        .collect();
    cli.run_with_input(&["import"], format!("email\n{people}"))
        .success();
    let server = SmtpServer::scripted(|step, _| match step {
        Step::Recipient => Action::Reply("550 5.1.1 no such user"),
        _ => Action::Continue,
    });
    let (out, err, is_success) = send(&cli, &server, &["--all", "--connections", "1"]);
    assert!(!is_success);
    assert!(err.contains("refused 5 of the last 5 messages"), "{err}");
    assert!(out.starts_with("0 accepted, 5 refused"), "{out}");
}

#[test]
fn wrong_password_or_refused_connection_records_nothing() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, _| match step {
            Step::LogIn => Action::Reply("535 5.7.8 wrong"),
            _ => Action::Continue,
        });
        cli.write("launch.md", MESSAGE);
        let url = server.url().replace("smtp://", "smtp://user:secret@");
        let result = cli.run(&args(&url, &["--all"]));
        let err = stderr(&result);
        assert!(
            err.contains("nothing was sent") && err.contains("535 5.7.8 wrong"),
            "{err}"
        );
        assert!(!err.contains("secret"), "{err}");
        let result = cli.run(&args("smtp://127.0.0.1:1", &["--all"]));
        assert!(
            stderr(&result).contains("cannot connect"),
            "{}",
            stderr(&result)
        );
        assert_eq!(messages(&cli), json!([]));
    }
}

#[test]
fn people_who_have_left_get_nothing() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, _| match step {
            Step::End => Action::Reply("451 4.7.1 not now"),
            _ => Action::Continue,
        });
        send(&cli, &server, &["--all", "--connections", "1"]);
        cli.run(&["erase", "cyd@example.com"]).success();
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "2 accepted, 1 left\n");
        assert_eq!(server.recipients(), ["Bob@Example.com", "ann@example.com"]);
    }
}

#[test]
fn exports_carry_the_ledger_to_another_list() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann@") => Action::Reply("550 5.1.1 no such user"),
            Step::End if line.contains("Bob@") => Action::AcceptAndCut,
            _ => Action::Continue,
        });
        send(&cli, &server, &["--all", "--connections", "1"]);
        for format in ["csv", "jsonl"] {
            let file = format!("list.{format}");
            cli.run(&["export", "-o", &file]).success();
            for other in all_stores() {
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
}

#[test]
fn errors_of_a_message_name_the_file_and_the_line() {
    let cli = without_server().with_three_people();
    cli.write("launch.md", "---\nsubject: Hi\n---\nDear {name},\n");
    let err = stderr(&cli.run(&args("smtp://127.0.0.1:1", &["--all"])).failure());
    assert!(
        err.starts_with("landing: launch.md:4: unknown placeholder {name}"),
        "{err}"
    );
}

#[test]
fn settings_that_are_missing_are_named() {
    let cli = without_server().with_three_people();
    cli.write("launch.md", MESSAGE);
    for (args, part) in [
        (
            vec!["send", "launch.md", "--all"],
            "no mail server is set; set it with --smtp",
        ),
        (
            vec!["send", "launch.md", "--all", "--smtp", "smtp://127.0.0.1:1"],
            "no sender is set",
        ),
        (
            vec![
                "send",
                "launch.md",
                "--all",
                "--smtp",
                "http://user:secret@x",
            ],
            "--smtp (LANDING_SMTP): the URL must start with smtps:// or smtp://",
        ),
        (
            vec![
                "send",
                "launch.md",
                "--all",
                "--smtp",
                "smtp://user@x",
                "--mail-from",
                "a@b.test",
            ],
            "the URL has only one of user and password",
        ),
        (
            vec![
                "send",
                "launch.md",
                "--all",
                "--smtp",
                "smtp://x",
                "--mail-from",
                "nobody",
            ],
            "--mail-from (LANDING_MAIL_FROM): expected a name and an address",
        ),
        (
            vec![
                "send",
                "launch.md",
                "--all",
                "--smtp",
                "smtp://x",
                "--mail-from",
                "a@b.test",
            ],
            "the public URL of the site is not set",
        ),
        (
            vec!["send", "nothing.md", "--all"],
            "cannot read nothing.md",
        ),
    ] {
        let err = stderr(&cli.run(&args).failure());
        assert!(err.contains(part), "{part}: {err}");
        assert!(!err.contains("secret"), "{err}");
    }
    cli.run(&["send", "launch.md"]).code(2);
    cli.run(&["send", "launch.md", "--all", "--next", "3"])
        .code(2);
}

#[test]
fn killed_sends_lose_and_repeat_no_message() {
    const PEOPLE: usize = 900;
    for cli in all_stores() {
        let people: String = (0..PEOPLE)
            .map(|number| format!("p{number}@example.com\n"))
            .collect();
        cli.run_with_input(&["import"], format!("email\n{people}"))
            .success();
        cli.write("launch.md", MESSAGE);
        let server = SmtpServer::start();
        let url = server.url();
        // Each is killed at another moment, when some more messages have arrived.
        for round in 1..=6 {
            let mut send = cli.landing();
            send.args(args(&url, &["--all"]))
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut send = send.spawn().expect("the program starts");
            let enough = server.recipients().len() + round * 13;
            while server.recipients().len() < enough
                && send.try_wait().expect("the program runs").is_none()
            {
                thread::sleep(Duration::from_millis(1));
            }
            send.kill().expect("the program runs");
            send.wait().expect("the program ends");
        }
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        assert!(is_success, "{out} {err}");
        let counts = &messages(&cli)[0];
        let count = |state: &str| counts[state].as_u64().expect("a number") as usize;
        // While a server holds the list, and in a database, nobody can know yet that the senders are dead.
        let in_doubt = count("unknown") + count("sending");
        assert_eq!(count("accepted") + in_doubt, PEOPLE, "{counts}");
        let received = server.recipients();
        let distinct: BTreeSet<_> = received.iter().cloned().collect();
        assert_eq!(received.len(), distinct.len(), "a message was sent twice");
        let listed = cli.json(&["messages", "launch"]);
        let listed = listed.as_array().expect("a list").iter();
        let in_doubt: BTreeSet<_> = listed
            .filter(|it| ["unknown", "sending"].contains(&it["state"].as_str().expect("text")))
            .map(|it| it["email"].as_str().expect("an address").to_owned())
            .collect();
        // Everybody has the message, or is reported as unknown.
        for person in (0..PEOPLE).map(|number| format!("p{number}@example.com")) {
            assert!(
                distinct.contains(&person) || in_doubt.contains(&person),
                "{person} is lost"
            );
        }
        // Few are in doubt: those that were begun when the program was killed.
        assert!(in_doubt.len() <= 6 * 4 * 64, "{}", in_doubt.len());
    }
}
