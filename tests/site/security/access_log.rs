//! What the log says of requests, and what it must not say.

use std::{
    io::{Write, read_to_string},
    net::{Shutdown, TcpStream},
};

use serde_json::Value;

use super::http2::PREFACE;
use crate::process::{Sandbox, ServerProcess};

/// Requests that try to get something of theirs into the log, and how their lines begin.
const REQUESTS: [(&str, &str, &str, &str, u64); 7] = [
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
    ("ANN", "/readyz", "", "/readyz", 405),
];

/// What the program logs of them.
fn log(options: &[&str]) -> Vec<String> {
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
    for forbidden in ["ann", "example.com", "forged", "\u{1b}", "ANN"] {
        assert!(
            !log.iter().any(|line| line.contains(forbidden)),
            "{forbidden}: {log:#?}"
        );
    }
    log
}

#[test]
fn logs_each_request_as_text() {
    let log = log(&[]);
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
}

#[test]
fn logs_each_request_as_json() {
    let log = log(&["--log=json"]);
    let objects: Vec<Value> = log
        .iter()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
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

#[test]
fn logs_malformed_requests_that_get_a_response() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.serve();
    for (sent, status) in [
        (&b""[..], ""),
        (b"ann@example.com\r\n\r\n", "400"),
        (b"GET /ann@example.com", ""),
        (PREFACE, "505"),
    ] {
        let mut stream = TcpStream::connect(&server.addr).expect("it listens");
        stream.write_all(sent).expect("it reads");
        stream.shutdown(Shutdown::Write).expect("it is open");
        let response = read_to_string(stream).expect("it is not reset");
        assert_eq!(response.split(' ').nth(1).unwrap_or_default(), status);
    }
    server.signal("-TERM");
    assert_eq!(server.wait_for_exit(), Some(0));
    let mut log = server.log();
    log.retain(|line| line.contains("answered"));
    assert_eq!(log.len(), 2, "{log:#?}");
    for (line, status) in log.iter().zip([400, 505]) {
        let fields = "INFO answered method=\"other\" route=\"/{file}\"";
        assert!(
            line.contains(&format!("{fields} status={status} us=")),
            "{line}"
        );
    }
    assert!(
        log.iter().all(|line| !line.ends_with(" bytes=0")),
        "{log:#?}"
    );
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
    let words = server.log_without_requests();
    let warnings: Vec<_> = words.iter().filter(|line| line.contains("WARN")).collect();
    assert_eq!(warnings.len(), 1, "{words:?}");
    assert!(
        warnings[0].contains("name it with --trusted-proxies"),
        "{words:?}"
    );
    assert!(!warnings[0].contains("203.0.113.7"), "{words:?}");
}
