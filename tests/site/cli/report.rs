//! `landing report`.

use std::time::Duration;

use regex::Regex;

use super::{all_stores, assert_contains, joined_ago, without_server};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Returns people who joined one after another, every seven hours, half an hour ago the last one. Every second one has
/// a source.
fn people(count: u32) -> Vec<String> {
    let person = |number| {
        let age = HOUR / 2 + HOUR * 7 * number;
        let source = ["hn", "", "newsletter-3", ""][number as usize % 4];
        joined_ago(&format!("person{number}"), age, source)
    };
    // The oldest one first, as they joined.
    (0..count).rev().map(person).collect()
}

/// Returns the first group of a pattern, for each match.
fn captures<'a>(text: &'a str, pattern: &str) -> Vec<&'a str> {
    let pattern = Regex::new(pattern).expect("valid");
    let found = pattern.captures_iter(text);
    found
        .map(|found| found.get(1).expect("a group").as_str())
        .collect()
}

/// Panics unless each element ends where it must, and each attribute is quoted.
fn assert_well_formed(page: &str) {
    let tag = r#"<(/?)([a-zA-Z0-9]+)((?: [a-zA-Z0-9-]+="[^"<>]*")*)(/?)>"#;
    let tag = Regex::new(tag).expect("valid");
    let body = page.strip_prefix("<!DOCTYPE html>\n").expect("a doctype");
    let style = captures(page, "(?s)<style>(.*)</style>")[0];
    let rest = tag.replace_all(body, "").replace(style, "");
    assert!(!rest.contains(['<', '>']), "{rest}");
    let mut open = Vec::new();
    for found in tag.captures_iter(body) {
        let name = &found[2];
        if &found[1] == "/" {
            assert_eq!(open.pop(), Some(name.to_owned()));
        } else if &found[4] != "/" && name != "meta" {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let ids = captures(page, r#" id="([^"]*)""#);
    for reference in captures(page, r#" aria-labelledby="([^"]*)""#) {
        let targets = ids.iter().filter(|id| **id == reference);
        assert_eq!(targets.count(), 1, "{reference}");
    }
}

fn assert_self_contained(page: &str) {
    for loaded in [
        "<script", "<link", "<img", "http:", "https:", "src=", "href=", "url(", "@import",
    ] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    assert!(
        !page.contains("@example") && !page.contains("person0"),
        "an address"
    );
}

/// Returns the rows of a section's table: the heading, the length of the bar, and the number beside it.
fn rows(page: &str, id: &str) -> Vec<(String, f64, u64)> {
    let section = captures(page, &format!("(?s)<section id=\"{id}\">(.*?)</section>"))[0];
    let row = r#"<tr><th scope="row">([^<]+)</th><td><i style="inline-size: ([0-9.]+)%"></i></td><td>([0-9,]+)</td>"#;
    let row = Regex::new(row).expect("valid");
    let rows = row.captures_iter(section).map(|row| {
        let length = row[2].parse().expect("a length");
        let count = row[3].replace(',', "").parse().expect("a number");
        (row[1].to_owned(), length, count)
    });
    rows.collect()
}

fn sum(rows: &[(String, f64, u64)]) -> u64 {
    rows.iter().map(|(.., count)| count).sum()
}

#[test]
fn page_is_self_contained_and_well_formed() {
    for count in [0, 1, 50] {
        let cli = without_server().with_rows(&people(count));
        let page = cli.stdout(&["report", "--product", "Ann & <b>Bob</b>"]);
        assert_self_contained(&page);
        assert_well_formed(&page);
        let name = "Ann &amp; &lt;b&gt;Bob&lt;/b&gt; waitlist";
        assert_contains(&page, format!("<h1>{name}</h1>"));
        let title = captures(&page, "<title>(.*)</title>");
        let people = if count == 1 { "person" } else { "people" };
        let expected = format!(r"^{name}, \d+ [A-Z][a-z]+ \d{{4}}: {count} {people}$");
        let expected = Regex::new(&expected).expect("valid");
        assert!(expected.is_match(title[0]), "{title:?}");
        assert!(page.contains("All times are in UTC."));
    }
}

#[test]
fn bars_have_the_numbers_of_stats() {
    for cli in all_stores().map(|cli| cli.with_rows(&people(50))) {
        let page = cli.stdout(&["report"]);
        let stats = cli.json(&["stats"]);
        let bars = stats["sign_ups"].as_array().expect("bars").iter();
        let bars: Vec<_> = bars.map(|bar| (&bar["from"], &bar["count"])).collect();
        let drawn = rows(&page, "sign-ups");
        assert_eq!(bars.len(), drawn.len());
        let highest = drawn.iter().map(|(.., count)| *count).max();
        for ((from, count), (label, length, drawn)) in bars.iter().zip(&drawn) {
            assert_eq!((*from, *count), (&label.as_str().into(), &(*drawn).into()));
            let expected = *drawn as f64 / highest.expect("bars") as f64 * 100.0;
            assert!((length - expected).abs() < 0.01, "{length}: {expected}");
        }
        assert_eq!(sum(&drawn), 50);
        let sources = rows(&page, "sources");
        let sources = sources.iter().map(|(label, _, count)| (&**label, *count));
        assert_eq!(
            sources.collect::<Vec<_>>(),
            [("hn", 13), ("newsletter-3", 12), ("no source", 25)]
        );
        assert_eq!(
            captures(&page, "<dt>last 24 hours</dt><dd>(.*)</dd>"),
            ["4"]
        );
    }
}

#[test]
fn page_says_who_is_selected() {
    for cli in all_stores().map(|cli| cli.with_rows(&people(50))) {
        let selection = ["--since", "2d", "--domain", "EXAMPLE.com", "--source", "hn"];
        let page = cli.stdout(&[&["report"][..], &selection].concat());
        let selected = captures(&page, "<p>(Only people .*)</p>");
        assert!(
            selected[0].contains(" or later, with an address at example.com, from the source hn.")
        );
        // Each joined 28 hours before the next.
        assert_eq!(sum(&rows(&page, "sources")), 2);
        assert_eq!(sum(&rows(&page, "sign-ups")), 2);
        let page = cli.stdout(&["report", "--until", "2026-01-01"]);
        assert!(page.contains("Only people who joined before 2026-01-01T00:00:00.000Z."));
        assert_eq!(sum(&rows(&page, "sign-ups")), 0);
        assert!(!cli.stdout(&["report"]).contains("Only people"));
    }
}
