//! The sections of the report: what it says about each count.

use svg::node::element::SVG;

use super::{
    charts::{ChartName, Row, bar_chart, column_chart, heat_map, line_chart},
    data::ReportCounts,
    format::{group_digits, long_date, long_time, people, sign_ups},
};
use crate::cli::{
    sign_up_chart::{ChartBar, Interval, utc},
    source_counts::percent,
};

/// A section of the page.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) heading: String,
    /// One or two sentences that say what the chart shows.
    pub(super) summary: String,
    pub(super) chart: SVG,
    pub(super) table: Table,
}

/// The numbers of a chart.
pub(super) struct Table {
    pub(super) columns: Vec<String>,
    /// Each has a heading and the cells after it.
    pub(super) rows: Vec<(String, Vec<String>)>,
}

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// Returns the sections, in the order of the page.
pub(super) fn sections(counts: &ReportCounts) -> [Section; 5] {
    [
        growth(counts),
        sign_ups_per_interval(counts),
        sources(counts),
        weekday_hours(counts),
        last_24_hours(counts),
    ]
}

fn growth(counts: &ReportCounts) -> Section {
    let bars = &counts.sign_ups;
    let totals: Vec<u64> = bars
        .iter()
        .scan(0, |total, bar| {
            *total += bar.count;
            Some(*total)
        })
        .collect();
    let rows = bars.iter().zip(&totals);
    Section {
        id: "growth",
        heading: "Growth".into(),
        summary: format!(
            "{} since {}.",
            people(counts.total),
            long_date(counts.since)
        ),
        chart: line_chart(
            &ChartName {
                label: "Line chart: the number of people over time",
                summary_id: "growth-summary",
            },
            &totals,
            &interval_labels(counts),
        ),
        table: Table {
            columns: vec![interval_column(counts.per), "People at its end".into()],
            rows: rows
                .map(|(bar, total)| (counts.per.in_table(bar.from), vec![group_digits(*total)]))
                .collect(),
        },
    }
}

fn sign_ups_per_interval(counts: &ReportCounts) -> Section {
    let (bars, per) = (&counts.sign_ups, counts.per);
    let busiest = bars.iter().rev().max_by_key(|bar| bar.count);
    let busiest = busiest.filter(|bar| bar.count > 0);
    let bar_counts: Vec<u64> = bars.iter().map(|bar| bar.count).collect();
    Section {
        id: "sign-ups",
        heading: format!("Sign-ups per {}", per.noun()),
        summary: busiest.map_or_else(
            || "No sign-ups yet.".into(),
            |bar| {
                format!(
                    "Busiest {}: {}, with {}.",
                    per.noun(),
                    per.in_sentence(bar.from),
                    sign_ups(bar.count)
                )
            },
        ),
        chart: column_chart(
            &ChartName {
                label: &format!("Bar chart: sign-ups per {}", per.noun()),
                summary_id: "sign-ups-summary",
            },
            &bar_counts,
            &interval_labels(counts),
        ),
        table: Table {
            columns: vec![interval_column(per), "Sign-ups".into()],
            rows: bars
                .iter()
                .map(|bar| (per.in_table(bar.from), vec![group_digits(bar.count)]))
                .collect(),
        },
    }
}

