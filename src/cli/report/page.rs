//! The page of the report: HTML with its style, which loads nothing.

use html_escape::encode_text;

use super::{
    data::ReportCounts,
    format::{group_digits, long_date, long_time, people},
    sections::{Section, Table, sections},
};
use crate::{
    cli::{sign_up_chart::utc, time::rfc3339},
    waitlist::{AddressFilter, Selection},
};

const STYLE: &str = include_str!("report.css");

/// Renders the page.
pub(super) fn render_page(product: &str, selection: &Selection, counts: &ReportCounts) -> String {
    let product = encode_text(product);
    let at = utc(counts.at);
    let title = format!(
        "{product} waitlist, {}: {}",
        long_date(at.date()),
        people(counts.total)
    );
    let selected = describe(selection);
    let selected = match &*selected {
        [] => String::new(),
        parts => format!("<p>Only people {}.</p>\n", encode_text(&parts.join(", "))),
    };
    let sections: String = sections(counts).iter().map(render_section).collect();
    format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
{STYLE}</style>
</head>
<body>
<main>
<header>
<h1>{product} waitlist</h1>
<p>{time}. All times are in UTC.</p>
{selected}{totals}</header>
{sections}</main>
</body>
</html>
"#,
        time = long_time(at),
        totals = render_totals(selection, counts),
    )
}

/// Returns what the selected people have in common.
fn describe(selection: &Selection) -> Vec<String> {
    let Selection {
        since,
        until,
        addresses,
        source,
        confirmed,
        newest_first: _,
    } = selection;
    let since = since.map(|since| format!("who joined at {} or later", rfc3339(since)));
    let until = until.map(|until| format!("who joined before {}", rfc3339(until)));
    let domain = match addresses {
        AddressFilter::Domain(domain) => Some(format!("with an address at {}", domain.as_str())),
        // The owner cannot select one person, and the page shows no address.
        AddressFilter::Any | AddressFilter::Address(_) => None,
    };
    let source = source
        .as_ref()
        .map(|source| format!("from the source {source}"));
    let confirmed = confirmed.map(|confirmed| match confirmed {
        true => "who have confirmed their address".to_owned(),
        false => "who have not confirmed their address".to_owned(),
    });
    [since, until, domain, source, confirmed]
        .into_iter()
        .flatten()
        .collect()
}

fn render_totals(selection: &Selection, counts: &ReportCounts) -> String {
    let total = if selection.is_everything() {
        "on the list"
    } else {
        "selected"
    };
    let day = counts.last_24_hours.iter().sum();
    let totals = [
        (total, counts.total),
        ("last 24 hours", day),
        ("last 7 days", counts.last_7_days),
        ("last 30 days", counts.last_30_days),
    ];
    let totals = totals.map(|(label, count)| {
        format!(
            "<div><dt>{label}</dt><dd>{}</dd></div>\n",
            group_digits(count)
        )
    });
    format!("<dl>\n{}</dl>\n", totals.concat())
}

fn render_section(section: &Section) -> String {
    let Section {
        id,
        heading,
        summary,
        chart,
        table,
    } = section;
    format!(
        r#"<section id="{id}" class="chart">
<h2>{heading}</h2>
<p id="{id}-summary">{summary}</p>
<div class="plot">
{chart}
</div>
<details>
<summary>Numbers: {heading}</summary>
<div class="scroll" role="group" aria-label="{heading}" tabindex="0">
{table}</div>
</details>
</section>
"#,
        table = render_table(heading, table),
    )
}

fn render_table(caption: &str, table: &Table) -> String {
    let columns = table.columns.iter();
    let columns: String = columns
        .map(|column| format!("<th scope=\"col\">{column}</th>"))
        .collect();
    let rows = table.rows.iter().map(|(heading, cells)| {
        let cells: String = cells
            .iter()
            .map(|cell| format!("<td>{cell}</td>"))
            .collect();
        format!("<tr><th scope=\"row\">{heading}</th>{cells}</tr>\n")
    });
    format!(
        "<table>\n<caption>{caption}</caption>\n<thead><tr>{columns}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
        rows.collect::<String>()
    )
}
