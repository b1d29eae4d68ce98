//! Commands whose output nobody reads yet, such as `landing list | less`.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
};

use super::{TestCli, people_csv, stdout, without_server};
use crate::process::Sandbox;

/// More than a pipe holds.
const PEOPLE: usize = 20_000;

/// A running command whose first byte was read, and nothing after it.
fn spawn_unread(cli: &TestCli, args: &[&str]) -> Child {
    let mut command = cli.command_for(env!("CARGO_BIN_EXE_landing"));
    command.args(args).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let output = child.stdout.as_mut().expect("it is piped");
    output.read_exact(&mut [0]).expect("it prints");
    child
}

/// Everything that a command prints after its first byte.
fn read_rest(mut child: Child) -> Vec<u8> {
    let mut rest = Vec::new();
    let output = child.stdout.as_mut().expect("it is piped");
    output.read_to_end(&mut rest).expect("readable");
    child.wait().expect("it ends");
    rest
}

fn lines(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte == b'\n').count()
}

#[test]
fn unread_output_does_not_lock_the_list() {
    let cli = without_server();
    cli.run_with_input(&["import"], people_csv(PEOPLE))
        .success();
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["export"],
        &["export", "--format", "jsonl"],
    ] {
        let whole = cli.stdout(args);
        let child = spawn_unread(&cli, args);
        let counted = cli.run(&["count"]);
        assert_eq!(stdout(&counted), format!("{PEOPLE}\n"), "{args:?}");
        assert_eq!(read_rest(child), whole.as_bytes()[1..], "{args:?}");
    }
}

#[test]
fn server_starts_while_output_is_unread() {
    let mut cli = without_server();
    cli.run_with_input(&["import"], people_csv(PEOPLE))
        .success();
    let child = spawn_unread(&cli, &["list"]);
    cli.server = Some(cli.sandbox.serve());
    assert_eq!(lines(&read_rest(child)), PEOPLE);
}

#[test]
fn unopened_pipe_does_not_lock_the_list() {
    let cli = without_server();
    cli.run_with_input(&["import"], people_csv(PEOPLE))
        .success();
    let made = Command::new("mkfifo").arg(cli.file("pipe")).status();
    assert!(made.expect("mkfifo").success());
    let mut command = cli.command_for(env!("CARGO_BIN_EXE_landing"));
    let mut child = command
        .args(["export", "-o", "pipe"])
        .spawn()
        .expect("it starts");
    // Once it holds the list or has read it, `count` waits for it, or need not.
    let counted = cli.run(&["count"]);
    assert_eq!(stdout(&counted), format!("{PEOPLE}\n"));
    let mut text = String::new();
    let mut pipe = std::fs::File::open(cli.file("pipe")).expect("it opens");
    pipe.read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text.lines().count(), PEOPLE + 2);
}

#[test]
fn unread_check_output_does_not_lock_the_list() {
    let sandbox = Sandbox::new();
    sandbox.serve().join("ann@example.com");
    {
        let database = sled::open(sandbox.path().join("data/waitlist")).expect("sled opens");
        let entries = database.open_tree("entries").expect("it is there");
        for number in 0..5_000u64 {
            let record = [&[1u8][..], &1u64.to_be_bytes(), b"x"].concat();
            let written = entries.insert(number.to_be_bytes(), record);
            written.expect("writable");
        }
    }
    let cli = TestCli {
        sandbox,
        server: None,
        database: None,
    };
    let child = spawn_unread(&cli, &["check"]);
    assert_eq!(stdout(&cli.run(&["count"])), "5000\n");
    assert!(lines(&read_rest(child)) > 5_000);
}
