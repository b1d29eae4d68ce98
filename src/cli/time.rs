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
pub(super) fn parse_time_or_age(text: &str) -> Result<SystemTime, InvalidTime> {
    let ago = || {
        let span = text.parse::<Span>().ok()?;
        let days = SpanRelativeTo::days_are_24_hours();
        let span = span.to_duration(days).ok()?.unsigned_abs();
        SystemTime::now().checked_sub(span)
    };
    let time = parse(text).or_else(ago).ok_or(InvalidTime)?;
    // The list has no earlier one.
    Ok(time.max(UNIX_EPOCH))
}

/// A text on the command line that is no time.
#[derive(Debug, Error)]
#[error(
    "write a time as 2026-11-21T08:00:00Z, with an offset as +01:00, or as 2026-11-21 (UTC), or an age as 7d, 36h or 90m"
)]
pub(super) struct InvalidTime;

/// Parses a time as programs write it: RFC 3339 (ISO 8601). A time without a zone is in UTC; a date alone is the
/// start of that day. A zone or a calendar in brackets (RFC 9557) is not read: this program knows no time zones.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    if text.contains('[') {
        // Both parsers would ignore the brackets.
        return None;
    }
    let exact = text.parse::<Timestamp>().ok();
    let timestamp = exact.or_else(|| {
        // A time with an offset is already parsed, unless it is after the year 9999.
        let has_offset = text.get(10..).is_some_and(|rest| rest.contains(['+', '-']));
        let local = text.parse::<DateTime>().ok().filter(|_| !has_offset)?;
        TimeZone::UTC.to_timestamp(local).ok()
    });
    timestamp.map(Into::into)
}

/// Formats a time, to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    // RFC 3339 ends with the year 9999.
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

/// Returns why the time of a sign-up, or of a fact about it, is implausible, if it is.
pub(super) fn time_problem(time: SystemTime) -> Option<&'static str> {
    if time < UNIX_EPOCH + EARLIEST_SINCE_EPOCH {
        Some("its time is before e-mail existed")
    } else if time > SystemTime::now() + CLOCK_TOLERANCE {
        Some("its time is in the future, perhaps because the clock was wrong")
    } else {
        None
    }
}
