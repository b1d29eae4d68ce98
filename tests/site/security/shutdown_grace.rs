//! The grace period of a shutdown: requests and messages that take too long, and a second signal.

use std::{
    io::Write,
    net::TcpStream,
    sync::mpsc,
    time::{Duration, Instant},
};

use super::shutdown::ENDLESS_GRACE;
use crate::{
    fixtures::parse_config,
    mail::smtp_server::{Action, SmtpServer, Step},
    process::{Sandbox, ServerProcess, TEST_TIMEOUT, wait_until},
};

/// Returns a connection whose client reads no responses.
fn unread_responses(server: &ServerProcess) -> TcpStream {
    let stream = TcpStream::connect(&server.addr).expect("the server listens");
    let requests = "GET / HTTP/1.1\r\nHost: site\r\n\r\n".repeat(100);
    stream.set_nonblocking(true).expect("a socket");
    wait_until("the server reads no more requests", || {
        (&stream).write(requests.as_bytes()).is_err()
    });
    stream
}

#[test]
fn second_signal_skips_the_grace_period() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve_with(&[ENDLESS_GRACE]);
    let _stream = unread_responses(&server);
    server.signal("-INT");
    // The server handles the first signal before the second arrives.
    server.wait_until_stopping();
    server.signal("-INT");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log_without_requests().join("\n");
    assert!(log.contains("cut off, as asked"), "{log}");
}

/// Starts a server that sends a message to a mail server, which never replies.
fn server_with_unsent_message(grace: &str) -> (ServerProcess, Sandbox) {
    let (has_message, wait_for_message) = mpsc::channel();
    let mail = SmtpServer::scripted(move |step, _| match step {
        Step::End => {
            // The receiver is gone once the test is over.
            let _ = has_message.send(());
            Action::Stall
        }
        _ => Action::Continue,
    });
    let sandbox = Sandbox::new();
    let server = sandbox.serve_with(&[
        grace,
        "--confirm-signups",
        "--origin=https://steward.test",
        "--mail-from=hello@steward.test",
        &format!("--smtp={}", mail.url()),
    ]);
    assert_eq!(server.join("ann@example.com"), "201");
    let waited = wait_for_message.recv_timeout(TEST_TIMEOUT);
    waited.expect("the mail server gets the message");
    (server, sandbox)
}

/// A service manager kills a server that takes longer than its own timeout, which the owner has set by the grace.
#[test]
fn requests_and_messages_have_one_grace_period_together() {
    let (mut server, _sandbox) = server_with_unsent_message("--shutdown-grace=3");
    let _stream = unread_responses(&server);
    let stopped_at = Instant::now();
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let took = stopped_at.elapsed();
    assert!(took >= Duration::from_secs(3), "{took:?}");
    // Two periods would take six seconds.
    assert!(took < Duration::from_secs(6), "{took:?}");
}

#[test]
fn second_signal_waits_for_no_message() {
    let (mut server, _sandbox) = server_with_unsent_message(ENDLESS_GRACE);
    server.signal("-TERM");
    server.wait_until_stopping();
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
}

/// The recipe of the container kills the program after its `--stop-timeout`.
#[test]
fn container_recipe_waits_longer_than_the_grace_period() {
    let page = include_str!("../../../docs/deployment.md");
    let (_, rest) = page.split_once("--stop-timeout ").expect("the recipe");
    let timeout: Option<u64> = rest.split(' ').next().and_then(|it| it.parse().ok());
    let config = parse_config(&[]).expect("the defaults");
    // The list is closed afterwards.
    assert!(timeout >= Some(config.shutdown_grace + 5), "{timeout:?}");
}
