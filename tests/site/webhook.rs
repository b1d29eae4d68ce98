//! The webhook of the program: its log, how it stops, and `landing webhook-test`. `webhook.txt` of the commands has its
//! settings. `store::webhook` sends events, and `durability::kill_webhook` kills the program.

use std::{
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicU16, Ordering},
    },
};

use crate::{
    fixtures::parse_config,
    postgres_server::SHARED_SERVER,
    process::{Sandbox, ServerProcess, landing, wait_until},
    store::webhook_endpoint::{Endpoint, Received, Reply, SECRET},
};

/// Returns the command that serves a sandbox with a webhook, with the list in a database if there is one.
pub(crate) fn serving(sandbox: &Sandbox, url: &str, database: Option<&str>) -> Command {
    let mut command = sandbox.command();
    command.env("LANDING_WEBHOOK", url);
    command.env("LANDING_WEBHOOK_SECRET", SECRET);
    command.envs(database.map(|url| ("DATABASE_URL", url)));
    command
}

/// Runs a command of the owner on the same list.
pub(crate) fn run(sandbox: &Sandbox, database: Option<&str>, args: &[&str]) -> Output {
    let mut command = landing(sandbox.path());
    command.envs(database.map(|url| ("DATABASE_URL", url)));
    let output = command.args(args).output().expect("the program runs");
    assert!(output.status.success(), "{args:?}: {output:?}");
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn failing_endpoint_is_reported_once_and_by_check() {
    for database in [None, Some(SHARED_SERVER.create_database())] {
        let (sandbox, database) = (Sandbox::new(), database.as_deref());
        let failures = AtomicU16::new(2);
        let endpoint = Endpoint::scripted(move |_| {
            let left =
                failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |it| it.checked_sub(1));
            Reply::Status(if left.is_ok() { 503 } else { 204 })
        });
        let mut server = ServerProcess::start(serving(&sandbox, &endpoint.url(), database));
        for name in ["ann", "bob"] {
            assert_eq!(server.join(&format!("{name}@example.com")), "201");
        }
        run(&sandbox, database, &["erase", "ann@example.com"]);
        wait_until("one fails", || !endpoint.received().is_empty());
        let check = || text(&run(&sandbox, database, &["check"]).stdout);
        let waiting = "3 events wait for the webhook, since 20";
        assert!(check().contains(waiting), "{}", check());
        wait_until("all are sent", || endpoint.accepted().len() == 3);
        wait_until("none waits", || check() == "1 on the list, no faults\n");
        server.signal("-TERM");
        assert_eq!(server.wait_for_exit(), Some(0));
        let log = [server.startup_log.clone(), server.log_without_requests()].concat();
        let log = log.join("\n");
        let failing = "the webhook fails: it replies 503 Service Unavailable; ";
        for line in [failing, "the webhook works again"] {
            assert_eq!(log.matches(line).count(), 1, "{log}");
        }
        for secret in ["path-of-the-tests", "whsec", "MfKQ9", "example.com"] {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    }
}

/// The endpoint does not reply. What it may have is sent again after the next start.
#[test]
fn stop_waits_for_no_endpoint() {
    let replies = Arc::new(AtomicU16::new(0));
    let endpoint = Endpoint::scripted(move |_| match replies.fetch_add(1, Ordering::SeqCst) {
        0 => Reply::Hang,
        _ => Reply::Status(204),
    });
    let sandbox = Sandbox::new();
    let mut server = ServerProcess::start(serving(&sandbox, &endpoint.url(), None));
    assert_eq!(server.join("ann@example.com"), "201");
    wait_until("the event is sent", || endpoint.received().len() == 1);
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    // It would have waited for 15 seconds, and reported that.
    let log = server.log_without_requests().join("\n");
    assert!(!log.contains("the webhook fails"), "{log}");
    // Joined without a server, which is not the end of the list.
    run(&sandbox, None, &["add", "bob@example.com"]);
    let _server = ServerProcess::start(serving(&sandbox, &endpoint.url(), None));
    wait_until("both are accepted", || endpoint.accepted().len() == 2);
    let ids: Vec<_> = endpoint.received().into_iter().map(|it| it.id).collect();
    assert_eq!((&ids[0], ids.len()), (&ids[1], 3));
}

#[test]
fn debug_output_shows_neither_the_url_nor_the_secret() {
    for url in [
        "https://hooks.example/token",
        "http://localhost:1/token",
        "http://[::1]/token",
    ] {
        let options = [
            &*format!("--webhook={url}"),
            &*format!("--webhook-secret={SECRET}"),
        ];
        let config = parse_config(&options).expect("options");
        let settings = config.webhook.settings().expect("valid");
        let shown = format!("{config:?} {settings:?}");
        let shows = |secret| shown.contains(secret);
        assert!(!shows("token") && !shows("MfKQ9"), "{shown}");
    }
}

#[test]
fn webhook_test_prints_the_response() {
    let sandbox = Sandbox::new();
    let test = |url: &str| {
        let mut command = landing(sandbox.path());
        command.args(["webhook-test", "--webhook", url]);
        let output = command.env("LANDING_WEBHOOK_SECRET", SECRET).output();
        output.expect("the program runs")
    };
    let endpoint = Endpoint::scripted(|_| {
        Reply::Raw("HTTP/1.1 400 Bad Request\r\ncontent-length: 12\r\n\r\nno\x1b[2J text".into())
    });
    let output = test(&endpoint.url());
    assert_eq!(output.status.code(), Some(1));
    let printed = text(&output.stdout);
    let (first, rest) = printed.split_once('\n').expect("a line");
    assert!(first.ends_with(" replies 400 Bad Request"), "{printed}");
    assert!(!printed.contains("path-of-the-tests"), "{printed}");
    assert_eq!(rest, "no[2J text\n");
    assert!(text(&output.stderr).contains("has not accepted the event"));
    let what: Vec<_> = endpoint.received().iter().map(Received::what).collect();
    assert_eq!(what, ["person.test ann@example.com"]);

    let output = test(&Endpoint::scripted(|_| Reply::Endless(200)).url());
    assert_eq!(output.status.code(), Some(0));
    let printed = text(&output.stdout);
    assert!(printed.contains(" replies 200 OK\n"), "{printed}");
    assert!(printed.len() < 2200, "{} bytes", printed.len());
    assert!(!sandbox.path().join("data").exists(), "no list was created");
}
