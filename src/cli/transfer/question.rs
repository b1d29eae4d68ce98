//! The questions that the owner must answer with an option before anybody is imported.

use std::fmt;

use thiserror::Error;

use super::{column_values::UnknownValue, sign_up_time::DateFormat, text::quoted};
use crate::cli::time::rfc3339;

/// Why nothing is imported without another option.
#[derive(Debug, Error)]
pub(crate) enum Question {
    #[error("there is no column {}; check the spelling of --ignore", quoted(.0))]
    MissingColumn(String),
    #[error(
        "this is a second header row, so the columns below it may differ; split the file there, and import both \
         parts"
    )]
    SecondHeader { line: u64 },
    #[error(
        "this line is above the header row, and may mean that the people in the file have unsubscribed; if they have \
         not, delete it and import the file again"
    )]
    UnsubscribedTitle { line: u64 },
    #[error(
        "no value in the file matches {options}; check the spelling; to match a yes, a no, a number or a \
         time, name the column too, as in COLUMN=STATUS"
    )]
    UnusedOptions { options: String },
    #[error("{}", UnknownValues(.0))]
    UnknownValues(Vec<UnknownValue>),
    #[error("{}", AmbiguousDates { column, example })]
    AmbiguousDates { column: String, example: Example },
    #[error("{}", UnreadableTimes { column, example, date_format: date_format.as_deref() })]
    UnreadableTimes {
        column: String,
        example: Example,
        /// The value of `--date-format`.
        date_format: Option<String>,
    },
    #[error(
        "{} may hold the sign-up times: name the right one \"joined_at\" in the file; or let everybody get the \
         current time, with {}",
        enumerate(.columns, "column "), enumerate(.columns, "--ignore ")
    )]
    PossibleTimes { columns: Vec<String> },
    #[error(
        "no column has sign-up times for --date-format {}; name the column \"joined_at\" in the file, or leave the \
         option out",
        quoted(.0)
    )]
    UnusedDateFormat(String),
    #[error(
        "everybody in the file would be skipped because of {columns} ({}); if they have unsubscribed, add \
         --skip-all; otherwise import them with --ignore COLUMN, or with --keep STATUS if the reason is a word \
         such as \"inactive\"",
        people(*.skipped)
    )]
    AllSkipped { skipped: u64, columns: String },
}

/// A value, and its line.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub(crate) line: u64,
    pub(crate) text: String,
}

/// Maximum number of unknown values that are shown.
const UNKNOWN_SHOWN_MAX: usize = 10;

struct UnknownValues<'a>(&'a [UnknownValue]);

impl fmt::Display for UnknownValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "these values may mean that people have unsubscribed:")?;
        for value in self.0.iter().take(UNKNOWN_SHOWN_MAX) {
            writeln!(
                f,
                "  line {}: column {} says {} ({})",
                value.line,
                quoted(&value.column),
                quoted(&value.text),
                people(value.people)
            )?;
        }
        if let Some(more @ 1..) = self.0.len().checked_sub(UNKNOWN_SHOWN_MAX) {
            writeln!(f, "  and {more} more")?;
        }
        f.write_str(
            "for each value, import the people with --keep STATUS, or skip them with --skip STATUS; for one \
             column only, write COLUMN=STATUS, or COLUMN=* for all of its values above; to import people \
             whatever a column says, add --ignore COLUMN",
        )
    }
}

/// The dates of a column that may begin with the day or with the month.
struct AmbiguousDates<'a> {
    column: &'a str,
    example: &'a Example,
}

impl fmt::Display for AmbiguousDates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = &self.example.text;
        let (day_first, month_first) = date_formats(text, 'Y').unwrap_or_default();
        write!(
            f,
            "column {} has dates such as {}, which may begin with the day or with the month; add --date-format \
             '{day_first}' if they begin with the day{}, or --date-format '{month_first}' if they begin with the \
             month{}",
            quoted(self.column),
            quoted(text),
            reading(text, &day_first),
            reading(text, &month_first)
        )
    }
}

/// Returns the formats of a date such as `11/01/2026`, with the separator that it has: with the day first, and with the
/// month first. `year` is `Y` for four digits and `y` for two.
fn date_formats(date: &str, year: char) -> Option<(String, String)> {
    let separator = date.chars().find(|c| !c.is_ascii_digit())?;
    let day_first = format!("%d{separator}%m{separator}%{year}");
    let month_first = format!("%m{separator}%d{separator}%{year}");
    Some((day_first, month_first))
}

/// Returns what a date means in a format: ` (2026-11-01)`. Returns nothing if it cannot be read in that format.
fn reading(date: &str, format: &str) -> String {
    let format: Option<DateFormat> = format.parse().ok();
    let time = format.and_then(|format| format.parse(date));
    time.map_or_else(String::new, |time| format!(" ({})", &rfc3339(time)[..10]))
}

/// Returns the options that can read a date whose year has two digits, with what each makes of it.
fn advise_format(date: &str) -> String {
    let (day_first, month_first) = date_formats(date, 'y').unwrap_or_default();
    let options = [day_first, month_first].into_iter().filter_map(|format| {
        let reading = reading(date, &format);
        (!reading.is_empty()).then(|| format!("--date-format '{format}'{reading}"))
    });
    match &options.collect::<Vec<_>>()[..] {
        [] => "for example with --date-format '%d.%m.%y' for 21.11.26".to_owned(),
        [option] => format!("for example with {option}"),
        options => format!("with {}", options.join(" or ")),
    }
}

/// The times of a column of which none can be read.
struct UnreadableTimes<'a> {
    column: &'a str,
    example: &'a Example,
    date_format: Option<&'a str>,
}

impl fmt::Display for UnreadableTimes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (column, text) = (quoted(self.column), quoted(&self.example.text));
        match self.date_format {
            None => write!(
                f,
                "no time in column {column} can be read, such as {text}; say how they are written, {}; or let \
                 everybody get the current time, with --ignore {column}",
                advise_format(&self.example.text)
            ),
            Some(format) => write!(
                f,
                "no time in column {column} matches --date-format {}, such as {text}; correct the format",
                quoted(format)
            ),
        }
    }
}

impl Question {
    /// Returns the line that the question is about, if it is about one.
    pub(crate) fn line(&self) -> Option<u64> {
        match self {
            Self::SecondHeader { line } | Self::UnsubscribedTitle { line } => Some(*line),
            Self::AmbiguousDates { example, .. } | Self::UnreadableTimes { example, .. } => {
                Some(example.line)
            }
            Self::MissingColumn(_)
            | Self::UnusedOptions { .. }
            | Self::UnknownValues(_)
            | Self::PossibleTimes { .. }
            | Self::UnusedDateFormat(_)
            | Self::AllSkipped { .. } => None,
        }
    }
}

/// Lists names, each after `prefix`.
fn enumerate(names: &[String], prefix: &str) -> String {
    let names = names.iter().map(|name| format!("{prefix}{}", quoted(name)));
    names
        .collect::<Vec<_>>()
        .join(if prefix.starts_with('-') { " " } else { ", " })
}

fn people(count: u64) -> String {
    let noun = if count == 1 { "person" } else { "people" };
    format!("{count} {noun}")
}
