//! Numbers and dates as the report writes them.

use jiff::civil::{Date, DateTime};

use crate::cli::sign_up_chart::Interval;

/// Writes a number with a comma before every three digits: `1,234,567`.
pub(super) fn group_digits(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes a number in at most five characters, beside the line of a chart: `250`, `2.5k`, `10M`.
pub(super) fn shorten(number: u64) -> String {
    let (unit, letter) = match number {
        0..1_000 => return number.to_string(),
        1_000..1_000_000 => (1_000, "k"),
        _ => (1_000_000, "M"),
    };
    let tenths = number % unit * 10 / unit;
    match tenths {
        0 => format!("{}{letter}", number / unit),
        _ => format!("{}.{tenths}{letter}", number / unit),
    }
}

/// Writes a count with the thing counted: `1 sign-up`, `2 sign-ups`.
pub(super) fn sign_ups(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} sign-up{plural}", group_digits(count))
}

/// Writes a number of people: `1 person`, `2 people`.
pub(super) fn people(count: u64) -> String {
    let noun = if count == 1 { "person" } else { "people" };
    format!("{} {noun}", group_digits(count))
}

/// Writes a date: `23 November 2026`.
pub(super) fn long_date(date: Date) -> String {
    date.strftime("%-d %B %Y").to_string()
}

/// Writes a date and time: `23 November 2026, 09:14`.
pub(super) fn long_time(time: DateTime) -> String {
    time.strftime("%-d %B %Y, %H:%M").to_string()
}

impl Interval {
    /// Returns the word for the interval.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// Writes the interval that starts at this day, after its word: `Busiest day: 23 November 2026`.
    pub(super) fn in_sentence(self, from: Date) -> String {
        match self {
            Self::Day => long_date(from),
            Self::Week => format!("from {}", long_date(from)),
            Self::Month => from.strftime("%B %Y").to_string(),
            Self::Year => from.strftime("%Y").to_string(),
        }
    }

    /// Writes the interval for the first cell of a row.
    pub(super) fn in_table(self, from: Date) -> String {
        match self {
            Self::Day | Self::Week => from.to_string(),
            Self::Month => from.strftime("%Y-%m").to_string(),
            Self::Year => from.strftime("%Y").to_string(),
        }
    }

    /// Writes the interval below a chart, with the year if the chart has several.
    pub(super) fn in_chart(self, from: Date, has_years: bool) -> String {
        let format = match self {
            Self::Day | Self::Week if has_years => "%-d %b %Y",
            Self::Day | Self::Week => "%-d %b",
            Self::Month => "%b %Y",
            Self::Year => "%Y",
        };
        from.strftime(format).to_string()
    }
}
