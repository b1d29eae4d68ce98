//! `landing export`.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::{PermissionsExt, symlink},
    thread,
};

use serde_json::{Value, json};

use super::{all_stores, sha256, stderr, stdout, with_three_people};

const CSV: &str = "\u{feff}email,joined_at,source,confirmed_at,asked_at\n\
                   ann@example.com,2026-11-01T08:00:00.000Z,,,\n\
                   Bob@Example.com,2026-11-02T08:00:00.250Z,,,\n\
                   cyd@example.com,2026-11-03T08:00:00.000Z,,,\n";

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
        assert_eq!(
            cli.stdout(&["export", "-o", "one.csv", "--until", "2026-11-02"]),
            "1 entry in one.csv\n"
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
        let row = "\u{feff}email,joined_at,source,confirmed_at,asked_at\nBob@Example.com,2026-11-02T08:00:00.250Z,,,\n";
        assert_eq!(part, format!("{row}# 1 entries,sha256:{}\n", sha256(row)));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn progress_is_shown_against_the_selected_entries() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], super::people_csv(20_000))
            .success();
        // The last 5,000 of them.
        let since = "--since 2023-11-15T02:23:20Z";
        for (period, entries) in [
            ("", "20,000"),
            (since, "5,000"),
            ("--until 9999-01-01", "20,000"),
        ] {
            let command = format!("export {period} -o list.csv");
            let shown = cli.shown_on_terminal(&command);
            assert!(
                shown.contains(&format!("% of {entries}, ")),
                "{period}: {shown}"
            );
            let report = format!("{} entries in list.csv", entries.replace(',', ""));
            assert!(shown.contains(&report), "{period}: {shown}");
        }
    }
}

/// Addresses that a spreadsheet would run as a formula, or that look as if they were escaped.
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
            "the export follows the link"
        );
        let mode = fs::metadata(cli.file("real.csv")).expect("the file exists");
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        let mut names = cli.file_names();
        names.retain(|name| name.contains("csv"));
        assert_eq!(names, ["link.csv", "real.csv"]);
    }
}

#[test]
fn removes_stale_partial_files_and_follows_no_partial_link() {
    for cli in with_three_people() {
        // A file that a killed export left behind, and a link that would redirect the export to another file.
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
            stderr.contains("cannot write standard output: Broken pipe"),
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
        let error = stderr(&cli.run(&["export", "--json", "--format", "csv"]).code(1));
        assert!(error.contains("leave one of them out"), "{error}");
    }
}

#[test]
fn writes_to_pipes_and_devices_without_replacing_them() {
    for cli in with_three_people() {
        cli.run(&["export", "-o", "/dev/null"]).success();
        let pipe = cli.make_pipe("pipe");
        let reader = thread::spawn(move || {
            let mut text = String::new();
            let mut pipe = File::open(pipe).expect("the pipe opens");
            pipe.read_to_string(&mut text).expect("readable");
            text
        });
        cli.run(&["export", "-o", "pipe"]).success();
        assert!(reader.join().expect("no panic").starts_with(CSV));
        assert!(
            !fs::metadata("/dev/null")
                .expect("the file exists")
                .is_file()
        );
    }
}

#[test]
fn reports_an_unwritable_file_and_leaves_nothing_behind() {
    for cli in with_three_people() {
        fs::create_dir(cli.file("folder")).expect("writable");
        for (file, why) in [
            (
                "nowhere/list.csv",
                "cannot write nowhere/list.csv: No such file",
            ),
            ("folder", "cannot write folder: Is a directory"),
            ("/dev/full", "cannot write /dev/full: No space left"),
            // Not even root can create a file there.
            ("/proc/list.csv", "cannot write /proc/list.csv: "),
        ] {
            let result = cli.run(&["export", "-o", file]).code(1);
            let stderr = stderr(&result);
            assert!(
                stderr.contains(why) && stderr.contains("or write the output elsewhere"),
                "{stderr}"
            );
            assert_eq!(stdout(&result), "");
        }
        let mut names = cli.file_names();
        names.retain(|name| name != "data" && name != "folder");
        assert!(names.is_empty(), "{names:?}");
    }
}
