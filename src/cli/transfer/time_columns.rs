//! Decides how the times in each column are read, by all values of the column.

use std::{collections::HashMap, time::SystemTime};

use serde::Serialize;

use super::{
    question::{Example, Question},
    reject_reason::RejectReason,
    sign_up_time::{DateFormat, TimeReading, read_time},
    text::shorten,
};
use crate::cli::time::TimeError;

/// How the dates of a column are written, such as `11/01/2026`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DateOrder {
    DayFirst,
    MonthFirst,
}

/// How the times of a file are read.
#[derive(Default)]
pub(crate) struct TimeFormats {
    /// `--date-format`, which applies to all columns.
    date_format: Option<DateFormat>,
    /// The order of the dates in columns where only one order fits all of them.
    orders: HashMap<String, DateOrder>,
}

impl TimeFormats {
    pub(crate) fn new(date_format: Option<DateFormat>) -> Self {
        Self {
            date_format,
            orders: HashMap::new(),
        }
    }

    /// Returns the order of the dates in a column, if it was needed to read them.
    pub(crate) fn order(&self, column: &str) -> Option<DateOrder> {
        self.orders.get(column).copied()
    }

    /// Parses a time of a column. If the order of its dates is unknown, they are read like those of the column `like`.
    pub(crate) fn parse_like(
        &self,
        column: &str,
        like: Option<&str>,
        text: &str,
    ) -> Result<SystemTime, RejectReason> {
        let is_known = self.orders.contains_key(column);
        self.parse(like.filter(|_| !is_known).unwrap_or(column), text)
    }

    /// Parses a time of a column.
    pub(crate) fn parse(&self, column: &str, text: &str) -> Result<SystemTime, RejectReason> {
        if let Some(format) = &self.date_format {
            return format.parse(text).ok_or(RejectReason::OtherDateFormat);
        }
        let reading = read_time(text).map_err(RejectReason::InvalidTime)?;
        let time = match (reading, self.order(column)) {
            (TimeReading::Exact(time), _) => Some(time),
            (TimeReading::NumericDate { day_first, .. }, Some(DateOrder::DayFirst)) => day_first,
            (TimeReading::NumericDate { month_first, .. }, Some(DateOrder::MonthFirst)) => {
                month_first
            }
            (TimeReading::NumericDate { .. }, None) => None,
        };
        time.ok_or(RejectReason::InvalidTime(TimeError::Unrecognized))
    }
}

/// Collects the values of the columns of sign-up times.
#[derive(Default)]
pub(crate) struct TimeColumns {
    /// In the order in which they were found.
    columns: Vec<TimeValues>,
    /// Positions in `columns`, by name.
    indexes: HashMap<String, usize>,
}

struct TimeValues {
    column: String,
    /// A value with one meaning was found.
    has_readable: bool,
    /// The first value that cannot be read.
    unreadable: Option<Example>,
    /// The first date such as `11/01/2026`.
    numeric: Option<Example>,
    fits_day_first: bool,
    fits_month_first: bool,
}

impl TimeColumns {
    /// Records a value.
    pub(crate) fn record(&mut self, formats: &TimeFormats, column: &str, line: u64, text: &str) {
        let at = self.indexes.get(column).copied().unwrap_or_else(|| {
            self.indexes.insert(column.to_owned(), self.columns.len());
            self.columns.push(TimeValues::new(column));
            self.columns.len() - 1
        });
        if let Some(values) = self.columns.get_mut(at) {
            values.record(formats, line, text);
        }
    }

    /// Whether no time was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Sets the order of the dates where only one order fits. Called after the last value.
    pub(crate) fn finish(&self, formats: &mut TimeFormats) {
        for values in self.columns.iter().filter(|it| it.numeric.is_some()) {
            let order = match (values.fits_day_first, values.fits_month_first) {
                (true, false) => DateOrder::DayFirst,
                (false, true) => DateOrder::MonthFirst,
                (true, true) | (false, false) => continue,
            };
            formats.orders.insert(values.column.clone(), order);
        }
    }

    /// Returns what the owner must decide before the times can be read. Called after [`finish`](Self::finish).
    pub(crate) fn question(&self, formats: &TimeFormats) -> Option<Question> {
        if let Some(format) = &formats.date_format
            && self.columns.is_empty()
        {
            return Some(Question::UnusedDateFormat(format.as_str().to_owned()));
        }
        self.columns.iter().find_map(|values| {
            let column = values.column.clone();
            match (&values.numeric, &values.unreadable) {
                (Some(example), _) if formats.order(&column).is_none() => {
                    Some(Question::AmbiguousDates {
                        column,
                        example: example.clone(),
                    })
                }
                (None, Some(example)) if !values.has_readable => Some(Question::UnreadableTimes {
                    column,
                    example: example.clone(),
                    date_format: formats
                        .date_format
                        .as_ref()
                        .map(|it| it.as_str().to_owned()),
                }),
                _ => None,
            }
        })
    }
}

impl TimeValues {
    fn new(column: &str) -> Self {
        Self {
            column: column.to_owned(),
            has_readable: false,
            unreadable: None,
            numeric: None,
            fits_day_first: true,
            fits_month_first: true,
        }
    }

    fn record(&mut self, formats: &TimeFormats, line: u64, text: &str) {
        let example = || Example {
            line,
            text: shorten(text),
        };
        let reading = match &formats.date_format {
            Some(format) => format
                .parse(text)
                .map(TimeReading::Exact)
                .ok_or(TimeError::Unrecognized),
            None => read_time(text),
        };
        match reading {
            // The lines with a named zone are rejected with better advice.
            Ok(TimeReading::Exact(_)) | Err(TimeError::NamedZone) => self.has_readable = true,
            Ok(TimeReading::NumericDate {
                day_first,
                month_first,
            }) => {
                self.numeric.get_or_insert_with(example);
                self.fits_day_first &= day_first.is_some();
                self.fits_month_first &= month_first.is_some();
            }
            Err(TimeError::Unrecognized) => {
                self.unreadable.get_or_insert_with(example);
            }
        }
    }
}
