//! Messages that this program signs itself (`--dkim-key`). dkimpy verifies them.

use std::{fs, path::Path, process::Command};

use serde_json::Value;

use super::{
    TestCli,
    send::{MESSAGE, args},
    with_three_people,
};
use crate::mail::smtp_server::SmtpServer;

/// Creates a private RSA key.
fn create_key(file: &Path, more: &[&str]) {
    let mut command = Command::new("openssl");
    command.args(["genrsa", "-out"]).arg(file).args(more);
    let output = command.arg("2048").output().expect("openssl runs");
    assert!(output.status.success(), "{output:?}");
}

/// Verifies the signature of a message with the record of the DNS.
fn verify(cli: &TestCli, message: &str, record: &Value) -> bool {
    const SCRIPT: &str = "\
import dkim, re, sys
name, value = sys.argv[2], ''.join(re.findall('\"([^\"]*)\"', sys.argv[3]))
find = lambda asked, timeout=5: value.encode() if asked.decode() == name + '.' else None
sys.exit(not dkim.verify(open(sys.argv[1], 'rb').read(), dnsfunc=find))";
    let file = cli.file("message.eml");
    fs::write(&file, message).expect("a file");
    let text = |field: &str| record[field].as_str().expect("text").to_owned();
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", SCRIPT]).arg(file);
    let output = python.args([text("name"), text("value")]).output();
    let output = output.expect("Python runs");
    assert!(output.stderr.is_empty(), "{output:?}");
    output.status.success()
}

#[test]
fn signature_is_valid_and_covers_the_headers_of_bulk_mail() {
    for (cli, key_options) in with_three_people()
        .into_iter()
        .zip([&[][..], &["-traditional"], &[]])
    {
        let server = SmtpServer::start();
        create_key(&cli.file("dkim.pem"), key_options);
        cli.write("launch.md", MESSAGE);
        let key = cli.file("dkim.pem").display().to_string();
        let dkim = ["--dkim-key", &*key, "--dkim-selector", "mail2026"];
        let url = server.url();
        cli.run(&args(&url, &[&["--all"][..], &dkim].concat()))
            .success();
        let checked = ["mail-check", "--json", "--smtp", &url];
        let checked = [&checked[..], &["--mail-from", "hello@steward.test"], &dkim].concat();
        // The site of the origin does not run.
        let report = cli.run(&checked).failure();
        let report: Value = serde_json::from_slice(&report.get_output().stdout).expect("JSON");
        let record = &report["dns_records"][1];
        assert_eq!(record["name"], "mail2026._domainkey.steward.test");
        for received in server.received() {
            let message = received.message;
            assert!(verify(&cli, &message, record), "{message}");
            let header = message.split("\r\n\r\n").next().unwrap_or_default();
            assert!(header.lines().all(|line| line.len() <= 400), "{header}");
            // Somebody changes a part that is signed.
            for (old, new) in [
                ("Subject: Steward", "Subject: Butler"),
                (
                    "https://steward.test/unsubscribe/",
                    "https://eve.test/unsubscribe/",
                ),
                ("List-Unsubscribe-Post: ", "List-Unsubscribe-Post: x"),
                ("You are number", "You were number"),
                ("From: Steward", "From: Eve <eve@eve.test>\r\nFrom: Steward"),
            ] {
                let changed = message.replacen(old, new, 1);
                assert_ne!(changed, message, "{old}");
                assert!(!verify(&cli, &changed, record), "{changed}");
            }
            // What relays change on the way.
            let folded = message.replacen("Subject: ", "subject:\r\n \t", 1) + "\r\n\r\n";
            assert!(verify(&cli, &folded, record), "{folded}");
        }
    }
}
