//! The choice of `landing send` after an interruption, and how the rest is continued or given up. Also copies, renamed files,
//! and unsubscribe links that do not work.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{
    TestCli, all_stores, assert_contains,
    send::{MESSAGE, args, messages, send, send_file},
    stderr, stdout, with_server, with_three_people, without_server,
};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::wait_until,
};

/// Imports three people from Hacker News. Three others have waited longer.
fn with_sources(cli: &TestCli) {
    let people = "email,joined_at,source\n\
        a1@example.com,2026-11-01T08:00:00Z,\n\
        a2@example.com,2026-11-01T09:00:00Z,other\n\
        a3@example.com,2026-11-01T10:00:00Z,\n\
        hn1@example.com,2026-11-02T08:00:00Z,hn\n\
        hn2@example.com,2026-11-02T09:00:00Z,hn\n\
        hn3@example.com,2026-11-02T10:00:00Z,hn\n";
    cli.run_with_input(&["import"], people).success();
}

/// Begins the message for everybody, and is stopped after the first person.
fn interrupt(cli: &TestCli) {
    let ends = AtomicUsize::new(0);
    let server = SmtpServer::scripted(move |step, _| match step {
        Step::End if ends.fetch_add(1, Ordering::SeqCst) > 0 => {
            Action::Reply("451 4.7.1 too many messages from you")
        }
        _ => Action::Continue,
    });
    let (out, err, is_success) = send(cli, &server, &["--all"]);
    assert!(!is_success, "{out}");
    assert_contains(
        &err,
        "--continue sends to them, and --abandon gives them up",
    );
}

#[test]
fn selection_holds_after_an_interruption() {
    for cli in all_stores() {
        with_sources(&cli);
        interrupt(&cli);
        let server = SmtpServer::start();
        let (out, err, is_success) = send(&cli, &server, &["--next", "1", "--source", "hn"]);
        assert_eq!((&*out, is_success), ("1 accepted\n", true));
        assert_contains(
            &err,
            "4 chosen by an earlier send still wait: --continue sends to them",
        );
        assert_eq!(server.recipients(), ["hn1@example.com"]);
        let dry_run = ["--all", "--source", "hn", "--dry-run", "--json"];
        let (out, ..) = send(&cli, &server, &dry_run);
        let plan: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        let expected = json!(["hn2@example.com", "hn3@example.com"]);
        assert_eq!(
            (&plan["addresses"], &plan["waiting"]),
            (&expected, &json!(2))
        );
        // A person who joins is not among the rest.
        cli.run_with_input(&["import"], "new@example.com\n")
            .success();
        let (out, ..) = send(&cli, &server, &["--continue"]);
        assert_eq!(out, "4 accepted\n");
        let expected = [
            "a2@example.com",
            "a3@example.com",
            "hn1@example.com",
            "hn2@example.com",
            "hn3@example.com",
        ];
        assert_eq!(server.recipients(), expected);
        let (out, ..) = send(&cli, &server, &["--continue"]);
        assert!(out.starts_with("nobody to send to: "), "{out}");
    }
}

#[test]
fn abandoned_people_count_as_those_who_have_not_had_it() {
    for cli in all_stores() {
        with_sources(&cli);
        interrupt(&cli);
        cli.run(&["erase", "a3@example.com"]).success();
        cli.write("launch.md", MESSAGE);
        assert_eq!(
            cli.stdout(&["send", "launch.md", "--abandon"]),
            "5 given up\n"
        );
        assert_eq!(
            (
                &messages(&cli)[0]["skipped"],
                &messages(&cli)[0]["accepted"]
            ),
            (&json!(5), &json!(1))
        );
        let server = SmtpServer::start();
        let (out, ..) = send(&cli, &server, &["--continue"]);
        // Of the people who were given up, nobody waits.
        assert!(out.starts_with("nobody to send to: "), "{out}");
        let (out, err, _) = send(&cli, &server, &["--next", "2"]);
        assert_eq!((&*out, &*err), ("2 accepted\n", ""));
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "2 accepted\n");
        assert_eq!(server.recipients().len(), 4);
        let abandoned = cli.json(&["send", "launch.md", "--abandon"]);
        assert_eq!(abandoned, json!({ "message": "launch", "abandoned": 0 }));
        cli.write("lunch.md", MESSAGE);
        cli.assert_fails(
            &["send", "lunch.md", "--abandon"],
            "no message lunch was sent",
        );
    }
}

