//! What `landing mail-check` says about the unsubscribe links of a site.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::Command,
    thread,
};

use super::smtp_server::SmtpServer;

/// Returns the report about a site that responds to every request with these lines.
fn report(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    // The thread ends with the test.
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(format!("HTTP/1.1 {response}\r\n\r\n").as_bytes());
        }
    });
    let server = SmtpServer::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.args(["mail-check", "--smtp", &server.url(), "--origin", &origin]);
    command.args(["--mail-from", "hello@steward.test"]);
    let output = command.output().expect("the program runs");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn tells_a_failing_site_from_another_program() {
    let failing = report(
        "503 Service Unavailable\r\nX-Robots-Tag: noindex\r\nContent-Length: 0\r\nConnection: close",
    );
    assert!(failing.contains("ok       connected to "), "{failing}");
    assert!(failing.contains("see the log of the server"), "{failing}");
    let other = report("200 OK\r\nContent-Length: 0\r\nConnection: close");
    assert!(other.contains("not from this program"), "{other}");
    let redirected = report(
        "301 Moved Permanently\r\nLocation: https://steward.test/\r\nContent-Length: 0\r\nConnection: close",
    );
    assert!(redirected.contains("is redirected"), "{redirected}");
}

#[test]
fn an_address_is_no_argument_and_gets_nothing() {
    let server = SmtpServer::start();
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.args(["mail-check", "you@other.test", "--smtp", &server.url()]);
    command.args(["--mail-from", "hello@steward.test"]);
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(server.connection_count(), 0);
}
