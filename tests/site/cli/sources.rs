//! The sources of sign-ups in `list`, `show`, `count`, `export` and `stats`.

use std::time::{Duration, UNIX_EPOCH};

use landing::waitlist::WaitlistEntry;
use serde_json::json;

use super::{
    TestCli, all_stores,
    entries::{all_stores_with, from_source, joined_ago, without_server_with},
    rfc3339,
    send::send,
    stderr, without_server,
};
use crate::mail::smtp_server::SmtpServer;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns Ann without a source, and Bob from `hn` with a confirmed address.
fn two_people() -> [WaitlistEntry; 2] {
    let [ann, bob] = ["ann", "bob"].map(|name| joined_ago(name, DAY));
    let time = |millis| UNIX_EPOCH + Duration::from_millis(millis);
    [
        WaitlistEntry {
            joined_at: time(1_793_520_000_000),
            ..ann
        },
        WaitlistEntry {
            joined_at: time(1_793_606_400_000),
            confirmed_at: Some(time(1_793_606_460_250)),
            ..from_source("hn", bob)
        },
    ]
}

#[test]
fn list_prints_the_source_and_the_confirmation_last() {
    for cli in all_stores_with(&two_people()) {
        assert_eq!(
            cli.stdout(&["list"]),
            "2026-11-02T08:00:00.000Z\tbob@example.com\thn\t2026-11-02T08:01:00.250Z\n\
             2026-11-01T08:00:00.000Z\tann@example.com\n"
        );
        assert_eq!(
            cli.stdout(&["list", "--json"]),
            "{\"joined_at\":\"2026-11-02T08:00:00.000Z\",\"email\":\"bob@example.com\",\"source\":\"hn\",\
             \"confirmed_at\":\"2026-11-02T08:01:00.250Z\"}\n\
             {\"joined_at\":\"2026-11-01T08:00:00.000Z\",\"email\":\"ann@example.com\"}\n"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn list_prints_columns_on_a_terminal() {
    let cli = without_server_with(&two_people());
    let shown = cli.shown_on_terminal("list --store data").replace('\r', "");
    assert_eq!(
        shown,
        "JOINED AT                 EMAIL                             SOURCE            CONFIRMED AT\n\
         2026-11-02T08:00:00.000Z  bob@example.com                   hn                2026-11-02T08:01:00.250Z\n\
         2026-11-01T08:00:00.000Z  ann@example.com\n"
    );
}

#[test]
fn show_prints_the_source_and_the_confirmation() {
    for cli in all_stores_with(&two_people()) {
        assert_eq!(
            cli.stdout(&["show", "bob@example.com"]),
            "address       bob@example.com\n\
             joined at     2026-11-02T08:00:00.000Z\n\
             source        hn\n\
             confirmed at  2026-11-02T08:01:00.250Z\n"
        );
        assert_eq!(
            cli.json(&["show", "bob@example.com"]),
            json!({
                "email": "bob@example.com",
                "joined_at": "2026-11-02T08:00:00.000Z",
                "source": "hn",
                "confirmed_at": "2026-11-02T08:01:00.250Z",
                "suppressed": false,
                "messages": [],
            })
        );
    }
}

#[test]
fn selects_by_source() {
    for cli in all_stores_with(&two_people()) {
        for (source, count) in [("hn", 1), (" HN ", 1), ("h", 0)] {
            let selected = ["--source", source];
            let stdout = |command| {
                let output = cli.run(&[&[command][..], &selected].concat()).success();
                super::stdout(&output)
            };
            assert_eq!(stdout("count"), format!("{count}\n"));
            assert_eq!(stdout("list").lines().count(), count);
            let exported = stdout("export");
            assert_eq!(
                exported.contains("bob@example.com"),
                count == 1,
                "{exported}"
            );
            assert!(!exported.contains("ann@example.com"), "{exported}");
            for command in ["count", "list", "export"] {
                // The source may be misspelt.
                let message = stderr(&cli.run(&[command, "--source", source]).success());
                let is_noted = message.contains("`landing stats --by source` lists the sources");
                assert_eq!(is_noted, count == 0, "{command}: {message}");
            }
            let stats = cli.json(&[&["stats"][..], &selected].concat());
            assert_eq!(
                (&stats["total"], &stats["no_source"]),
                (&json!(count), &json!(0))
            );
        }
    }
}

#[test]
fn invalid_source_error_says_what_a_source_has() {
    let cli = without_server();
    for command in ["list", "count", "export", "stats", "report"] {
        for source in ["", "a/b", "b\u{fc}cher"] {
            let error = stderr(&cli.run(&[command, "--source", source]).code(2));
            let expected = "a source has only letters (a-z), digits, dots, hyphens and underscores";
            assert!(error.contains(expected), "{error}");
        }
    }
}

/// Returns `people` for each of these sources, and this number of people without one.
fn people_of(
    sources: impl IntoIterator<Item = (String, usize)>,
    none: usize,
) -> Vec<WaitlistEntry> {
    let mut entries = Vec::new();
    for (source, people) in sources {
        for _ in 0..people {
            let person = joined_ago(&format!("person{}", entries.len()), DAY);
            entries.push(from_source(&source, person));
        }
    }
    for number in 0..none {
        entries.push(joined_ago(&format!("nowhere{number}"), DAY));
    }
    entries
}

/// Returns the lines of the section of sources.
fn source_lines(cli: &TestCli, args: &[&str]) -> Vec<String> {
    let stats = cli.stdout(&[&["stats"], args].concat());
    let (_, section) = stats.split_once("\n\nsources\n").expect("a section");
    section.lines().map(str::to_owned).collect()
}

#[test]
fn stats_print_the_20_most_frequent_sources_and_the_others() {
    // 30 + 29 + … + 6 = 450 people, and 50 without a source.
    let sources = (0..25).map(|number| (format!("link-{number}"), 30 - number));
    for cli in all_stores_with(&people_of(sources, 50)) {
        for args in [&[][..], &["--by", "source"]] {
            let lines = source_lines(&cli, args);
            assert_eq!(lines.len(), 22, "{lines:?}");
            assert!(lines[0].starts_with("link-0         █"), "{lines:?}");
            assert!(lines[0].ends_with(" 30 (6.0 %)"), "{lines:?}");
            assert!(lines[19].starts_with("link-19 ") && lines[19].ends_with(" 11 (2.2 %)"));
            assert!(lines[20].starts_with("other sources  ") && lines[20].ends_with(" 40 (8.0 %)"));
            assert!(
                lines[21].starts_with("no source      ") && lines[21].ends_with(" 50 (10.0 %)")
            );
        }
        let stats = cli.json(&["stats"]);
        let first = json!({ "source": "link-0", "count": 30, "percent": 6.0 });
        assert_eq!(stats["sources"][0], first);
        assert_eq!(stats["sources"].as_array().map(Vec::len), Some(25));
        assert_eq!(
            (&stats["other_sources"], &stats["no_source"]),
            (&json!(0), &json!(50))
        );
        assert_eq!(stats["total"], 500);
    }
}

#[test]
fn stats_cut_long_sources_in_the_chart_only() {
    let name = "a-very-long-name-of-a-source-that-somebody-made-up";
    let cli = without_server_with(&people_of([(name.to_owned(), 1)], 0));
    let lines = source_lines(&cli, &[]);
    assert!(
        lines[0].starts_with("a-very-long-name-of-a-s…  █"),
        "{lines:?}"
    );
    assert!(lines[0].chars().count() <= 80, "{lines:?}");
    assert_eq!(cli.json(&["stats"])["sources"][0]["source"], name);
}

#[test]
fn stats_have_no_sources_if_nobody_has_one() {
    let cli = without_server().with_three_people();
    assert!(!cli.stdout(&["stats"]).contains("source"));
    assert_eq!(source_lines(&cli, &["--by", "source"]).len(), 1);
    let stats = cli.json(&["stats"]);
    assert_eq!(
        (&stats["sources"], &stats["no_source"]),
        (&json!([]), &json!(3))
    );
}

#[test]
fn stats_count_10_000_sources_apart() {
    let made_up = (0..20_000).map(|number| (format!("made-up-{number}"), 1));
    let real = [("hn".to_owned(), 2)];
    let cli = without_server_with(&people_of(real.into_iter().chain(made_up), 0));
    let stats = cli.json(&["stats"]);
    assert_eq!(stats["sources"].as_array().map(Vec::len), Some(10_000));
    assert_eq!(stats["sources"][0]["source"], "hn");
    assert_eq!(stats["other_sources"], 10_001);
    let lines = source_lines(&cli, &[]);
    assert!(lines[20].ends_with(" 19981 (99.9 %)"), "{lines:?}");
}

#[test]
fn stats_chart_the_chosen_interval() {
    let ages = [100, 99, 9, 2, 1];
    let people = ages.map(|days| joined_ago(&format!("person{days}"), DAY * days));
    let cli = without_server_with(&people);
    let bars = |by: &str, args: &[&str]| {
        let stats = cli.json(&[&["stats", "--by", by], args].concat());
        let per = stats["per"].as_str().expect("an interval").to_owned();
        let bars = stats["sign_ups"].as_array().expect("bars").clone();
        let counts = bars.iter().filter_map(|bar| bar["count"].as_u64());
        (per, bars.len(), counts.sum::<u64>())
    };
    // Midnight may pass while the test runs.
    let (per, days, sum) = bars("day", &[]);
    assert!(
        per == "day" && (101..=102).contains(&days) && sum == 5,
        "{days}"
    );
    let (per, years, sum) = bars("year", &[]);
    assert!(
        per == "year" && (1..=2).contains(&years) && sum == 5,
        "{years}"
    );
    let (per, weeks, sum) = bars("week", &[]);
    assert!(
        per == "week" && (15..=16).contains(&weeks) && sum == 5,
        "{weeks}"
    );
    let (per, months, sum) = bars("month", &[]);
    assert!(
        per == "month" && (4..=5).contains(&months) && sum == 5,
        "{months}"
    );
    // The automatic choice.
    assert_eq!(bars("source", &[]).0, "week");
    let (_, days, sum) = bars("day", &["--since", "10d"]);
    assert!((10..=11).contains(&days) && sum == 3, "{days}");
    // The chart ends with the last day that is selected.
    let until = rfc3339(people[1].joined_at + Duration::from_millis(1));
    assert_eq!(bars("day", &["--until", &until]), ("day".into(), 2, 2));
}

#[test]
fn stats_print_two_months_of_days_and_the_sum_before() {
    let ages = [100, 99, 9, 2, 1];
    let people = ages.map(|days| joined_ago(&format!("person{days}"), DAY * days));
    let cli = without_server_with(&people);
    let stats = cli.stdout(&["stats", "--by", "day"]);
    let (_, chart) = stats
        .split_once("\n\nsign-ups a day (UTC)\n")
        .expect("a chart");
    let lines: Vec<_> = chart.lines().collect();
    assert_eq!(lines[0], "earlier     2");
    assert_eq!(lines.len(), 63, "{stats}");
}

#[test]
fn stats_by_source_show_how_far_people_have_come() {
    for cli in all_stores() {
        let file = "email,joined_at,source,confirmed_at\n\
            ann@example.com,2026-11-01T08:00:00Z,hn,2026-11-01T09:00:00Z\n\
            bob@example.com,2026-11-02T08:00:00Z,hn,2026-11-02T09:00:00Z\n\
            cyd@example.com,2026-11-03T08:00:00Z,hn,\n\
            dan@example.com,2026-11-04T08:00:00Z,,2026-11-04T09:00:00Z\n\
            eve@example.com,2026-11-05T08:00:00Z,ads,\n";
        cli.run_with_input(&["import"], file).success();
        let server = SmtpServer::start();
        send(&cli, &server, &["--all", "--confirmed"]);
        cli.run(&["unsubscribe", "bob@example.com"]).success();
        let stats = cli.stdout(&["stats", "--by", "source"]);
        let (_, table) = stats.rsplit_once("\n\n").expect("a table");
        assert_eq!(
            table,
            "            sign-ups  confirmed    invited  unsubscribed\n\
             hn                 2          1          1             1\n\
             ads                1          0          0             0\n\
             no source          1          1          1             0\n\
             total              4          2          2             1\n\
             people who have unsubscribed are erased; the other columns do not count them, and no option selects among them\n"
        );
        let stats = cli.json(&["stats", "--by", "source"]);
        assert_eq!(
            stats["funnel"],
            json!({
                "by_source": [
                    { "source": "hn", "sign_ups": 2, "confirmed": 1, "invited": 1, "unsubscribed": 1 },
                    { "source": "ads", "sign_ups": 1, "confirmed": 0, "invited": 0, "unsubscribed": 0 },
                ],
                "other_sources": { "sign_ups": 0, "confirmed": 0, "invited": 0, "unsubscribed": 0 },
                "no_source": { "sign_ups": 1, "confirmed": 1, "invited": 1, "unsubscribed": 0 },
            })
        );
        // A list that is restored knows it too.
        cli.stdout(&["backup", "-o", "list.backup"]);
        cli.run(&["restore", "--data", "other", "list.backup"])
            .success();
        let restored = cli.json(&["stats", "--by", "source", "--data", "other"]);
        assert_eq!(restored["funnel"], stats["funnel"]);
    }
}
