//! Parses sign-up times as other programs and people write them.

use std::{str::FromStr, time::SystemTime};

use jiff::{
    Timestamp,
    civil::{Date, DateTime, Time},
    fmt::strtime::{self, BrokenDownTime},
    tz::{Offset, TimeZone},
};
use thiserror::Error;

use super::time_guess::parse_unix_time;
use crate::cli::time::{self, TimeError};

/// The possible meanings of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TimeReading {
    Exact(SystemTime),
    /// A date such as `11/01/2026`, whose first number is the day or the month. At least one reading is possible.
    NumericDate {
        day_first: Option<SystemTime>,
        month_first: Option<SystemTime>,
    },
}

/// Notations of a date that have one meaning. A time of day may follow. [`time::parse`] reads RFC 3339.
const EXACT_DATES: [&str; 10] = [
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%Y-%m-%d",
    "%Y.%m.%d",
    "%b %d, %Y",
    "%B %d, %Y",
    "%d %b %Y",
    "%d %B %Y",
    "%a, %d %b %Y",
    "%a %b %d %Y",
];
/// Notations that put the day before the month in some countries, and the month before the day in others.
const NUMERIC_DATES: [(&str, &str); 2] = [("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y")];
/// Notations of the time of day after a date.
const CLOCKS: [&str; 4] = ["%I:%M:%S %p", "%I:%M %p", "%H:%M:%S%.f", "%H:%M"];
/// Abbreviations of zones, in hours from UTC: those of RFC 5322, and those that Google Forms writes in German.
const ZONES: [(&str, i8); 17] = [
    ("", 0),
    ("Z", 0),
    ("UTC", 0),
    ("GMT", 0),
    ("Uhr", 0),
    ("CET", 1),
    ("MEZ", 1),
    ("CEST", 2),
    ("MESZ", 2),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
];

/// Reads a time in any of the known notations. A time without a zone is in UTC.
///
/// # Errors
/// [`TimeError`].
pub(crate) fn read_time(text: &str) -> Result<TimeReading, TimeError> {
    match time::parse(text) {
        Ok(time) => return Ok(TimeReading::Exact(time)),
        Err(TimeError::NamedZone) => return Err(TimeError::NamedZone),
        Err(TimeError::Unrecognized) => {}
    }
    // Databases may write a fraction of a second.
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_number = fraction.bytes().all(|byte| byte.is_ascii_digit());
    let since_epoch = parse_unix_time(seconds).filter(|_| is_number);
    since_epoch
        .map(TimeReading::Exact)
        .or_else(|| read_date(text))
        .ok_or(TimeError::Unrecognized)
}

/// Whether a text is a date that no other text looks like, in any column: not a number, which may be a telephone
/// number.
pub(crate) fn is_date(text: &str) -> bool {
    time::parse(text).is_ok() || read_date(text).is_some()
}

fn read_date(text: &str) -> Option<TimeReading> {
    // Browsers put a narrow space before AM and PM.
    let text = &*text.replace(['\u{a0}', '\u{202f}'], " ");
    let exact = EXACT_DATES
        .iter()
        .find_map(|format| parse_with(format, text));
    if let Some(time) = exact {
        return Some(TimeReading::Exact(time));
    }
    NUMERIC_DATES.iter().find_map(|(day_first, month_first)| {
        let (day_first, month_first) = (parse_with(day_first, text), parse_with(month_first, text));
        (day_first.is_some() || month_first.is_some()).then_some(TimeReading::NumericDate {
            day_first,
            month_first,
        })
    })
}

/// Parses a text that begins with a date in this format. Unless the format contains it, a time of day may follow.
fn parse_with(format: &str, text: &str) -> Option<SystemTime> {
    let (parsed, length) = BrokenDownTime::parse_prefix(format, text).ok()?;
    let rest = text.get(length..)?;
    if let Some(timestamp) = parsed.timestamp() {
        return rest.is_empty().then(|| timestamp.into());
    }
    let date = parsed.to_date().ok().filter(has_full_year)?;
    let (clock, zone) = match parsed.hour() {
        Some(_) => (parsed.to_time().ok()?, rest),
        None if rest.is_empty() => (Time::midnight(), rest),
        None => parse_clock(rest)?,
    };
    let offset = match parsed.offset() {
        Some(offset) if zone.is_empty() => offset,
        _ => parse_zone(zone)?,
    };
    let local = DateTime::from_parts(date, clock);
    let timestamp = offset.to_timestamp(local).ok()?;
    Some(timestamp.into())
}