#[test]
fn copy_goes_to_any_address_and_the_list_forgets_it() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        for _ in 0..2 {
            let (out, err, _) = send(&cli, &server, &["--test", "you@other.test"]);
            assert!(
                out.starts_with("a copy was sent to you@other.test: 250"),
                "{out}{err}"
            );
        }
        assert_eq!(messages(&cli), json!([]));
        let (out, ..) = send(&cli, &server, &["--all"]);
        assert_eq!(out, "3 accepted\n");
        let received = server.received();
        let id = |message: &str| {
            let line = message.lines().find(|it| it.starts_with("Message-ID: "));
            line.expect("an id").to_owned()
        };
        assert_eq!(received[0].recipient, "you@other.test");
        // Mail programs show only one message with an id.
        assert_ne!(id(&received[0].message), id(&received[1].message));
        let refusing =
            SmtpServer::acting(Step::Recipient, "", Action::Reply("550 5.1.1 no such user"));
        let (_, err, is_success) = send(&cli, &refusing, &["--test", "you@other.test"]);
        assert!(!is_success && err.contains("refused: 550 5.1.1"), "{err}");
        let invalid = args("smtp://127.0.0.1:1", &["--test", "foo"]);
        cli.run(&invalid).code(2);
        // Nor would the message go to the list.
        cli.write("launch.md", MESSAGE.to_owned() + &"\n\nline".repeat(10_000));
        let too_long = args("smtp://127.0.0.1:1", &["--test", "you@other.test"]);
        cli.assert_fails(&too_long, "Gmail cuts messages");
    }
}

/// Checks that a renamed file is not sent.
fn assert_renamed(cli: &TestCli, server: &SmtpServer, file: &str, more: &[&str], part: &str) {
    let (_, error, is_success) = send_file(cli, server, file, more);
    assert!(!is_success, "{error}");
    for text in [part, "`id: launch`", "--new-message"] {
        assert_contains(&error, text);
    }
}

#[test]
fn renamed_file_goes_to_nobody_again() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        send(&cli, &server, &["--next", "2"]);
        for name in ["launch2.md", "launch (1).md"] {
            cli.write(name, MESSAGE);
            for more in [&["--all"][..], &["--all", "--dry-run"]] {
                let part = "has the subject of launch, which was begun at ";
                assert_renamed(&cli, &server, name, more, part);
            }
        }
        // As the error recommends.
        let same = MESSAGE.replacen("---\n", "---\nid: launch\n", 1);
        cli.write("launch2.md", same);
        let (out, ..) = send_file(&cli, &server, "launch2.md", &["--all"]);
        assert_eq!(out, "1 accepted\n");
        let another = ["--all", "--new-message"];
        let (out, ..) = send_file(&cli, &server, "launch (1).md", &another);
        assert_eq!(out, "3 accepted\n");
    }
}

/// Titles change, and editors save files with other line ends.
#[test]
fn renamed_file_with_another_subject_goes_to_nobody_again() {
    let retitled = MESSAGE.replace("is open", "has opened");
    let resaved =
        format!("\u{feff}{}  \r\n\r\n", retitled.trim_end()).replace("---\nYou", "---\r\n\r\nYou");
    let another_text = retitled.replace("number", "person");
    for cli in with_three_people() {
        let server = SmtpServer::start();
        send(&cli, &server, &["--next", "1"]);
        for text in [&retitled, &resaved] {
            cli.write("opened.md", text);
            let part = "opened has the text of launch, which was begun at ";
            assert_renamed(&cli, &server, "opened.md", &["--all"], part);
        }
        // Only the text tells them apart.
        cli.write("opened.md", &another_text);
        let (out, ..) = send_file(&cli, &server, "opened.md", &["--all"]);
        assert_eq!(out, "3 accepted\n");
        cli.write("opened.md", &retitled);
        let (_, warning, is_success) = send_file(&cli, &server, "opened.md", &["--all"]);
        assert!(is_success, "{warning}");
        assert_contains(&warning, "opened was begun with another text");
        cli.write("again.md", &retitled);
        let again = ["--all", "--new-message"];
        let (out, ..) = send_file(&cli, &server, "again.md", &again);
        assert_eq!(out, "3 accepted\n");
        assert_eq!(server.received().len(), 7);
    }
}

