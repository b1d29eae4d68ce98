//! The access log: its lines, and what they must not contain.

use std::{
    io::{BufRead, BufReader, Write},
    net::{Shutdown, TcpStream},
};

use serde_json::Value;

use super::http2::PREFACE;
use crate::process::{Sandbox, ServerProcess};

/// Method, path, body, logged route, and the status of the response.
type Case = (&'static str, &'static str, &'static str, &'static str, u64);

/// Requests with an address, or a forged log line, in every part that a client controls.
const REQUESTS: [Case; 8] = [
    ("GET", "/?email=ann@example.com", "", "/", 200),
    ("GET", "/ann@example.com", "", "/{file}", 404),
    ("GET", "/%0a%1b[31mERROR%20forged", "", "/{file}", 404),
    (
        "POST",
        "/api/waitlist",
        r#"{"email":"ann@example.com"}"#,
        "/api/waitlist",
        201,
    ),
    (
        "POST",
        "/api/waitlist",
        r#"{"email":"ann@example.com\n2026 ERROR forged"}"#,
        "/api/waitlist",
        400,
    ),
    ("GET", "/api/ann@example.com", "", "/api/{*path}", 404),
    ("ANN", "/readyz", "", "/readyz", 501),
    ("HEAD", "/", "", "/", 200),
];

/// Sends the requests and returns the log. It contains nothing that a client sent.
fn log_of_requests(options: &[&str]) -> Vec<String> {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.args(options);
    let mut server = ServerProcess::start(command);
    for (method, path, body, _, status) in REQUESTS {
        let response = server.request(method, path, body);
        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {response}"
        );
    }
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    assert_contains_none(&log, &["ann", "example.com", "forged", "\u{1b}", "ANN"]);
    log
}

fn assert_contains_none(log: &[String], forbidden: &[&str]) {
    for text in forbidden {
        assert!(
            !log.iter().any(|line| line.contains(text)),
            "{text}: {log:#?}"
        );
    }
}

#[test]
fn logs_each_request_as_text() {
    let log = log_of_requests(&[]);
    let lines: Vec<_> = log
        .iter()
        .filter(|line| line.contains("answered"))
        .collect();
    assert_eq!(lines.len(), REQUESTS.len(), "{log:#?}");
    for (line, (method, _, _, route, status)) in lines.iter().zip(REQUESTS) {
        let method = if method == "ANN" { "other" } else { method };
        let fields =
            format!("INFO answered method=\"{method}\" route=\"{route}\" status={status} us=");
        assert!(line.contains(&fields), "{line}");
    }
    assert!(lines[3].ends_with(" bytes=27"), "{}", lines[3]);
    // The response to a HEAD has no body.
    assert!(lines[7].ends_with(" bytes=0"), "{}", lines[7]);
}

#[test]
fn logs_each_request_as_json() {
    let log = log_of_requests(&["--log=json"]);
    let objects: Vec<Value> = log
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("not JSON: {line}")))
        .collect();
    let requests: Vec<_> = objects
        .iter()
        .filter(|it| it["message"] == "answered")
        .collect();
    assert_eq!(requests.len(), REQUESTS.len(), "{log:#?}");
    for (object, (method, _, _, route, status)) in requests.iter().zip(REQUESTS) {
        assert_eq!(object["level"], "INFO");
        assert_eq!(
            object["method"],
            if method == "ANN" { "other" } else { method }
        );
        assert_eq!(object["route"], route);
        assert_eq!(object["status"], status);
        assert!(
            object["us"].is_u64() && object["bytes"].is_u64() && object["timestamp"].is_string()
        );
        assert_eq!(object.as_object().expect("an object").len(), 8, "{object}");
    }
}

/// The site logs the requests that it rejects. hyper responds to bytes that it cannot parse without a line in the
/// log. `connections.rs` covers the lines of 408 responses.
#[test]
fn logs_rejected_requests_but_not_unparsable_ones() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    let without_host = "GET /ann@example.com HTTP/1.1\r\n\r\n";
    let two_hosts = "PUT / HTTP/1.1\r\nHost: ann@example.com\r\nHost: site\r\n\r\n";
    // The bytes, the status of the response, and the method and the route of the line in the log.
    type RawCase<'a> = (&'a [u8], &'a str, Option<(&'a str, &'a str)>);
    let cases: [RawCase<'_>; 8] = [
        (b"", "", None),
        (b"ann@example.com\r\n\r\n", "400", None),
        (b"GET /ann@example.com", "", None),
        (b"GET /ann@example.com HTTP/7.0\r\n\r\n", "400", None),
        (
            b"GET / HTTP/1.1\r\nHost: site\r\nann@example.com : a\r\n\r\n",
            "400",
            None,
        ),
        (PREFACE, "505", Some(("other", "/{file}"))),
        (without_host.as_bytes(), "400", Some(("GET", "/{file}"))),
        (two_hosts.as_bytes(), "400", Some(("PUT", "/"))),
    ];
    for (sent, status, _) in &cases {
        let mut stream = TcpStream::connect(&server.addr).expect("the server listens");
        stream.write_all(sent).expect("the server reads");
        if status.is_empty() {
            let done = stream.shutdown(Shutdown::Write);
            done.expect("the connection is open");
        }
        let mut response = String::new();
        let read = BufReader::new(stream).read_line(&mut response);
        read.expect("the connection is not reset");
        let actual = response.split(' ').nth(1).unwrap_or_default();
        assert_eq!(actual, *status, "{}", sent.escape_ascii());
    }
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log();
    assert_contains_none(&log, &["ann", "example.com", "aaaa"]);
    let lines: Vec<_> = log
        .iter()
        .filter(|line| line.contains("answered"))
        .collect();
    let logged: Vec<_> = cases
        .iter()
        .filter_map(|(_, status, fields)| Some((status, (*fields)?)))
        .collect();
    assert_eq!(lines.len(), logged.len(), "{log:#?}");
    for (line, (status, (method, route))) in lines.iter().zip(logged) {
        let fields =
            format!("INFO answered method=\"{method}\" route=\"{route}\" status={status} us=");
        assert!(line.contains(&fields), "{line}");
        assert!(!line.ends_with(" bytes=0"), "{line}");
    }
}

#[test]
fn warns_once_about_an_unconfigured_proxy() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    for _ in 0..3 {
        let body = r#"{"email":"ann@example.com"}"#;
        server.request(
            "POST",
            "/api/waitlist HTTP/1.1\r\nX-Forwarded-For: 203.0.113.7\r\nX:",
            body,
        );
    }
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let log = server.log_without_requests();
    let warnings: Vec<_> = log.iter().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{log:?}");
    assert!(
        warnings[0].contains("add the proxy to --trusted-proxies"),
        "{log:?}"
    );
    assert!(!warnings[0].contains("203.0.113.7"), "{log:?}");
}
