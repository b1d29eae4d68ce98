//! `landing send` and `landing messages`.

use std::{
    process::{Child, Stdio},
    time::SystemTime,
};

use serde_json::{Value, json};

use super::{TestCli, assert_contains, rfc3339, stderr, stdout, with_three_people, without_server};
use crate::mail::smtp_server::{Action, SmtpServer, Step};

pub(super) const MESSAGE: &str =
    "---\nsubject: \"{product} is open\"\n---\nYou are number {position}.\n";

/// Returns the arguments of a send over a server.
pub(super) fn args<'a>(url: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    args_with_rate(url, "0", more)
}

/// The same, with a number of messages per second.
pub(super) fn args_with_rate<'a>(url: &'a str, rate: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = [
        "send",
        "launch.md",
        "--yes",
        "--rate",
        rate,
        "--smtp",
        url,
        "--mail-from",
        "Steward <hello@steward.test>",
        "--origin",
        "https://steward.test",
        "--skip-link-check",
    ];
    [&fixed[..], more].concat()
}

/// Starts a send that a test interrupts.
pub(super) fn start(cli: &TestCli, args: &[&str]) -> Child {
    cli.write("launch.md", MESSAGE);
    let mut command = cli.landing();
    command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

pub(super) fn send(cli: &TestCli, server: &SmtpServer, more: &[&str]) -> (String, String, bool) {
    cli.write("launch.md", MESSAGE);
    send_file(cli, server, "launch.md", more)
}

/// Sends the message in a file.
pub(super) fn send_file(
    cli: &TestCli,
    server: &SmtpServer,
    file: &str,
    more: &[&str],
) -> (String, String, bool) {
    let url = server.url();
    let mut args = args(&url, more);
    args[1] = file;
    let result = cli.run(&args);
    let is_success = result.get_output().status.success();
    (stdout(&result), stderr(&result), is_success)
}

pub(super) fn messages(cli: &TestCli) -> Value {
    cli.json_lines(&["messages"])
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
        assert_contains(&out, "Subject: Steward is open\n\nYou are number 1.\n");
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
        let again = send_file(&cli, &server, "again.md", &["--all", "--new-message"]);
        let left_out = "landing: 1 left out, because their mailbox does not exist\n";
        assert_eq!((&*again.0, &*again.1), ("2 accepted\n", left_out));
        let to_ann = ["--to", "ann@example.com", "--new-message"];
        let (_, err, is_success) = send_file(&cli, &server, "again.md", &to_ann);
        let error = "landing: ann@example.com is left out, because their mailbox does not exist; nothing was sent\n";
        assert_eq!((&*err, is_success), (error, false));

        // Whoever confirms an address can read messages.
        cli.run(&["erase", "ann@example.com"]).success();
        let confirmed_at = rfc3339(SystemTime::now());
        let person = format!(
            "email,joined_at,confirmed_at\nann@example.com,2026-11-01T08:00:00Z,{confirmed_at}\n"
        );
        cli.run_with_input(&["import"], person).success();
        let server = SmtpServer::start();
        cli.write("third.md", MESSAGE);
        let (out, ..) = send_file(&cli, &server, "third.md", &["--all", "--new-message"]);
        assert_eq!(out, "3 accepted\n");
    }
}

/// The cause is the sender or the message. So the people get the message once the owner has fixed it.
#[test]
fn objection_of_the_server_stops_the_send_and_refuses_nobody() {
    let replies = [
        (Step::End, "451 4.7.1 too many messages from you"),
        (Step::End, "554 5.7.1 this looks like spam"),
        (Step::Mail, "553 sender address rejected: not owned by user"),
        (Step::Recipient, "550 5.7.1 relaying denied"),
        (Step::Recipient, "503 5.5.1 authentication required first"),
        (Step::End, "552 5.3.4 message too big"),
        // Amazon SES says both without an enhanced code.
        (Step::End, "554 Message rejected: address is not verified"),
        (Step::End, "454 Throttling failure: daily quota exceeded"),
    ];
    let places = with_three_people().into_iter();
    let places = places.chain([(); 5].map(|()| without_server().with_three_people()));
    for ((step, reply), cli) in replies.into_iter().zip(places) {
        let server = SmtpServer::scripted(move |at, _| match at == step {
            true => Action::Reply(reply),
            false => Action::Continue,
        });
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        assert!(!is_success, "{reply}");
        assert_eq!(out, "0 accepted, 1 deferred, 2 waiting\n", "{reply}");
        let start = "landing: the mail server objects to the sender or to the message: ";
        assert!(err.starts_with(&format!("{start}{reply}")), "{err}");
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!((&*out, server.recipients().len()), ("3 accepted\n", 3));
    }
}

