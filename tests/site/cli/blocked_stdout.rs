//! Commands whose output nobody reads yet, such as `landing list | less`.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
};

use super::{Owner, alone, many, printed};
use crate::process::Place;

/// More than a pipe holds.
const PEOPLE: usize = 20_000;

/// A running command whose first byte was read, and nothing after it.
fn unread(owner: &Owner, args: &[&str]) -> Child {
    let mut command = owner.calling(env!("CARGO_BIN_EXE_landing"));
    command.args(args).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let output = child.stdout.as_mut().expect("it is piped");
    output.read_exact(&mut [0]).expect("it prints");
    child
}

/// Everything that a command prints after its first byte.
fn rest(mut child: Child) -> Vec<u8> {
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
fn the_list_is_free_while_the_output_is_not_read() {
    let owner = alone();
    owner.run_with(&["import"], many(PEOPLE)).success();
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["export"],
        &["export", "--format", "jsonl"],
    ] {
        let whole = owner.printed(args);
        let child = unread(&owner, args);
        let counted = owner.run(&["count"]);
        assert_eq!(printed(&counted), format!("{PEOPLE}\n"), "{args:?}");
        assert_eq!(rest(child), whole.as_bytes()[1..], "{args:?}");
    }
}

#[test]
fn a_server_starts_while_the_output_is_not_read() {
    let mut owner = alone();
    owner.run_with(&["import"], many(PEOPLE)).success();
    let child = unread(&owner, &["list"]);
    owner.server = Some(owner.place.serve());
    assert_eq!(lines(&rest(child)), PEOPLE);
}

#[test]
fn the_list_is_free_while_nobody_opens_the_pipe() {
    let owner = alone();
    owner.run_with(&["import"], many(PEOPLE)).success();
    let made = Command::new("mkfifo").arg(owner.file("pipe")).status();
    assert!(made.expect("mkfifo").success());
    let mut command = owner.calling(env!("CARGO_BIN_EXE_landing"));
    let mut child = command
        .args(["export", "-o", "pipe"])
        .spawn()
        .expect("it starts");
    // Once it holds the list or has read it, `count` waits for it, or need not.
    let counted = owner.run(&["count"]);
    assert_eq!(printed(&counted), format!("{PEOPLE}\n"));
    let mut text = String::new();
    let mut pipe = std::fs::File::open(owner.file("pipe")).expect("it opens");
    pipe.read_to_string(&mut text).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(text.lines().count(), PEOPLE + 2);
}

#[test]
fn the_list_is_free_while_the_faults_are_not_read() {
    let place = Place::new();
    place.serve().join("ann@example.com");
    {
        let database = sled::open(place.path().join("data/waitlist")).expect("sled opens");
        let entries = database.open_tree("entries").expect("it is there");
        for number in 0..5_000u64 {
            let record = [&[1u8][..], &1u64.to_be_bytes(), b"x"].concat();
            let written = entries.insert(number.to_be_bytes(), record);
            written.expect("writable");
        }
    }
    let owner = Owner {
        place,
        server: None,
        database: None,
    };
    let child = unread(&owner, &["check"]);
    assert_eq!(printed(&owner.run(&["count"])), "5000\n");
    assert!(lines(&rest(child)) > 5_000);
}