/// Whether a year has four digits: `%Y` also reads the `26` of `21.11.26`.
fn has_full_year(date: &Date) -> bool {
    date.year() >= 1000
}

/// Parses the text after a date: a separator and a time of day. Also returns the text after that.
fn parse_clock(text: &str) -> Option<(Time, &str)> {
    let clock = text.trim_start_matches([' ', ',', 'T']);
    if clock.len() == text.len() {
        return None;
    }
    CLOCKS.iter().find_map(|format| {
        let (parsed, length) = BrokenDownTime::parse_prefix(format, clock).ok()?;
        Some((parsed.to_time().ok()?, clock.get(length..)?))
    })
}

/// Parses a zone: an abbreviation, or an offset such as `+01:00`, `+0100` or `GMT+1`.
fn parse_zone(text: &str) -> Option<Offset> {
    // Browsers append the name of the zone in parentheses.
    let zone = text.split_once('(').map_or(text, |(zone, _)| zone).trim();
    let abbreviation = ZONES.iter().find(|(name, _)| *name == zone);
    if let Some((_, hours)) = abbreviation {
        return Some(Offset::constant(*hours));
    }
    let offset = zone.trim_start_matches("GMT").trim_start_matches("UTC");
    let (sign, digits) = match offset.strip_prefix('+') {
        Some(digits) => (1, digits),
        None => (-1, offset.strip_prefix('-')?),
    };
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None => digits.split_at_checked(2).unwrap_or((digits, "")),
    };
    let number = |digits: &str| match digits {
        "" => Some(0),
        digits => digits.parse::<u8>().ok().map(i32::from),
    };
    let seconds = (number(hours)? * 60 + number(minutes)?) * 60;
    Offset::from_seconds(sign * seconds).ok()
}

/// The option `--date-format`: how the file writes its dates.
#[derive(Clone, Debug)]
pub(crate) struct DateFormat {
    format: String,
    /// Whether RFC 3339 times could also be read in this format, with another meaning.
    is_like_rfc3339: bool,
}

/// An invalid `--date-format`.
#[derive(Debug, Error)]
#[error(
    "write the date with %d, %m and %Y, as in %d.%m.%Y for 21.11.2026; a time of day after it is recognized"
)]
pub(crate) struct InvalidDateFormat;

/// A time whose day, month and year all differ, and cannot be taken for each other.
const SAMPLE: DateTime = DateTime::constant(2026, 9, 8, 7, 6, 5, 0);

impl FromStr for DateFormat {
    type Err = InvalidDateFormat;

    fn from_str(format: &str) -> Result<Self, Self::Err> {
        let sample = TimeZone::UTC
            .to_zoned(SAMPLE)
            .map_err(|_| InvalidDateFormat)?;
        let written = strtime::format(format, &sample).map_err(|_| InvalidDateFormat)?;
        let read = parse_with(format, &written).and_then(|time| Timestamp::try_from(time).ok());
        let date = read.map(|time| TimeZone::UTC.to_datetime(time).date());
        if date != Some(SAMPLE.date()) {
            return Err(InvalidDateFormat);
        }
        Ok(Self {
            format: format.to_owned(),
            is_like_rfc3339: time::parse(&written).is_ok(),
        })
    }
}

impl DateFormat {
    /// Parses a time in this format. Also accepts RFC 3339, unless the format could mean something else by it.
    pub(crate) fn parse(&self, text: &str) -> Option<SystemTime> {
        let rfc3339 = || {
            if self.is_like_rfc3339 {
                None
            } else {
                time::parse(text).ok()
            }
        };
        parse_with(&self.format, text).or_else(rfc3339)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.format
    }
}