/// Sends with the check of the links.
fn send_checked(cli: &TestCli, server: &SmtpServer, origin: &str, to: &[&str]) -> (String, String) {
    cli.write("launch.md", MESSAGE);
    let url = server.url();
    let mut checked = args(&url, to);
    checked.retain(|it| *it != "--skip-link-check");
    let at = checked.iter().position(|it| *it == "https://steward.test");
    checked[at.expect("an origin")] = origin;
    let result = cli.run(&checked);
    (stdout(&result), stderr(&result))
}

/// Returns the origin of a site that responds to every request with these lines.
fn fake_site(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    // The thread ends with the test.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let response =
                format!("HTTP/1.1 {response}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(response.as_bytes());
        }
    });
    origin
}

#[test]
fn dead_unsubscribe_links_stop_the_send_before_the_first_message() {
    let other_site = with_server().with_three_people();
    let origin_of = |cli: &TestCli| {
        let site = cli.server.as_ref().expect("a server");
        format!("http://{}", site.addr)
    };
    let other_origin = origin_of(&other_site);
    for cli in with_three_people() {
        let server = SmtpServer::start();
        for (origin, cause) in [
            (&*other_origin, "it serves another list"),
            ("http://127.0.0.1:1", "cannot connect"),
            (&fake_site("200 OK"), "not from this program"),
            (
                &fake_site("301 Moved Permanently\r\nLocation: https://steward.test/"),
                "GET is redirected",
            ),
            (
                &fake_site("503 Service Unavailable\r\nX-Robots-Tag: noindex"),
                "see the log of the server",
            ),
            // Such a page is also for people who have left.
            (
                &fake_site("200 OK\r\nX-Robots-Tag: noindex"),
                "the person is not on its list",
            ),
        ] {
            let (out, err) = send_checked(&cli, &server, origin, &["--all"]);
            assert_eq!(out, "", "{cause}");
            assert_contains(
                &err,
                "nothing was sent, because the unsubscribe links would not work",
            );
            assert!(err.contains(cause), "{cause}: {err}");
            assert!(!err.contains("example.com"), "{err}");
        }
        assert_eq!((server.connection_count(), messages(&cli)), (0, json!([])));
        if cli.server.is_some() {
            // Bob has typed capital letters.
            for (to, expected) in [
                (&["--to", "bob@example.com"][..], "1 accepted\n"),
                (&["--all"], "2 accepted\n"),
            ] {
                let (out, err) = send_checked(&cli, &server, &origin_of(&cli), to);
                assert_eq!(out, expected, "{err}");
            }
        }
    }
}

/// As while a relay restarts.
#[test]
fn refused_connection_is_tried_again() {
    let cli = without_server().with_three_people();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // The first connection only checks the login. The second one breaks, and then nobody listens for a while.
    let relay = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let _ = stream.write_all(b"220 mail.test ESMTP\r\n");
        if stream.read(&mut [0; 512]).is_ok() {
            let _ = stream.write_all(b"250 mail.test\r\n");
        }
        let _ = listener.accept();
    });
    cli.write("launch.md", MESSAGE);
    let url = format!("smtp://{address}");
    let mut command = cli.landing();
    command.args(args(&url, &["--all"]));
    command.stdout(std::process::Stdio::piped());
    let sending = command.spawn().expect("the program starts");
    relay.join().expect("two connections");
    // The next attempt comes after a second, and is refused. Nothing else shows that.
    thread::sleep(Duration::from_millis(1_500));
    let mut server = None;
    wait_until("the port is free", || {
        server = SmtpServer::at(address);
        server.is_some()
    });
    let output = sending.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "3 accepted\n");
    assert_eq!(server.expect("a server").recipients().len(), 3);
}