/// As Postfix does for `-ann@example.com` and `ann@localhost`, which the form accepts, and others for a full mailbox.
#[test]
fn server_that_rejects_the_form_of_one_address_gets_the_other_messages() {
    for reply in [
        "501 5.1.3 bad recipient address syntax",
        "504 5.5.2 need fully-qualified address",
        "550 5.5.0 mailbox unavailable",
    ] {
        let cli = without_server().with_three_people();
        let server = SmtpServer::scripted(move |step, line| match step {
            Step::Recipient if line.contains("ann") => Action::Reply(reply),
            _ => Action::Continue,
        });
        let (out, err, is_success) = send(&cli, &server, &["--all"]);
        let expected = ("2 accepted, 1 refused\n", "", true);
        assert_eq!((&*out, &*err, is_success), expected, "{reply}");
    }
}

#[test]
fn refused_messages_are_sent_again_if_the_owner_asks() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, line| match step {
            Step::Recipient if line.contains("ann") => Action::Reply("550 5.1.1 no such user"),
            Step::Recipient if line.contains("cyd") => Action::Reply("552 5.2.2 mailbox full"),
            _ => Action::Continue,
        });
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "1 accepted, 2 refused\n");
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all", "--resend-refused"]);
        assert_eq!(out, "1 accepted\n");
        assert_eq!(server.recipients(), ["cyd@example.com"]);
    }
}

#[test]
fn many_refusals_stop_the_send() {
    let cli = without_server();
    cli.import_people(400);
    let server = SmtpServer::acting(Step::Recipient, "", Action::Reply("550 5.1.1 no such user"));
    let (out, err, is_success) = send(&cli, &server, &["--all"]);
    assert!(!is_success);
    assert_contains(&err, "refused 5 of the last 5 messages");
    assert!(out.starts_with("0 accepted, 5 refused"), "{out}");
}

#[test]
fn wrong_password_or_refused_connection_records_nothing() {
    for cli in with_three_people() {
        let server = SmtpServer::scripted(|step, _| match step {
            // The user is `user`, and the password is `secret`.
            Step::LogIn => Action::Reply("535 5.7.8 wrong: secret AHVzZXIAc2VjcmV0"),
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
        assert!(!err.contains("secret") && !err.contains("AHVz"), "{err}");
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
    let of_smtp = |url| ["--smtp", url, "--mail-from", "a@b.test"];
    for (args, part) in [
        (&[][..], "no mail server is set; set it with --smtp"),
        (&["--smtp", "smtp://127.0.0.1:1"], "no sender is set"),
        (
            &of_smtp("http://user:secret@x"),
            "--smtp (LANDING_SMTP): the URL must start with smtps:// or smtp://",
        ),
        (
            &of_smtp("smtp://user@x"),
            "the URL has only one of user and password",
        ),
        (
            &["--smtp", "smtp://x", "--mail-from", "nobody"],
            "--mail-from (LANDING_MAIL_FROM): expected a name and an address",
        ),
        (
            &of_smtp("smtp://x"),
            "the public URL of the site is not set",
        ),
    ] {
        let args = [&["send", "launch.md", "--all"], args].concat();
        let err = stderr(&cli.run(&args).failure());
        assert!(err.contains(part), "{part}: {err}");
        assert!(!err.contains("secret"), "{err}");
    }
    cli.assert_fails(&["send", "nothing.md", "--all"], "cannot read nothing.md");
    cli.run(&["send", "launch.md"]).code(2);
    cli.run(&["send", "launch.md", "--all", "--next", "3"])
        .code(2);
}
