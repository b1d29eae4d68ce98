//! `landing count` and `landing list`.

use std::time::{Duration, SystemTime};

use super::{all_stores, rfc3339, stdout, with_three_people, without_server};

#[test]
fn every_command_selects_by_time_domain_source_and_confirmation() {
    let three_days_ago = SystemTime::now() - Duration::from_secs(3 * 86_400);
    let people = format!(
        "email,joined_at,source,confirmed_at\n\
         ann@example.com,2026-11-01T08:00:00Z,,2026-11-01T09:00:00Z\n\
         bob@EXAMPLE.com,2026-11-02T08:00:00.250Z,hn,\n\
         cyd@sub.example.com,2026-11-03T08:00:00Z,,\n\
         dan@bücher.example,2026-11-04T08:00:00Z,ads,\n\
         eve@people.example,{},hn,\n",
        rfc3339(three_days_ago)
    );
    for cli in all_stores() {
        cli.run_with_input(&["import"], &*people).success();
        for (selection, expected) in [
            (
                &["--since", "2026-11-02", "--until", "2026-11-04"][..],
                "bob cyd",
            ),
            (&["--until", "2026-11-02T08:00:00.250Z"], "ann"),
            (&["--until", "2026-11-02T10:00:01+02:00"], "ann bob"),
            (&["--since", "4d", "--until", "2 days"], "eve"),
            (&["--since", "71h"], ""),
            (&["--domain", "example.com"], "ann bob"),
            (&["--domain", "@BÜCHER.example"], "dan"),
            (&["--domain", "com"], ""),
            (&["--domain", "example.com", "--since", "2026-11-02"], "bob"),
            (&["--source", " HN "], "bob eve"),
            (&["--source", "h"], ""),
            (&["--confirmed"], "ann"),
            (&["--unconfirmed", "--domain", "example.com"], "bob"),
        ] {
            let run = |command| cli.run(&[&[command], selection].concat()).success();
            let names = |lines: &str| {
                let addresses = lines.lines().filter_map(|line| line.split_once('@'));
                let names =
                    addresses.map(|(before, _)| before.rsplit('\t').next().expect("a part"));
                names.map(str::to_owned).collect::<Vec<_>>()
            };
            let expected: Vec<_> = expected.split_whitespace().collect();
            let mut listed = names(&stdout(&run("list")));
            listed.reverse();
            assert_eq!(listed, expected, "{selection:?}");
            assert_eq!(names(&stdout(&run("export"))), expected, "{selection:?}");
            assert_eq!(stdout(&run("count")), format!("{}\n", expected.len()));
            let stats = cli.json(&[&["stats"], selection].concat());
            assert_eq!(stats["people"], expected.len(), "{selection:?}");
        }
        let newest = cli.stdout(&["list", "--limit", "1"]);
        assert!(
            newest.contains("eve@") && newest.lines().count() == 1,
            "{newest}"
        );
        assert_eq!(cli.stdout(&["list", "--limit", "0"]), "");
    }
}

/// As in `landing list | head`.
#[test]
fn reader_that_stops_early_is_no_error() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], super::people_csv(20_000))
            .success();
        let shown = cli.shell("set -o pipefail; landing list | head -n 1");
        assert_eq!(shown, "2023-11-15T03:46:39.000Z\tperson19999@example.com\n");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn long_commands_show_progress_on_a_terminal() {
    for cli in all_stores() {
        cli.write("people.csv", super::people_csv(20_000));
        for (args, what, progress) in [
            ("import people.csv", "adding", "% of 20,000, "),
            ("export -o list.csv", "writing", "% of 20,000, "),
            // The last 5,000 of them.
            (
                "export --since 2023-11-15T02:23:20Z -o list.csv",
                "5000 entries in list.csv",
                "% of 5,000, ",
            ),
            ("check", "reading", " %"),
            ("stats", "reading", " %"),
            ("report -o report.html", "reading", " %"),
        ] {
            let shown = cli.shown_on_terminal(args);
            assert!(
                shown.contains(what) && shown.contains(progress),
                "{args}: {shown}"
            );
        }
    }
}

/// Scripts and `--store` get no line that names the list.
#[cfg(target_os = "linux")]
#[test]
fn names_the_list_on_a_terminal_unless_the_owner_does() {
    for cli in with_three_people() {
        let shown = cli.shown_on_terminal("count").replace('\r', "");
        let (location, count) = shown.split_once('\n').expect("two lines");
        let expected = match &cli.database {
            Some(_) => "landing: the waitlist in postgres://".to_owned(),
            None => format!("landing: the waitlist in {}", cli.file("data").display()),
        };
        assert!(location.starts_with(&expected), "{location}");
        assert_eq!(count, "3\n");
    }
    let cli = without_server().with_three_people();
    assert_eq!(cli.shown_on_terminal("count --store data"), "3\r\n");
}
