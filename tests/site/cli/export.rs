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

use super::{all_stores, stderr, stdout, with_three_people};

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
fn csv_has_a_byte_order_mark_and_a_checksum_trailer() {
    for cli in with_three_people() {
        let expected = format!("{CSV}# 3 entries,sha256:{}\n", sha256(CSV));
        assert_eq!(cli.stdout(&["export"]), expected);
        assert_eq!(
            cli.stdout(&["export", "--format", "csv", "-o", "-"]),
            expected
        );
        assert_eq!(
            cli.stdout(&["export", "-o", "list.csv"]),
            "3 entries in list.csv\n"
        );
        assert_eq!(cli.read("list.csv"), expected);
    }
}

#[test]
fn jsonl_has_a_checksum_trailer() {
    for cli in with_three_people() {
        let expected = format!(
            "{JSONL}{}\n",
            json!({ "entries": 3, "sha256": sha256(JSONL) })
        );
        assert_eq!(cli.stdout(&["export", "--format", "jsonl"]), expected);
        let report = cli.json(&["export", "-o", "list.jsonl"]);
        let file = json!({ "entries": 3, "file": "list.jsonl", "sha256": sha256(JSONL) });
        assert_eq!(report, file);
        assert_eq!(cli.read("list.jsonl"), expected);
        for line in expected.lines() {
            serde_json::from_str::<Value>(line).expect("JSON");
        }
    }
}

#[test]
fn partial_export_has_its_own_checksum() {
    for cli in with_three_people() {
        let part = cli.stdout(&["export", "--since", "2026-11-02", "--until", "2026-11-03"]);
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
fn escapes_formulas_and_restores_them_on_import() {
    for cli in all_stores() {
        let people = FORMULAS.map(|email| json!({ "email": email }).to_string() + "\n");
        cli.run_with_input(&["import"], people.concat()).success();
        cli.run(&["export", "-o", "list.csv"]).success();
        for line in cli.read("list.csv").lines().skip(1) {
            assert!(!line.starts_with(['=', '+', '-', '@', '\t']), "{line}");
        }
        cli.run(&["import", "--data", "other", "list.csv"])
            .success();
        let list = cli.stdout(&["list", "--data", "other"]);
        let emails = list
            .lines()
            .rev()
            .filter_map(|line| line.split('\t').nth(1));
        assert!(emails.eq(FORMULAS), "{list}");
    }
}

#[test]
fn file_is_private_and_replaces_an_older_one() {
    for cli in with_three_people() {
        cli.write("real.csv", "older");
        symlink("real.csv", cli.file("link.csv")).expect("writable");
        cli.run(&["export", "-o", "link.csv"]).success();
        assert!(
            cli.read("real.csv").starts_with(CSV),
            "it went where the link leads"
        );
        let mode = fs::metadata(cli.file("real.csv")).expect("it is there");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let mut names = cli.file_names();
        names.retain(|name| name.contains("csv"));
        assert_eq!(names, ["link.csv", "real.csv"], "and nothing else");
    }
}

#[test]
fn removes_stale_partial_files_and_follows_no_partial_link() {
    for cli in with_three_people() {
        // What a killed one has left, and what somebody else would like to be written.
        cli.write(".list.csv.left.partial", "left");
        cli.write("precious", "precious");
        symlink("precious", cli.file(".list.csv.link.partial")).expect("writable");
        cli.run(&["export", "-o", "list.csv"]).success();
        assert!(cli.read("list.csv").starts_with(CSV));
        assert_eq!(cli.read("precious"), "precious");
        assert!(!cli.file(".list.csv.left.partial").exists());
    }
}

#[test]
fn fails_when_the_reader_stops_early() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], super::people_csv(20_000))
            .success();
        let shell = format!(
            "set -o pipefail; '{}' export | head -n 1",
            env!("CARGO_BIN_EXE_landing")
        );
        let output = cli.command_for("bash").args(["-c", &shell]).output();
        let output = output.expect("a shell");
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            stderr.contains("standard output can't be written: Broken pipe"),
            "{stderr}"
        );
    }
}

#[test]
fn infers_the_format_from_the_file_name_or_json_flag() {
    for cli in with_three_people() {
        for (args, first) in [
            (&["-o", "list.csv"][..], "\u{feff}email"),
            (&["-o", "list.txt"], "\u{feff}email"),
            (&["-o", "list.json"], "{"),
            (&["-o", "list.ndjson"], "{"),
            (&["-o", "list.jsonl", "--format", "csv"], "\u{feff}email"),
        ] {
            cli.run(&[&["export"], args].concat()).success();
            assert!(cli.read(args[1]).starts_with(first), "{args:?}");
        }
        assert!(cli.stdout(&["export", "--json"]).starts_with('{'));
    }
}

#[test]
fn writes_to_pipes_and_devices_without_replacing_them() {
    for cli in with_three_people() {
        cli.run(&["export", "-o", "/dev/null"]).success();
        let pipe = cli.file("pipe");
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let mut pipe = File::open(pipe).expect("it opens");
            pipe.read_to_string(&mut text).expect("readable");
            text
        });
        cli.run(&["export", "-o", "pipe"]).success();
        assert!(reader.join().expect("no panic").starts_with(CSV));
        assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
    }
}

#[test]
fn reports_an_unwritable_file_and_leaves_nothing_behind() {
    for cli in with_three_people() {
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
            let done = cli.run(&["export", "-o", file]).code(1);
            let stderr = stderr(&done);
            assert!(
                stderr.contains(why) && stderr.contains("or write it elsewhere"),
                "{stderr}"
            );
            assert_eq!(stdout(&done), "");
        }
        let mut names = cli.file_names();
        names.retain(|name| name != "data" && name != "site");
        assert!(names.is_empty(), "{names:?}");
    }
}
