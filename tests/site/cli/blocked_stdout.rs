//! Commands whose output is read late, as in `landing list | less`. They must not keep the list locked.

use std::{
    io::Read,
    process::{Child, Stdio},
};

use super::{TestCli, people_csv, stdout, without_server, write_raw_records};
use crate::process::Sandbox;

/// Enough people that their list does not fit into a pipe.
const PEOPLE: usize = 20_000;

/// Starts a command and reads only the first byte of its output.
fn spawn_unread(cli: &TestCli, args: &[&str]) -> Child {
    let mut command = cli.landing();
    command.args(args).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_exact(&mut [0]).expect("output");
    child
}

/// Reads the output of a command after its first byte.
fn read_rest(mut child: Child) -> Vec<u8> {
    let mut rest = Vec::new();
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_to_end(&mut rest).expect("readable");
    child.wait().expect("the process ends");
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
        &["export", "--json"],
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
fn unread_check_output_does_not_lock_the_list() {
    let sandbox = Sandbox::new();
    // `check` prints more than one fault for each of these entries.
    let record = |number: u64| {
        let address = format!("{number:04}");
        let record = [&[4u8, 0][..], &1u64.to_be_bytes(), address.as_bytes()].concat();
        (number, record)
    };
    write_raw_records(&sandbox, (0..5_000).map(record));
    let cli = TestCli {
        sandbox,
        server: None,
        database: None,
    };
    let child = spawn_unread(&cli, &["check"]);
    assert_eq!(stdout(&cli.run(&["count"])), "5000\n");
    assert!(lines(&read_rest(child)) > 5_000);
}
