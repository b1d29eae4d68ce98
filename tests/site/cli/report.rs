//! `landing report`.

use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

use landing::waitlist::WaitlistEntry;
use regex::Regex;

use super::{
    all_stores,
    entries::{all_stores_with, from_source, joined_ago, without_server_with},
    stderr, with_three_people,
};

const HOUR: Duration = Duration::from_secs(60 * 60);

/// Returns people who joined one after another, every seven hours, half an hour ago the last one. Every second one has
/// a source.
fn people(count: u32) -> Vec<WaitlistEntry> {
    let person = |number| {
        let age = HOUR / 2 + HOUR * 7 * number;
        let entry = joined_ago(&format!("person{number}"), age);
        match number % 2 {
            0 => from_source(["hn", "newsletter-3"][number as usize / 2 % 2], entry),
            _ => entry,
        }
    };
    (0..count).map(person).collect()
}

/// Returns the elements of a page with this name, from their start tags to their end tags.
fn elements<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let element = format!(r"(?s)<{name}[ >].*?</{name}>");
    let element = Regex::new(&element).expect("valid");
    element
        .find_iter(page)
        .map(|found| found.as_str())
        .collect()
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
    let rest = tag.replace_all(body, "");
    let (style, rest) = (
        captures(page, "(?s)<style>(.*)</style>")[0],
        rest.into_owned(),
    );
    let rest = rest.replace(style, "");
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
    for reference in captures(page, r#" aria-describedby="([^"]*)""#) {
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

#[test]
fn page_is_self_contained_and_well_formed() {
    for count in [0, 1, 50] {
        let cli = without_server_with(&people(count));
        let page = cli.stdout(&["report"]);
        assert_self_contained(&page);
        assert_well_formed(&page);
        let title = captures(&page, "<title>(.*)</title>");
        let people = if count == 1 { "person" } else { "people" };
        let expected = format!(r"^Steward waitlist, \d+ [A-Z][a-z]+ \d{{4}}: {count} {people}$");
        assert!(
            Regex::new(&expected).expect("valid").is_match(title[0]),
            "{title:?}"
        );
        assert!(page.contains("All times are in UTC."));
    }
}

#[test]
fn each_chart_has_a_text_alternative_and_its_numbers() {
    for count in [0, 1, 50] {
        let cli = without_server_with(&people(count));
        let page = cli.stdout(&["report"]);
        let sections = elements(&page, "section");
        assert_eq!(sections.len(), 5);
        for section in sections {
            let chart = captures(section, "(?s)(<svg [^>]*role=\"img\"[^>]*>)");
            assert_eq!(chart.len(), 1, "{section}");
            assert!(chart[0].contains("aria-label=\""), "{section}");
            let summary = captures(chart[0], "aria-describedby=\"([^\"]*)\"");
            let summary = captures(section, &format!("<p id=\"{}\">(.+)</p>", summary[0]));
            assert_eq!(summary.len(), 1, "{section}");
            let tables = elements(section, "table");
            assert!(
                tables.len() == 1 && tables[0].contains("<th scope=\"row\">"),
                "{section}"
            );
        }
    }
}

/// Returns the sum of the first numbers in the rows of a section's table.
fn table_sum(page: &str, id: &str) -> u64 {
    let section = elements(page, "section")
        .into_iter()
        .find(|section| section.contains(&format!("id=\"{id}\"")));
    let cells = captures(section.expect("a section"), "</th><td>([0-9,]+)</td>");
    let numbers = cells.iter().map(|cell| cell.replace(',', ""));
    numbers
        .map(|number| number.parse::<u64>().expect("a number"))
        .sum()
}

#[test]
fn tables_count_everybody() {
    for cli in all_stores_with(&people(50)) {
        let page = cli.stdout(&["report"]);
        assert_eq!(table_sum(&page, "sign-ups"), 50);
        assert_eq!(table_sum(&page, "sources"), 50);
        assert_eq!(table_sum(&page, "last-24-hours"), 4);
        assert!(page.contains("25 people came from 2 sources."), "{page}");
        let json = cli.json(&["report"]);
        assert_eq!(
            (&json["total"], &json["no_source"]),
            (&50.into(), &25.into())
        );
        let hours = json["weekday_hours"].as_array().expect("weekdays");
        let hours = hours
            .iter()
            .flat_map(|hours| hours.as_array().expect("hours"));
        assert_eq!(hours.filter_map(serde_json::Value::as_u64).sum::<u64>(), 50);
    }
}

#[test]
fn page_says_who_is_selected() {
    for cli in all_stores_with(&people(50)) {
        let selection = ["--since", "2d", "--domain", "EXAMPLE.com", "--source", "hn"];
        let page = cli.stdout(&[&["report"][..], &selection].concat());
        let selected = captures(&page, "<p>(Only people .*)</p>");
        assert!(
            selected[0].contains(" or later, with an address at example.com, from the source hn.")
        );
        // Each joined 28 hours before the next.
        assert_eq!(table_sum(&page, "sources"), 2);
        assert_eq!(table_sum(&page, "sign-ups"), 2);
        let page = cli.stdout(&["report", "--until", "2026-01-01"]);
        assert!(page.contains("0 people since "));
        assert!(page.contains("Only people who joined before 2026-01-01T00:00:00.000Z."));
        assert_eq!(table_sum(&page, "sign-ups"), 0);
        assert!(!cli.stdout(&["report"]).contains("Only people"));
    }
}

#[test]
fn old_lists_have_a_bar_for_each_week_month_or_year() {
    for (days, interval) in [
        (300, "day"),
        (500, "week"),
        (3_000, "month"),
        (12_000, "year"),
    ] {
        let people = [joined_ago("ann", HOUR * 24 * days), joined_ago("bob", HOUR)];
        let cli = without_server_with(&people);
        let page = cli.stdout(&["report"]);
        assert_well_formed(&page);
        assert!(
            page.contains(&format!("<h2>Sign-ups per {interval}</h2>")),
            "{interval}"
        );
        assert!(
            page.contains(&format!("Busiest {interval}: ")),
            "{interval}"
        );
        assert_eq!(table_sum(&page, "sign-ups"), 2);
        let bars = captures(&page, "(?s)<table>(.*?)</table>")[1]
            .matches("<tr>")
            .count();
        assert!(bars <= 367, "{interval}: {bars}");
    }
}

#[test]
fn product_name_is_escaped() {
    let cli = without_server_with(&[]);
    let page = cli.stdout(&["report", "--product", "Ann & <b>Bob</b>"]);
    assert_well_formed(&page);
    assert_eq!(
        page.matches("Ann &amp; &lt;b&gt;Bob&lt;/b&gt; waitlist")
            .count(),
        2
    );
}

#[test]
fn writes_a_private_file_when_it_is_complete() {
    for cli in with_three_people() {
        cli.write("report.html", "an older report");
        let stdout = cli.stdout(&["report", "-o", "report.html"]);
        assert_eq!(stdout, "3 entries in report.html\n");
        let page = cli.read("report.html");
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
        let mode = fs::metadata(cli.file("report.html"))
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        cli.json(&["report", "-o", "numbers.json"]);
        let numbers: serde_json::Value =
            serde_json::from_str(&cli.read("numbers.json")).expect("JSON");
        assert_eq!(numbers["sign_ups"], cli.json(&["report"])["sign_ups"]);
        let written = cli.json(&["report", "-o", "report.html"]);
        assert_eq!(
            written,
            serde_json::json!({ "entries": 3, "file": "report.html" })
        );
        let names = cli.file_names();
        assert!(
            names.iter().all(|name| !name.ends_with(".partial")),
            "{names:?}"
        );
        assert!(
            cli.stdout(&["report", "-o", "-"])
                .starts_with("<!DOCTYPE html>")
        );
    }
}

#[test]
fn errors_name_the_file() {
    for cli in all_stores() {
        cli.run_with_input(&["import"], "ann@example.com\n")
            .success();
        let error = stderr(&cli.run(&["report", "-o", "missing/report.html"]).code(1));
        assert!(
            error.contains("cannot write missing/report.html: "),
            "{error}"
        );
    }
}
