//! Times on the command line and in output: RFC 3339, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{Span, SpanRelativeTo, Timestamp, civil::DateTime, tz::TimeZone};
use thiserror::Error;

/// Earliest plausible sign-up time, counted from 1970: 1 January 1971. The first e-mail between two machines was sent
/// in that year.
const EARLIEST_SINCE_EPOCH: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// A time further in the future than this is implausible. A wrong clock explains anything less.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Parses a time, or an age such as `7d`, which means that long ago.
pub(super) fn parse_time_or_age(text: &str) -> Result<SystemTime, InvalidTimeArg> {
    let ago = || {
        let span = text.parse::<Span>().ok()?;
        let days = SpanRelativeTo::days_are_24_hours();
        let span = span.to_duration(days).ok()?.unsigned_abs();
        SystemTime::now().checked_sub(span)
    };
    parse(text).or_else(|error| match error {
        TimeError::NamedZone => Err(InvalidTimeArg::NamedZone(error)),
        TimeError::Unrecognized => ago().ok_or(InvalidTimeArg::Unrecognized),
    })
}

/// An error of parsing a time on the command line.
#[derive(Debug, Error)]
pub(super) enum InvalidTimeArg {
    #[error(
        "write a time as 2026-11-21T08:00:00Z or 2026-11-21 (UTC), or an age as 7d, 36h or 90m"
    )]
    Unrecognized,
    #[error("{0}")]
    NamedZone(TimeError),
}

/// An error of parsing a time.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub(super) enum TimeError {
    /// The text is not a time, or is ambiguous.
    #[error("not a time, or ambiguous; write it as 2026-11-21T08:00:00Z")]
    Unrecognized,
    /// The text names its zone or its calendar, as in `[Europe/Berlin]` (RFC 9557). This program knows no time zones.
    #[error(
        "zones in brackets are not supported; write the offset, as in 2026-11-21T08:00:00+01:00"
    )]
    NamedZone,
}

/// Parses a time as programs write it: RFC 3339 (ISO 8601). A time without a zone is in UTC; a date alone is the
/// start of that day.
pub(super) fn parse(text: &str) -> Result<SystemTime, TimeError> {
    let text = text.trim();
    let exact = text.parse::<Timestamp>().ok();
    let timestamp = exact.or_else(|| {
        // A time with an offset is already parsed, unless it is after the year 9999.
        let (bare, _) = text.split_once('[').unwrap_or((text, ""));
        let has_offset = bare.get(10..).is_some_and(|rest| rest.contains(['+', '-']));
        let local = text.parse::<DateTime>().ok().filter(|_| !has_offset)?;
        TimeZone::UTC.to_timestamp(local).ok()
    });
    match timestamp {
        // Both parsers would ignore the brackets.
        Some(_) if text.contains('[') => Err(TimeError::NamedZone),
        Some(timestamp) => Ok(timestamp.into()),
        None => Err(TimeError::Unrecognized),
    }
}

/// Formats a time, to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    // RFC 3339 ends with the year 9999.
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

/// Returns why a sign-up time is implausible, if it is.
pub(super) fn time_problem(joined_at: SystemTime) -> Option<&'static str> {
    if joined_at < UNIX_EPOCH + EARLIEST_SINCE_EPOCH {
        Some("its time is before e-mail existed")
    } else if joined_at > SystemTime::now() + CLOCK_TOLERANCE {
        Some("its time is in the future")
    } else {
        None
    }
}