fn sources(counts: &ReportCounts) -> Section {
    let (ranking, total) = (&counts.sources, counts.total);
    let bars = ranking.bars();
    let share = |count| format!("{:.1} %", percent(count, total));
    let rows = bars.iter().map(|bar| {
        let text = format!("{} · {}", group_digits(bar.count), share(bar.count));
        Row {
            label: bar.label,
            count: bar.count,
            text,
            is_source: bar.is_source,
        }
    });
    let summary = match (ranking.distinct() as u64, ranking.other_sources) {
        (0, _) => "Nobody has a source.".into(),
        (distinct, others) => format!(
            "{} came from {}{}.",
            people(total - ranking.no_source),
            if others > 0 { "more than " } else { "" },
            match distinct {
                1 => "one source".into(),
                _ => format!("{} sources", group_digits(distinct)),
            }
        ),
    };
    Section {
        id: "sources",
        heading: "Sources".into(),
        summary,
        chart: bar_chart(
            &ChartName {
                label: "Bar chart: people from each source",
                summary_id: "sources-summary",
            },
            &rows.collect::<Vec<_>>(),
        ),
        table: Table {
            columns: vec!["Source".into(), "People".into(), "Share".into()],
            rows: bars
                .iter()
                .map(|bar| {
                    let cells = vec![group_digits(bar.count), share(bar.count)];
                    (bar.label.to_owned(), cells)
                })
                .collect(),
        },
    }
}

fn weekday_hours(counts: &ReportCounts) -> Section {
    let rows: Vec<_> = WEEKDAYS.into_iter().zip(&counts.weekday_hours).collect();
    let cells = rows.iter().flat_map(|(weekday, hours)| {
        let hours = hours.iter().zip(0..24);
        hours.map(move |(count, hour)| (*count, *weekday, hour))
    });
    let busiest = cells.rev().max_by_key(|(count, ..)| *count);
    let busiest = busiest.filter(|(count, ..)| *count > 0);
    let columns = std::iter::once("Hour").chain(WEEKDAYS.map(|weekday| &weekday[..3]));
    Section {
        id: "weekdays",
        heading: "Weekday and hour".into(),
        summary: busiest.map_or_else(
            || "No sign-ups yet.".into(),
            |(count, weekday, hour)| {
                format!(
                    "A stronger colour means more sign-ups. Busiest hour: {weekday}, {hour:02}:00 to {:02}:00, with {}.",
                    hour + 1,
                    sign_ups(count)
                )
            },
        ),
        chart: heat_map(
            &ChartName {
                label: "Heat map: sign-ups by weekday and hour",
                summary_id: "weekdays-summary",
            },
            &rows,
        ),
        table: Table {
            columns: columns.map(str::to_owned).collect(),
            rows: (0..24)
                .map(|hour| {
                    let cells = counts.weekday_hours.iter();
                    let cells = cells.map(|hours| group_digits(hours[hour]));
                    (format!("{hour:02}:00"), cells.collect())
                })
                .collect(),
        },
    }
}

fn last_24_hours(counts: &ReportCounts) -> Section {
    let hours = &counts.last_24_hours;
    let starts: Vec<String> = (0..hours.len())
        .map(|hour| utc(counts.hour_start(hour)).strftime("%H:%M").to_string())
        .collect();
    Section {
        id: "last-24-hours",
        heading: "The last 24 hours".into(),
        summary: format!(
            "{} since {}. Each bar is an hour.",
            sign_ups(hours.iter().sum()),
            long_time(utc(counts.hour_start(0)))
        ),
        chart: column_chart(
            &ChartName {
                label: "Bar chart: sign-ups in each of the last 24 hours",
                summary_id: "last-24-hours-summary",
            },
            hours,
            &starts,
        ),
        table: Table {
            columns: vec!["Hour from".into(), "Sign-ups".into()],
            rows: starts
                .iter()
                .zip(hours)
                .map(|(start, count)| (start.clone(), vec![group_digits(*count)]))
                .collect(),
        },
    }
}

fn interval_column(interval: Interval) -> String {
    match interval {
        Interval::Day => "Day",
        Interval::Week => "Week from",
        Interval::Month => "Month",
        Interval::Year => "Year",
    }
    .into()
}

fn interval_labels(counts: &ReportCounts) -> Vec<String> {
    let bars = &counts.sign_ups;
    let year = |bar: Option<&ChartBar>| bar.map(|bar| bar.from.year());
    let has_years = year(bars.first()) != year(bars.last());
    bars.iter()
        .map(|bar| counts.per.in_chart(bar.from, has_years))
        .collect()
}
