//! Which people `landing send` chooses after an interruption, and when it stops by itself.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use super::{
    assert_contains,
    send::{MESSAGE, args, send, send_file, start},
    stderr, with_three_people, without_server,
};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{TEST_TIMEOUT, signal},
};

#[test]
fn messages_without_a_reply_stop_the_send() {
    let cli = without_server();
    cli.import_people(30);
    let server = SmtpServer::acting(Step::End, "", Action::AcceptAndCut);
    let (out, err, is_success) = send(&cli, &server, &["--all"]);
    assert!(!is_success);
    assert_eq!(out, "0 accepted, 5 unknown, 25 waiting\n");
    assert_contains(&err, "did not reply, during 5 messages in a row");
}

/// A server that closes the connection now and then gets all messages.
#[test]
fn messages_without_a_reply_stop_the_send_only_if_they_are_in_a_row() {
    let cli = without_server();
    cli.import_people(30);
    let ends = AtomicUsize::new(0);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::End if ends.fetch_add(1, Ordering::SeqCst) % 5 < 4 => Action::AcceptAndCut,
        _ => Action::Continue,
    });
    let (out, err, is_success) = send(&cli, &server, &["--all"]);
    assert_eq!(out, "6 accepted, 24 unknown\n", "{err}");
    assert!(!is_success, "{err}");
}

/// Some servers object to one recipient with the code of an objection to the sender.
#[test]
fn person_to_whom_the_server_objects_keeps_nobody_waiting() {
    let replies = ["550 5.7.1 closed mailbox", "450 4.7.1 not from you yet"];
    let places = with_three_people()
        .into_iter()
        .chain([without_server().with_three_people()]);
    for (cli, reply) in places.zip(replies.into_iter().cycle()) {
        let server = SmtpServer::scripted(move |step, line| match step {
            Step::Recipient if line.contains("ann") => Action::Reply(reply),
            _ => Action::Continue,
        });
        let (out, ..) = send(&cli, &server, &["--next", "1"]);
        assert_eq!(out, "0 accepted, 1 deferred\n");
        for _ in ["Bob", "Cyd"] {
            let (out, ..) = send(&cli, &server, &["--next", "1"]);
            assert_eq!(out, "1 accepted\n");
        }
        let (out, ..) = send(&cli, &server, &["--next", "1"]);
        assert_eq!(out, "0 accepted, 1 deferred\n");
    }
}

#[test]
fn interrupted_send_gives_up_a_server_that_stalls() {
    for cli in with_three_people() {
        let (stalled, stall) = mpsc::channel();
        let stalled = Mutex::new(stalled);
        let server = SmtpServer::scripted(move |step, _| match step {
            Step::Recipient => {
                // The test may be over.
                let _ = stalled.lock().expect("no panic").send(());
                Action::Stall
            }
            _ => Action::Continue,
        });
        let url = server.url();
        let sending = start(&cli, &args(&url, &["--all"]));
        stall.recv_timeout(TEST_TIMEOUT).expect("a recipient");
        signal(sending.id(), "-INT");
        let output = sending.wait_with_output().expect("the program ends");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "0 accepted, 3 waiting\n"
        );
    }
}

#[test]
fn person_who_is_skipped_keeps_nobody_waiting() {
    for cli in with_three_people() {
        // Bob is deferred, and Ann and Cyd wait. Then Cyd's mailbox turns out not to exist.
        let server = SmtpServer::acting(Step::End, "", Action::Reply("451 4.7.1 not now"));
        send(&cli, &server, &["--all"]);
        let server = SmtpServer::acting(
            Step::Recipient,
            "cyd",
            Action::Reply("550 5.1.1 no such user"),
        );
        cli.write("other.md", MESSAGE);
        let to_cyd = ["--to", "cyd@example.com", "--new-message"];
        send_file(&cli, &server, "other.md", &to_cyd);
        cli.run_with_input(&["import"], "dan@example.com\n")
            .success();
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "3 accepted\n");
        assert_eq!(
            server.recipients(),
            ["Bob@Example.com", "ann@example.com", "dan@example.com"]
        );
    }
}

#[test]
fn messages_that_are_sent_again_obey_the_selection() {
    for cli in with_three_people() {
        let server = SmtpServer::acting(Step::End, "", Action::AcceptAndCut);
        send(&cli, &server, &["--all"]);
        let server = SmtpServer::start();
        let again = ["--next", "1", "--resend-unknown"];
        let (out, ..) = send(&cli, &server, &again);
        assert_eq!(out, "1 accepted\n");
        let nobody = ["--all", "--resend-unknown", "--domain", "other.example"];
        let (out, ..) = send(&cli, &server, &nobody);
        assert!(out.starts_with("nobody to send to"), "{out}");
        // And keep nobody else waiting.
        cli.run_with_input(&["import"], "dan@example.com\n")
            .success();
        let (out, ..) = send(&cli, &server, &["--all", "--resend-unknown"]);
        assert_eq!(out, "3 accepted\n");
    }
}

