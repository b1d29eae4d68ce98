//! `landing send`, with a site or a mail server that does not work: unsubscribe links, refused connections, silence.

use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Mutex, mpsc},
    thread,
    time::Duration,
};

use serde_json::json;

use super::{
    TestCli, assert_contains,
    send::{MESSAGE, args, messages, start},
    stderr, stdout, with_server, with_three_people, without_server,
};
use crate::{
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{TEST_TIMEOUT, signal, wait_until},
};

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
pub(super) fn fake_site(response: &'static str) -> String {
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
            (&fake_site("none"), "it sent no HTTP response"),
            (
                &fake_site("200 OK").replace("http:", "https:"),
                "cannot connect: received corrupt message",
            ),
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
