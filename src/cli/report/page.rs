//! The page of the report: HTML with its style, which loads nothing. Each chart is a table with a bar in each row, so it
//! needs no other text, and its numbers are beside it.

use std::time::SystemTime;

use html_escape::encode_text;
use indicatif::HumanCount;
use jiff::civil::Date;

use crate::{
    cli::{
        numbers::{Interval, Numbers, Stages, percent, utc},
        time::rfc3339,
    },
    waitlist::Selection,
};

const STYLE: &str = include_str!("report.css");

/// A row of a chart.
struct Row {
    label: String,
    /// Length of the bar.
    count: u64,
    /// The numbers, written out.
    cells: Vec<String>,
}

/// Renders the page.
pub(super) fn render(
    product: &str,
    selection: &Selection,
    numbers: &Numbers,
    now: SystemTime,
) -> String {
    let product = encode_text(product);
    let at = utc(now);
    let people = match numbers.total.people {
        1 => "1 person".to_owned(),
        people => format!("{} people", HumanCount(people)),
    };
    let selected = match &*describe(selection) {
        [] => String::new(),
        parts => format!("<p>Only people {}.</p>\n", encode_text(&parts.join(", "))),
    };
    let totals = numbers.totals(selection).into_iter();
    let totals = totals.map(|(label, count)| {
        format!(
            "<div><dt>{label}</dt><dd>{}</dd></div>\n",
            HumanCount(count)
        )
    });
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{product} waitlist, {date}: {people}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{product} waitlist</h1>
<p>{date}, {time}. All times are in UTC.</p>
{selected}<dl>
{totals}</dl>
</header>
{growth}{sources}</main>
</body>
</html>
"#,
        date = long_date(at.date()),
        time = at.strftime("%H:%M"),
        totals = totals.collect::<String>(),
        growth = render_growth(numbers),
        sources = render_sources(numbers),
    )
}

/// Returns what the selected people have in common.
fn describe(selection: &Selection) -> Vec<String> {
    let Selection {
        since,
        until,
        domain,
        source,
        confirmed,
        newest_first: _,
    } = selection;
    let since = since.map(|since| format!("who joined at {} or later", rfc3339(since)));
    let until = until.map(|until| format!("who joined before {}", rfc3339(until)));
    let domain = domain.as_ref();
    let domain = domain.map(|domain| format!("with an address at {}", domain.as_str()));
    let source = source
        .as_ref()
        .map(|source| format!("from the source {source}"));
    let confirmed = confirmed.map(|confirmed| match confirmed {
        true => "who have confirmed their address".to_owned(),
        false => "who have not confirmed their address".to_owned(),
    });
    let parts = [since, until, domain, source, confirmed];
    parts.into_iter().flatten().collect()
}

fn render_growth(numbers: &Numbers) -> String {
    let (per, bars) = (numbers.per, &numbers.sign_ups);
    let busiest = bars.iter().rev().max_by_key(|bar| bar.count);
    let busiest = busiest.filter(|bar| bar.count > 0);
    let summary = busiest.map_or_else(
        || "No sign-ups yet.".into(),
        |bar| {
            let (label, count) = (per.label(bar.from), HumanCount(bar.count));
            format!("Most sign-ups: {label}, with {count}.")
        },
    );
    let mut people = 0;
    let rows = bars.iter().map(|bar| {
        people += bar.count;
        Row {
            label: per.label(bar.from),
            count: bar.count,
            cells: vec![
                HumanCount(bar.count).to_string(),
                HumanCount(people).to_string(),
            ],
        }
    });
    let heading = format!("Sign-ups a {}", per.describe());
    let label = match per {
        Interval::Day => "Day",
        Interval::Week => "Week from",
        Interval::Month => "Month",
        Interval::Year => "Year",
    };
    let columns = [label, "Sign-ups", "Total"];
    render_chart(
        "sign-ups",
        &heading,
        &summary,
        &columns,
        &rows.collect::<Vec<_>>(),
    )
}

fn render_sources(numbers: &Numbers) -> String {
    let row = |(label, stages): (&str, Stages)| {
        let share = format!("{:.1} %", percent(stages.people, numbers.total.people));
        let count = |count| HumanCount(count).to_string();
        Row {
            label: label.to_owned(),
            count: stages.people,
            cells: vec![
                count(stages.people),
                share,
                count(stages.confirmed),
                count(stages.mailed),
                count(stages.unsubscribed),
            ],
        }
    };
    let rows: Vec<_> = numbers.sources.rows().into_iter().map(row).collect();
    render_chart(
        "sources",
        "Sources",
        "People who have left are erased: only the last column counts them.",
        &["Source", "People", "Share", "Confirmed", "Mailed", "Left"],
        &rows,
    )
}

/// Renders a section. The bars are behind the first column.
fn render_chart(id: &str, heading: &str, summary: &str, columns: &[&str], rows: &[Row]) -> String {
    let highest = rows.iter().map(|row| row.count).max().unwrap_or(0).max(1);
    let columns = columns
        .iter()
        .map(|column| format!("<th scope=\"col\">{column}</th>"));
    let columns: Vec<_> = columns.collect();
    let rows = rows.iter().map(|Row { label, count, cells }| {
        let width = *count as f64 / highest as f64 * 100.0;
        format!(
            "<tr><th scope=\"row\">{label}</th><td><i style=\"inline-size: {width:.2}%\"></i></td><td>{}</td></tr>\n",
            cells.join("</td><td>")
        )
    });
    format!(
        r#"<section id="{id}">
<h2 id="{id}-heading">{heading}</h2>
<p>{summary}</p>
<div role="group" aria-labelledby="{id}-heading" tabindex="0">
<table>
<thead><tr>{first}<td></td>{others}</tr></thead>
<tbody>
{rows}</tbody>
</table>
</div>
</section>
"#,
        first = columns[0],
        others = columns[1..].concat(),
        rows = rows.collect::<String>(),
    )
}

/// Writes a date: `23 November 2026`.
fn long_date(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}
