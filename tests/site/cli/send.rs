//! Sends a message, for the tests of `landing send` that are no transcripts.

use std::process::{Child, Stdio};

use serde_json::Value;

use super::{TestCli, stderr, stdout};
use crate::mail::smtp_server::SmtpServer;

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
