//! `landing stats`.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{all_stores, joined_ago, rfc3339, with_server, without_server};

const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns people who joined these numbers of hours and half an hour ago.
fn joined(hours: &[u32]) -> Vec<String> {
    let hours = hours.iter().enumerate();
    // The half hour leaves the test time to run.
    let person = |(number, hours): (usize, &u32)| {
        joined_ago(&format!("person{number}"), HOUR * *hours + HOUR / 2, "")
    };
    hours.map(person).collect()
}

fn today() -> String {
    jiff::Timestamp::now().to_string()[..10].to_owned()
}

#[test]
fn counts_the_last_day_week_month_and_each_day() {
    let people = joined(&[0, 1, 22, 30, 6 * 24, 8 * 24, 29 * 24]);
    for cli in all_stores().map(|cli| cli.with_rows(&people)) {
        let before = today();
        let stats = cli.json(&["stats"]);
        for (name, count) in [
            ("people", 7),
            ("last_24_hours", 3),
            ("last_7_days", 5),
            ("last_30_days", 7),
        ] {
            assert_eq!(stats[name], count, "{name}");
        }
        assert_eq!(stats["per"], "day");
        let bars = stats["sign_ups"].as_array().expect("bars");
        assert!(bars.len() >= 30 && bars.len() <= 31, "{stats}");
        let sum: u64 = bars.iter().filter_map(|bar| bar["count"].as_u64()).sum();
        assert_eq!(sum, 7);
        assert_eq!(bars[0]["count"], 1);
        let last = &bars[bars.len() - 1]["from"];
        assert!(*last == before || *last == today(), "{stats}");
    }
}

#[test]
fn longer_lists_are_grouped_by_week_month_or_year() {
    for (days, per) in [(100, "week"), (700, "month"), (2000, "year")] {
        let cli = without_server().with_rows(&joined(&[0, days * 24]));
        let stats = cli.json(&["stats"]);
        assert_eq!(stats["per"], per);
        let bars = stats["sign_ups"].as_array().expect("bars");
        let counts: Vec<_> = bars
            .iter()
            .map(|bar| bar["count"].as_u64().expect("a count"))
            .collect();
        // Half an hour ago may have been in the period before the last one.
        let last = counts.iter().rposition(|count| *count > 0);
        assert!(counts[0] == 1 && last >= Some(counts.len() - 2), "{stats}");
        assert_eq!(counts.iter().sum::<u64>(), 2);
        let from = |bar: &Value| bar["from"].as_str().expect("a day").to_owned();
        assert!(bars.is_sorted_by_key(from), "{stats}");
    }
}

#[test]
fn prints_a_chart() {
    let people = joined(&[0, 0, 0, 0, 48]);
    for cli in all_stores().map(|cli| cli.with_rows(&people)) {
        let stats = cli.stdout(&["stats"]);
        assert!(
            stats.starts_with("on the list             5\nlast 24 hours           4\n"),
            "{stats}"
        );
        let (_, chart) = stats
            .split_once("\n\nsign-ups a day (UTC)\n")
            .expect("a chart");
        let full = "█".repeat(59);
        let bars: Vec<_> = chart.lines().map(|line| &line[12..]).collect();
        assert!(bars.contains(&&*format!("{full} 4")), "{stats}");
        assert!(bars.iter().any(|bar| bar.ends_with("▊ 1")), "{stats}");
        assert!(bars.contains(&"0"), "{stats}");
    }
}

#[test]
fn reports_an_empty_list() {
    let cli = with_server();
    let before = today();
    let stats = cli.json(&["stats"]);
    assert_eq!(stats["people"], 0);
    let is_empty = |day| stats["sign_ups"] == json!([{ "from": day, "count": 0 }]);
    assert!(is_empty(before) || is_empty(today()), "{stats}");
    cli.run(&["stats"]).success();
}

/// The chart ends with the last day that is selected.
#[test]
fn charts_the_days_of_the_selection() {
    let people = [100, 99, 9, 2, 1];
    let people = people.map(|days| joined_ago(&format!("person{days}"), DAY * days, ""));
    let cli = without_server().with_rows(&people);
    let bars = |args: &[&str]| {
        let stats = cli.json(&[&["stats"], args].concat());
        let bars = stats["sign_ups"].as_array().expect("bars").clone();
        let counts = bars.iter().filter_map(|bar| bar["count"].as_u64());
        (stats["per"].clone(), bars.len(), counts.sum::<u64>())
    };
    // Midnight may pass while the test runs.
    let (per, days, sum) = bars(&["--since", "10d"]);
    assert!(
        per == "day" && (10..=11).contains(&days) && sum == 3,
        "{days}"
    );
    let second = people[1].split(',').nth(1).expect("a time");
    let second: jiff::Timestamp = second.parse().expect("a time");
    let until = rfc3339(SystemTime::from(second) + Duration::from_millis(1));
    assert_eq!(bars(&["--until", &until]), (json!("day"), 2, 2));
}
