//! `landing export`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use super::{all_stores, send::send, stderr, stdout, with_three_people};
use crate::mail::smtp_server::SmtpServer;

const CSV: &str = "\u{feff}email,joined_at,source,confirmed_at\n\
                   ann@example.com,2026-11-01T08:00:00.000Z,,\n\
                   Bob@Example.com,2026-11-02T08:00:00.250Z,,\n\
                   cyd@example.com,2026-11-03T08:00:00.000Z,,\n";

const JSONL: &str = r#"{"email":"ann@example.com","joined_at":"2026-11-01T08:00:00.000Z"}
{"email":"Bob@Example.com","joined_at":"2026-11-02T08:00:00.250Z"}
{"email":"cyd@example.com","joined_at":"2026-11-03T08:00:00.000Z"}
"#;

#[test]
fn csv_has_the_columns_that_import_knows() {
    for cli in with_three_people() {
        assert_eq!(cli.stdout(&["export"]), CSV);
        assert_eq!(cli.stdout(&["export", "-o", "-"]), CSV);
        // Everybody may read the older file.
        cli.write("list.csv", "older");
        assert_eq!(
            cli.stdout(&["export", "-o", "list.csv"]),
            "3 entries in list.csv\n"
        );
        assert_eq!(cli.read("list.csv"), CSV);
        let file = fs::metadata(cli.file("list.csv")).expect("the file exists");
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
        assert_eq!(
            cli.stdout(&["export", "-o", "one.csv", "--until", "2026-11-02"]),
            "1 entry in one.csv\n"
        );
        let part = cli.stdout(&["export", "--since", "2026-11-02", "--until", "2026-11-03"]);
        let expected = "\u{feff}email,joined_at,source,confirmed_at\nBob@Example.com,2026-11-02T08:00:00.250Z,,\n";
        assert_eq!(part, expected);
    }
}

/// `-o` changes where the lines are written, and only `--json` changes what they are.
#[test]
fn json_is_an_object_per_line() {
    for cli in with_three_people() {
        assert_eq!(cli.stdout(&["export", "--json"]), JSONL);
        cli.stdout(&["export", "--json", "-o", "list.csv"]);
        assert_eq!(cli.read("list.csv"), JSONL);
        cli.stdout(&["export", "-o", "list.jsonl"]);
        assert_eq!(cli.read("list.jsonl"), CSV);
        for line in JSONL.lines() {
            serde_json::from_str::<Value>(line).expect("JSON");
        }
    }
}

/// Owners pass exports on. With the key of the list, anybody could unsubscribe everybody.
#[test]
fn export_has_no_key_no_hash_and_no_ledger() {
    for cli in with_three_people() {
        let server = SmtpServer::start();
        send(&cli, &server, &["--all"]);
        cli.stdout(&["unsubscribe", "ann@example.com"]);
        let [ann, people @ ..] = &CSV.lines().skip(1).collect::<Vec<_>>()[..] else {
            panic!("no people");
        };
        let expected = CSV.replace(&format!("{ann}\n"), "");
        assert_eq!(cli.stdout(&["export"]), expected);
        assert_eq!(
            cli.stdout(&["export", "--json"]).lines().count(),
            people.len()
        );
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
        cli.run_with_input(&["import", "--nobody-left"], people.concat())
            .success();
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
fn reports_an_unwritable_file_and_leaves_nothing_behind() {
    for cli in with_three_people() {
        fs::create_dir(cli.file("folder")).expect("writable");
        for (file, why) in [
            (
                "nowhere/list.csv",
                "cannot write nowhere/list.csv: No such file",
            ),
            ("folder", "cannot write folder: Is a directory"),
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
