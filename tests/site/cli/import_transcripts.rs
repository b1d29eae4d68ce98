//! `landing import`: transcripts of how files are read, and of the questions about them.

use std::{fs, time::SystemTime};

use landing::{
    cli::{Person, import_dry_run},
    waitlist::WaitlistEntry,
};

use super::{fixture, rfc3339, transcripts::assert_file_replays};

/// Runs the imports of a transcript, and returns it as they print it now.
///
/// A file is in the lines that begin with `> `, or in the fixture that `@ ` names. A line with `$` imports it with the options
/// that follow, separated by ` | `. An import prints each person with the line of the row, or why it imports nothing. `$ preview`
/// also prints the preview.
fn replay(transcript: &str) -> String {
    let mut file = Vec::new();
    let (mut replayed, mut before) = (String::new(), "");
    for line in transcript.lines() {
        let (kind, text) = line.split_at(line.len().min(1));
        let text = text.strip_prefix(' ').unwrap_or(text);
        match kind {
            ">" => {
                if before != ">" {
                    file.clear();
                }
                file.extend(format!("{text}\n").bytes());
            }
            "@" => file = fs::read(fixture("layouts").join(text)).expect("a fixture"),
            "#" | "$" => {}
            _ => continue,
        }
        before = kind;
        replayed += &format!("{line}\n");
        if kind == "$" {
            replayed += &import(&file, text);
        }
    }
    replayed
}

/// Returns what an import prints.
fn import(file: &[u8], text: &str) -> String {
    let (has_preview, given) = match text.strip_prefix("preview") {
        Some(given) => (true, given.trim_start()),
        None => (false, text),
    };
    let printed = match import_dry_run(file, &options(given)) {
        Ok(people) => people.iter().map(describe).collect::<String>(),
        Err(error) => {
            let error = error.to_string();
            assert!(!error.contains("@people.example"), "{error}");
            match error.split_once("complete this command:\n") {
                Some((_, rest)) if !has_preview => {
                    rest.split_once('\n').expect("a command").1.to_owned()
                }
                _ => error,
            }
        }
    };
    printed
        .lines()
        .map(|line| format!("  {line}").trim_end().to_owned() + "\n")
        .collect()
}

/// Returns options as arguments. ` | ` separates them, because values have spaces.
fn options(text: &str) -> Vec<&str> {
    let options = text.split(" | ").filter(|it| !it.is_empty());
    options.flat_map(|it| it.splitn(2, ' ')).collect()
}

/// Describes a person: the line, the verdict, the address, and what an entry knows.
fn describe(person: &Person) -> String {
    let verdict = format!("{:?}", person.verdict).to_lowercase();
    let facts = person.entry.as_ref().map(describe_entry);
    let (line, email) = (person.line, person.email.as_typed());
    format!("{line} {verdict} {email} {}\n", facts.unwrap_or_default())
}

fn describe_entry(entry: &WaitlistEntry) -> String {
    // A row without a time has the current one.
    let is_present = entry
        .joined_at
        .elapsed()
        .is_ok_and(|age| age.as_secs() < 3600);
    let time = |time: SystemTime| {
        if is_present {
            "NOW".to_owned()
        } else {
            rfc3339(time)
        }
    };
    let source = entry.source.as_ref().map(|it| format!(" {it}"));
    let facts = [("confirmed", entry.confirmed_at), ("asked", entry.asked_at)];
    let facts = facts.map(|(name, time)| Some(format!(" {name} {}", rfc3339(time?))));
    let known = [source].into_iter().chain(facts).flatten();
    time(entry.joined_at) + &known.collect::<String>()
}

#[test]
fn imports_print_their_transcripts() {
    for name in ["layouts", "plan", "rows", "times"] {
        assert_file_replays(&format!("cli/transcripts/imports/{name}.txt"), replay);
    }
}
