//! `export`.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    process::Command,
    thread,
};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{everywhere, printed, told, with_three};

fn sha256(text: &str) -> String {
    Sha256::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

const CSV: &str = "\u{feff}email,joined_at\n\
                   ann@example.com,2026-11-01T08:00:00.000Z\n\
                   Bob@Example.com,2026-11-02T08:00:00.250Z\n\
                   cyd@example.com,2026-11-03T08:00:00.000Z\n";

const JSONL: &str = r#"{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z"}
{"email":"Bob@Example.com","joined_at":"2026-11-02T08:00:00.250Z"}
{"email":"cyd@example.com","joined_at":"2026-11-03T08:00:00.000Z"}
"#;

#[test]
fn a_csv_is_for_spreadsheets_and_ends_with_its_count_and_checksum() {
    for owner in with_three() {
        let expected = format!("{CSV}# 3 entries,sha256:{}\n", sha256(CSV));
        assert_eq!(owner.printed(&["export"]), expected);
        assert_eq!(
            owner.printed(&["export", "--format", "csv", "-o", "-"]),
            expected
        );
        assert_eq!(
            owner.printed(&["export", "-o", "list.csv"]),
            "3 entries in list.csv\n"
        );
        assert_eq!(owner.read("list.csv"), expected);
    }
}

#[test]
fn jsonl_is_for_programs_and_ends_so_too() {
    for owner in with_three() {
        let expected = format!(
            "{JSONL}{}\n",
            json!({ "entries": 3, "sha256": sha256(JSONL) })
        );
        assert_eq!(owner.printed(&["export", "--format", "jsonl"]), expected);
        let report = owner.json(&["export", "-o", "list.jsonl"]);
        let file = json!({ "entries": 3, "file": "list.jsonl", "sha256": sha256(JSONL) });
        assert_eq!(report, file);
        assert_eq!(owner.read("list.jsonl"), expected);
        for line in expected.lines() {
            serde_json::from_str::<Value>(line).expect("JSON");
        }
    }
}

#[test]
fn a_part_of_the_list_has_a_checksum_of_its_own() {
    for owner in with_three() {
        let part = owner.printed(&["export", "--since", "2026-11-02", "--until", "2026-11-03"]);
        let row = "\u{feff}email,joined_at\nBob@Example.com,2026-11-02T08:00:00.250Z\n";
        assert_eq!(part, format!("{row}# 1 entries,sha256:{}\n", sha256(row)));
    }
}

/// Addresses that a spreadsheet would run, or that look as if they had been made harmless.
const FORMULAS: [&str; 6] = [
    "=1+1@example.com",
    "+49@example.com",
    "-1@example.com",
    "'quoted@example.com",
    "'=1@example.com",
    "=cmd|'/c'!a1@example.com",
];

#[test]
fn no_cell_is_a_formula_and_each_comes_back_as_it_was() {
    for owner in everywhere() {
        let people = FORMULAS.map(|email| json!({ "email": email }).to_string() + "\n");
        owner.run_with(&["import"], people.concat()).success();
        owner.run(&["export", "-o", "list.csv"]).success();
        for line in owner.read("list.csv").lines().skip(1) {
            assert!(!line.starts_with(['=', '+', '-', '@', '\t']), "{line}");
        }
        owner
            .run(&["import", "--data", "other", "list.csv"])
            .success();
        let list = owner.printed(&["list", "--data", "other"]);
        let emails = list
            .lines()
            .rev()
            .filter_map(|line| line.split('\t').nth(1));
        assert!(emails.eq(FORMULAS), "{list}");
    }
}

#[test]
fn the_file_is_its_owners_alone_and_takes_the_place_of_an_older_one() {
    for owner in with_three() {
        owner.write("real.csv", "older");
        symlink("real.csv", owner.file("link.csv")).expect("writable");
        owner.run(&["export", "-o", "link.csv"]).success();
        assert!(
            owner.read("real.csv").starts_with(CSV),
            "it went where the link leads"
        );
        let mode = fs::metadata(owner.file("real.csv")).expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let mut names = owner.names();
        names.retain(|name| name.contains("csv"));
        assert_eq!(names, ["link.csv", "real.csv"], "and nothing else");
    }
}

#[test]
fn what_stands_in_its_place_while_it_is_written_is_a_new_file() {
    for owner in with_three() {
        // What a killed one has left, and what somebody else would like to be written.
        owner.write(".list.csv.left.partial", "left");
        owner.write("precious", "precious");
        symlink("precious", owner.file(".list.csv.link.partial")).expect("writable");
        owner.run(&["export", "-o", "list.csv"]).success();
        assert!(owner.read("list.csv").starts_with(CSV));
        assert_eq!(owner.read("precious"), "precious");
        assert!(!owner.file(".list.csv.left.partial").exists());
    }
}

#[test]
fn who_stops_reading_has_not_got_the_list() {
    for owner in everywhere() {
        owner.run_with(&["import"], super::many(20_000)).success();
        let shell = format!(
            "set -o pipefail; '{}' export | head -n 1",
            env!("CARGO_BIN_EXE_landing")
        );
        let output = owner.calling("bash").args(["-c", &shell]).output();
        let output = output.expect("a shell");
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.contains("standard output can't be written: Broken pipe"),
            "{said}"
        );
    }
}

#[test]
fn the_format_is_seen_by_the_name_of_the_file_or_by_what_else_is_asked_for() {
    for owner in with_three() {
        for (args, first) in [
            (&["-o", "list.csv"][..], "\u{feff}email"),
            (&["-o", "list.txt"], "\u{feff}email"),
            (&["-o", "list.json"], "{"),
            (&["-o", "list.ndjson"], "{"),
            (&["-o", "list.jsonl", "--format", "csv"], "\u{feff}email"),
        ] {
            owner.run(&[&["export"], args].concat()).success();
            assert!(owner.read(args[1]).starts_with(first), "{args:?}");
        }
        assert!(owner.printed(&["export", "--json"]).starts_with('{'));
    }
}

#[test]
fn a_pipe_or_a_device_is_written_to_and_stays_what_it_is() {
    for owner in with_three() {
        owner.run(&["export", "-o", "/dev/null"]).success();
        let pipe = owner.file("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let mut pipe = File::open(pipe).expect("it opens");
            pipe.read_to_string(&mut text).expect("readable");
            text
        });
        owner.run(&["export", "-o", "pipe"]).success();
        assert!(reader.join().expect("no panic").starts_with(CSV));
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    }
}

#[test]
fn what_can_not_be_written_is_told_and_leaves_nothing() {
    for owner in with_three() {
        for (file, why) in [
            (
                "nowhere/list.csv",
                "nowhere/list.csv can't be written: No such file",
            ),
            ("site", "site can't be written: Is a directory"),
            ("/dev/full", "/dev/full can't be written: No space left"),
            // No file can be made there, not even by root.
            ("/proc/list.csv", "/proc/list.csv can't be written: "),
        ] {
            let done = owner.run(&["export", "-o", file]).code(1);
            let told = told(&done);
            assert!(
                told.contains(why) && told.contains("or write it elsewhere"),
                "{told}"
            );
            assert_eq!(printed(&done), "");
        }
        let mut names = owner.names();
        names.retain(|name| name != "data" && name != "site");
        assert!(names.is_empty(), "{names:?}");
    }
}
