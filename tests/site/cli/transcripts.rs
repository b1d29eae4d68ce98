//! Transcripts of commands: what each prints, and how it ends. They run with a list in each of the three places.

use super::{TestCli, with_three_people, without_server};

/// Runs the commands of a transcript, and compares what they print with it. `LIST` is where the list is, and `HERE` is the
/// working directory.
fn assert_replays(transcript: &str, cli: &TestCli) {
    let mut replayed = String::new();
    for line in transcript.lines() {
        if line.starts_with("# ") {
            replayed += &format!("{line}\n");
        } else if let Some(command) = line.strip_prefix("$ ") {
            let printed = cli.shell(command).replace(&cli.location(), "LIST");
            let printed = printed.replace(&cli.file("").display().to_string(), "HERE/");
            replayed += &format!("{line}\n{printed}");
        }
    }
    assert!(
        replayed == transcript,
        "the commands print now:\n{replayed}"
    );
}

#[test]
fn commands_print_their_transcripts() {
    for transcript in [
        include_str!("transcripts/add.txt"),
        include_str!("transcripts/erase.txt"),
        include_str!("transcripts/import.txt"),
        include_str!("transcripts/people.txt"),
        include_str!("transcripts/selections.txt"),
        include_str!("transcripts/unsubscribe.txt"),
    ] {
        for cli in with_three_people() {
            assert_replays(transcript, &cli);
        }
    }
}

#[test]
fn locations_print_their_transcript() {
    let transcript = include_str!("transcripts/locations.txt");
    assert_replays(transcript, &without_server());
}
