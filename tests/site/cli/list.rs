//! `count` and `list`.

use super::{alone, everywhere, rfc3339, with_three};

#[test]
fn count_prints_the_number() {
    for owner in with_three() {
        assert_eq!(owner.printed(&["count"]), "3\n");
        assert_eq!(owner.printed(&["count", "--json"]), "{\"count\":3}\n");
    }
}

#[test]
fn list_prints_the_newest_first_in_lines_that_programs_can_cut() {
    for owner in with_three() {
        assert_eq!(
            owner.printed(&["list"]),
            "2026-11-03T08:00:00.000Z\tcyd@example.com\n\
             2026-11-02T08:00:00.250Z\tBob@Example.com\n\
             2026-11-01T08:00:00.000Z\tann@example.com\n"
        );
        assert_eq!(
            owner.printed(&["list", "--json", "--limit", "1"]),
            "{\"joined_at\":\"2026-11-03T08:00:00.000Z\",\"email\":\"cyd@example.com\"}\n"
        );
    }
}

#[test]
fn list_takes_a_part_by_time_and_by_number() {
    for owner in with_three() {
        let chosen = |args: &[&str]| {
            let lines = owner.printed(&[&["list"], args].concat());
            let names = lines
                .lines()
                .filter_map(|line| line.split(['\t', '@']).nth(1));
            names.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(chosen(&["--limit", "2"]), "cyd Bob");
        assert_eq!(chosen(&["--limit", "0"]), "");
        assert_eq!(chosen(&["--since", "2026-11-02"]), "cyd Bob");
        assert_eq!(chosen(&["--until", "2026-11-02T08:00:00.250Z"]), "ann");
        assert_eq!(chosen(&["--until", "2026-11-02T10:00:01+02:00"]), "Bob ann");
        assert_eq!(
            chosen(&["--since", "2026-11-02", "--until", "2026-11-03"]),
            "Bob"
        );
        // Three days ago, and a moment ago.
        let days = |days: u64| {
            let time = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
            rfc3339(time)
        };
        let recent = format!("email,joined_at\ndee@example.com,{}\n", days(3));
        owner.run_with(&["import"], recent).success();
        assert_eq!(chosen(&["--since", "4d", "--until", "2 days"]), "dee");
        assert_eq!(chosen(&["--since", "71h"]), "");
        assert_eq!(chosen(&["--since", "1w", "--limit", "1"]), "dee");
    }
}

#[test]
fn a_time_that_is_none_is_told_with_what_to_write() {
    for owner in everywhere() {
        let told = super::told(&owner.run(&["list", "--since", "yesterday"]).code(2));
        assert!(
            told.contains("write a time as 2026-11-21T08:00:00Z"),
            "{told}"
        );
    }
}

#[test]
fn a_time_with_the_name_of_its_zone_is_refused() {
    let owner = alone();
    for option in ["--since", "--until"] {
        // Later than any time that is known here, in its zone.
        owner
            .run(&["list", option, "9999-12-30T21:00:00-05:00"])
            .code(2);
        let time = "2026-11-01T08:00:00[Europe/Berlin]";
        let told = super::told(&owner.run(&["list", option, time]).code(2));
        assert!(told.contains("zone in brackets"), "{told}");
        assert!(told.contains("2026-11-21T08:00:00+01:00"), "{told}");
    }
}

#[test]
fn who_reads_only_the_beginning_has_what_they_want() {
    for owner in everywhere() {
        owner.run_with(&["import"], super::many(20_000)).success();
        let program = env!("CARGO_BIN_EXE_landing");
        let shell = format!("set -o pipefail; '{program}' list | head -n 1");
        let output = owner.calling("bash").args(["-c", &shell]).output();
        let output = output.expect("a shell");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
        assert_eq!(
            output.stdout,
            b"2023-11-15T03:46:39.000Z\tperson19999@example.com\n"
        );
    }
}

/// util-linux's `script` is a terminal.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_list_is_a_table() {
    for owner in with_three() {
        let command = format!("'{}' list --limit 1", env!("CARGO_BIN_EXE_landing"));
        let mut script = owner.calling("script");
        script.args(["-qec", &command, "/dev/null"]);
        let output = script.output().expect("script");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout).replace('\r', ""),
            "JOINED AT                 EMAIL\n2026-11-03T08:00:00.000Z  cyd@example.com\n"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_long_work_shows_how_far_it_is() {
    for owner in everywhere() {
        owner.write("people.csv", super::many(20_000));
        for (args, what) in [
            ("import people.csv", "reading"),
            ("export -o list.csv", "writing"),
            ("check", "reading"),
            ("stats", "reading"),
        ] {
            let command = format!("'{}' {args}", env!("CARGO_BIN_EXE_landing"));
            let mut script = owner.calling("script");
            script
                .args(["-qec", &command, "/dev/null"])
                .env("TERM", "xterm");
            let output = script.output().expect("script");
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{args}: {shown}");
            assert!(
                shown.contains(what) && shown.contains(" %, "),
                "{args}: {shown}"
            );
        }
    }
}

#[test]
fn where_there_is_no_list_that_is_told_and_none_is_made() {
    let owner = alone();
    for command in ["count", "list", "export", "stats", "check"] {
        let told = super::told(&owner.run(&[command]).code(1));
        assert_eq!(
            told, "landing: there is no waitlist in data; name its place with --store\n",
            "{command}"
        );
    }
    owner.run(&["erase", "ann@example.com"]).code(1);
    assert_eq!(owner.names(), ["site"]);
}