#[test]
fn one_person_cannot_be_selected_further() {
    let cli = without_server();
    let to = ["--to", "ann@example.com", "--domain", "example.com"];
    let error = stderr(&cli.run(&args("smtp://127.0.0.1:1", &to)).code(2));
    assert_contains(&error, "cannot be used with");
}

#[test]
fn address_that_needs_quotation_marks_gets_the_message() {
    let cli = without_server();
    cli.write(
        "list.csv",
        ".ann@example.com\nb..b@example.com\ncyd.@example.com\n",
    );
    cli.run(&["import", "list.csv"]).success();
    let server = SmtpServer::start();
    let (out, err, _) = send(&cli, &server, &["--all"]);
    assert_eq!((&*out, &*err), ("3 accepted\n", ""));
    assert_eq!(
        server.recipients(),
        [
            "\".ann\"@example.com",
            "\"b..b\"@example.com",
            "\"cyd.\"@example.com"
        ]
    );
    let to = "To: \".ann\"@example.com";
    assert!(server.received().iter().any(|it| it.message.contains(to)));
}

#[test]
fn message_that_gmail_would_cut_is_not_sent() {
    let cli = without_server().with_three_people();
    let server = SmtpServer::start();
    cli.write(
        "launch.md",
        format!("---\nsubject: Hi\n---\n{}", "a\n\n".repeat(15_000)),
    );
    let error = stderr(&cli.run(&args(&server.url(), &["--all"])).failure());
    assert!(
        error.contains("launch.md: the message has ")
            && error.contains("Gmail cuts messages after 100000"),
        "{error}"
    );
    assert_eq!(server.connection_count(), 0);
}

#[test]
fn another_subject_under_the_same_id_is_named() {
    let cli = without_server().with_three_people();
    let server = SmtpServer::start();
    let (_, err, _) = send(&cli, &server, &["--next", "1"]);
    assert_eq!(err, "");
    cli.write("launch.md", "---\nsubject: Another\n---\nHi\n");
    let warning = stderr(&cli.run(&args(&server.url(), &["--all"])).success());
    assert_contains(
        &warning,
        "launch was begun with the subject \"{product} is open\"",
    );
}

#[test]
fn people_whom_another_list_has_asked_must_be_confirmed() {
    let cli = without_server();
    let server = SmtpServer::start();
    let people = "email,joined_at,source,confirmed_at,asked_at\n\
                  ann@example.com,2026-11-01T08:00:00Z,,2026-11-01T09:00:00Z,2026-11-01T08:00:00Z\n\
                  bob@example.com,2026-11-02T08:00:00Z,,,2026-11-02T08:00:00Z\n\
                  cyd@example.com,2026-11-03T08:00:00Z,,,\n";
    cli.run_with_input(&["import"], people).success();
    send(&cli, &server, &["--all"]);
    assert_eq!(server.recipients(), ["ann@example.com", "cyd@example.com"]);
    send(&cli, &server, &["--all", "--include-unconfirmed"]);
    assert_eq!(server.recipients().len(), 3);
}

#[test]
fn links_that_the_server_quotes_are_hidden() {
    let cli = without_server().with_three_people();
    cli.write("launch.md", MESSAGE);
    let server = SmtpServer::acting(Step::End, "", Action::Quote("554 5.7.1 blocked:"));
    let error = stderr(&cli.run(&args(&server.url(), &["--all"])).failure());
    assert_contains(&error, "5.7.1 blocked: ");
    assert!(!error.contains("/unsubscribe/"), "{error}");
    let listed = cli.stdout(&["messages", "launch"]);
    assert_contains(&listed, "5.7.1 blocked: ");
    assert!(!listed.contains("/unsubscribe/"), "{listed}");
}

#[test]
fn person_who_left_before_the_message_and_joins_again_gets_it() {
    for cli in with_three_people() {
        let refuses = SmtpServer::acting(Step::End, "", Action::Reply("550 5.7.1 not now"));
        send(&cli, &refuses, &["--all"]);
        cli.run(&["erase", "cyd@example.com"]).success();
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "2 accepted, 1 skipped\n");
        cli.run_with_input(&["import"], "cyd@example.com\n")
            .success();
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "1 accepted\n");
        assert_eq!(
            server.recipients().last().expect("a message"),
            "cyd@example.com"
        );
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert!(out.starts_with("nobody to send to: "), "{out}");
    }
}
