//! `landing count` and `landing list`.

use super::{all_stores, rfc3339, with_three_people, without_server};

#[test]
fn count_prints_the_number() {
    for cli in with_three_people() {
        assert_eq!(cli.stdout(&["count"]), "3\n");
        assert_eq!(cli.stdout(&["count", "--json"]), "{\"count\":3}\n");
    }
}

#[test]
fn list_prints_tab_separated_lines_newest_first() {
    for cli in with_three_people() {
        assert_eq!(
            cli.stdout(&["list"]),
            "2026-11-03T08:00:00.000Z\tcyd@example.com\n\
             2026-11-02T08:00:00.250Z\tBob@Example.com\n\
             2026-11-01T08:00:00.000Z\tann@example.com\n"
        );
        assert_eq!(
            cli.stdout(&["list", "--json", "--limit", "1"]),
            "{\"joined_at\":\"2026-11-03T08:00:00.000Z\",\"email\":\"cyd@example.com\"}\n"
        );
    }
}

#[test]
fn list_filters_by_time_and_limit() {
    for cli in with_three_people() {
        let chosen = |args: &[&str]| {
            let lines = cli.stdout(&[&["list"], args].concat());
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
        // Times relative to now.
        let days = |days: u64| {
            let time = std::time::SystemTime::now() - std::time::Duration::from_secs(days * 86_400);
            rfc3339(time)
        };
        let recent = format!("email,joined_at\ndee@example.com,{}\n", days(3));
        cli.run_with_input(&["import"], recent).success();
        assert_eq!(chosen(&["--since", "4d", "--until", "2 days"]), "dee");
        assert_eq!(chosen(&["--since", "71h"]), "");
        assert_eq!(chosen(&["--since", "1w", "--limit", "1"]), "dee");
    }
}

#[test]
fn invalid_time_error_shows_the_expected_format() {
    for cli in all_stores() {
        let stderr = super::stderr(&cli.run(&["list", "--since", "yesterday"]).code(2));
        assert!(
            stderr.contains("write a time as 2026-11-21T08:00:00Z"),
            "{stderr}"
        );
    }
}

#[test]
fn rejects_a_time_with_a_zone_name() {
    let cli = without_server();
    for option in ["--since", "--until"] {
        // In UTC, this time is after the last supported one.
        cli.run(&["list", option, "9999-12-30T21:00:00-05:00"])
            .code(2);
        let time = "2026-11-01T08:00:00[Europe/Berlin]";
        let stderr = super::stderr(&cli.run(&["list", option, time]).code(2));
        assert!(stderr.contains("zones in brackets"), "{stderr}");
        assert!(stderr.contains("2026-11-21T08:00:00+01:00"), "{stderr}");
    }
}

#[test]
fn list_succeeds_when_the_reader_stops_early() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], super::people_csv(20_000))
            .success();
        let program = env!("CARGO_BIN_EXE_landing");
        let shell = format!("set -o pipefail; '{program}' list | head -n 1");
        let output = cli.command_for("bash").args(["-c", &shell]).output();
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

/// `script` of util-linux runs the command on a terminal.
#[cfg(target_os = "linux")]
#[test]
fn list_prints_a_table_on_a_terminal() {
    for cli in with_three_people() {
        let shown = cli.shown_on_terminal("list --limit 1").replace('\r', "");
        let (location, table) = shown.split_once('\n').expect("two parts");
        // Nothing on the command line names the list.
        let expected = match &cli.database {
            Some(_) => "landing: the waitlist in postgres://".to_owned(),
            None => format!("landing: the waitlist in {}", cli.file("data").display()),
        };
        assert!(location.starts_with(&expected), "{location}");
        assert_eq!(
            table,
            "JOINED AT                 EMAIL                             SOURCE            CONFIRMED AT\n\
             2026-11-03T08:00:00.000Z  cyd@example.com\n"
        );
    }
}

/// Scripts and `--store` get no line that names the list.
#[cfg(target_os = "linux")]
#[test]
fn explicit_store_is_not_repeated() {
    let cli = without_server().with_three_people();
    assert_eq!(cli.shown_on_terminal("count --store data"), "3\r\n");
}

#[test]
fn selects_by_domain() {
    for cli in all_stores() {
        let people = "email,joined_at\nann@example.com,2026-11-01\nbob@EXAMPLE.com,2026-11-02\n\
                      cyd@sub.example.com,2026-11-03\ndan@bücher.example,2026-11-04\n";
        cli.run_with_input(&["import"], people).success();
        let count = |args: &[&str]| cli.stdout(&[&["count"], args].concat());
        assert_eq!(count(&["--domain", "example.com"]), "2\n");
        assert_eq!(count(&["--domain", "@BÜCHER.example"]), "1\n");
        assert_eq!(count(&["--domain", "com"]), "0\n");
        assert_eq!(
            count(&["--domain", "example.com", "--since", "2026-11-02"]),
            "1\n"
        );
        assert_eq!(count(&["--until", "2026-11-03"]), "2\n");
        let listed = cli.stdout(&["list", "--domain", "example.com"]);
        assert_eq!(
            listed,
            "2026-11-02T00:00:00.000Z\tbob@EXAMPLE.com\n2026-11-01T00:00:00.000Z\tann@example.com\n"
        );
        let exported = cli.stdout(&["export", "--domain", "sub.example.com"]);
        assert!(
            exported.contains("cyd@") && exported.lines().count() == 2,
            "{exported}"
        );
        assert_eq!(cli.json(&["stats", "--domain", "example.com"])["people"], 2);
        assert_eq!(cli.json(&["stats", "--since", "2026-11-03"])["people"], 2);
        let error = super::stderr(&cli.run(&["list", "--domain", "no domain"]).code(2));
        assert!(error.contains("is not a domain"), "{error}");
    }
}

#[test]
fn period_that_ends_before_it_begins_is_an_error() {
    let cli = without_server().with_three_people();
    for command in ["list", "count", "stats", "report", "export"] {
        let period = ["--since", "2026-11-02", "--until", "2026-11-01"];
        let result = cli.run(&[&[command], &period[..]].concat()).code(1);
        let error = super::stderr(&result);
        assert!(
            error.contains("an earlier --since or a later --until"),
            "{error}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn long_commands_show_progress_on_a_terminal() {
    for cli in all_stores() {
        cli.write("people.csv", super::people_csv(20_000));
        for (args, what) in [
            ("import people.csv", "reading"),
            ("export -o list.csv", "writing"),
            ("check", "reading"),
            ("stats", "reading"),
            ("report -o report.html", "reading"),
        ] {
            let shown = cli.shown_on_terminal(args);
            assert!(
                shown.contains(what) && shown.contains(" %"),
                "{args}: {shown}"
            );
        }
    }
}

#[test]
fn reports_a_missing_list_and_creates_none() {
    let cli = without_server();
    for command in ["count", "list", "export", "stats", "report", "check"] {
        let stderr = super::stderr(&cli.run(&[command]).code(1));
        let expected = format!(
            "landing: there is no waitlist in {}; choose its location with --store, or create it with `landing serve` \
             or `landing import`\n",
            cli.file("data").display()
        );
        assert_eq!(stderr, expected, "{command}");
    }
    cli.run(&["erase", "ann@example.com"]).code(1);
    assert!(cli.file_names().is_empty());
}
