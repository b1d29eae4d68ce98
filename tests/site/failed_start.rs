//! Starts that fail: what they leave behind, and what they print.

use std::{
    net::TcpListener,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

use crate::process::{Sandbox, landing};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns `serve` in a sandbox, with an address and a directory of the site's files.
fn serve(sandbox: &Sandbox, addr: &str, site: &str) -> Command {
    let mut command = landing(sandbox.path());
    command.args(["serve", "--addr", addr, "--site-root", site]);
    command
}

/// Returns starts that fail with exit code 1, and a part of the message of each.
fn failing_starts(sandbox: &Sandbox, occupied: &str) -> Vec<(Command, &'static str)> {
    let mut unusable_store = serve(sandbox, "127.0.0.1:0", "site");
    unusable_store.args(["--store", "/proc/nowhere"]);
    vec![
        (
            serve(sandbox, "127.0.0.1:0", "elsewhere"),
            "files are missing in elsewhere",
        ),
        (
            serve(sandbox, occupied, "site"),
            "Address already in use (os error 98); stop the process that uses it, or choose another address with --addr",
        ),
        (
            serve(sandbox, "192.0.2.1:3000", "site"),
            "Cannot assign requested address (os error 99)",
        ),
        (
            unusable_store,
            "cannot use the data directory /proc/nowhere",
        ),
    ]
}

fn occupied_address() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("a bound socket").to_string();
    (listener, addr)
}

/// Checks that standard error is one line of JSON, like those of the log, and returns its message.
fn json_error(output: &Output) -> String {
    let text = stderr(output);
    assert_eq!(text.lines().count(), 1, "{text}");
    let line: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(line["level"], "ERROR", "{text}");
    let time = line["timestamp"].as_str().expect("a time");
    assert!(time.len() == 27 && time.ends_with('Z'), "{text}");
    assert_eq!(line.as_object().expect("an object").len(), 3, "{text}");
    line["message"].as_str().expect("a message").to_owned()
}

#[test]
fn fatal_errors_are_json_lines_in_a_json_log() {
    let sandbox = Sandbox::new();
    let (_listener, occupied) = occupied_address();
    for (mut start, message) in failing_starts(&sandbox, &occupied) {
        let output = start.args(["--log", "json"]).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(1));
        let error = json_error(&output);
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn invalid_settings_are_json_lines_in_a_json_log() {
    let sandbox = Sandbox::new();
    for (options, variables, message) in [
        (
            &["--log=json"][..],
            &[("LANDING_ADDR", "4600")][..],
            "LANDING_ADDR=4600: missing the IP address; write 127.0.0.1:4600, or 0.0.0.0:4600 to accept connections \
             from other machines",
        ),
        (
            &["--addr", "localhost"],
            &[("LANDING_LOG", "json")],
            "invalid value 'localhost' for '--addr <IP:PORT>': missing the port; write 127.0.0.1:3000",
        ),
        (
            &["serve", "--log", "json", "--store", "mysql://x"],
            &[],
            "--store (LANDING_STORE): unknown kind of store; write sled:DIR or postgres://USER:PASSWORD@HOST/DATABASE",
        ),
    ] {
        let mut start = landing(sandbox.path());
        let output = start.args(options).envs(variables.iter().copied()).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(json_error(&output), message);
    }
    // The option wins, and the commands have no log.
    for args in [&["--log", "human", "--addr", "4600"][..], &["cuont"]] {
        let mut start = landing(sandbox.path());
        let output = start.args(args).env("LANDING_LOG", "json").output();
        let error = stderr(&output.expect("the program runs"));
        assert!(error.starts_with("error: "), "{error}");
    }
}

#[test]
fn errors_never_contain_a_stack_trace() {
    let sandbox = Sandbox::new();
    let (_listener, occupied) = occupied_address();
    for level in ["1", "full"] {
        let starts = failing_starts(&sandbox, &occupied);
        let mut commands: Vec<_> = starts.into_iter().map(|(start, _)| start).collect();
        for args in [&["count"][..], &["import", "--store", "/proc/nowhere"]] {
            let mut command = landing(sandbox.path());
            command.args(args).stdin(Stdio::null());
            commands.push(command);
        }
        for mut command in commands {
            let output = command.env("RUST_BACKTRACE", level).output();
            let output = output.expect("the program runs");
            let error = stderr(&output);
            assert_eq!(output.status.code(), Some(1), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
            assert!(error.starts_with("landing: "), "{error}");
        }
    }
}
