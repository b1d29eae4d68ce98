//! Times as the owner reads and writes them: RFC 3339, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{Span, SpanRelativeTo, Timestamp, civil::DateTime, tz::TimeZone};

use crate::waitlist::Selection;

/// The first e-mail between two machines was sent in 1971.
const EARLIEST_SINCE_EPOCH: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// A clock may be wrong by so much before a time is not plausible.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(24 * 60 * 60);

/// Which part of the list, by the time of joining.
#[derive(clap::Args)]
pub(super) struct PeriodArgs {
    /// Only who joined then or later: 2026-11-21T08:00:00Z, 2026-11-21, or so long ago: 7d, 36h
    #[arg(long, value_name = "TIME", value_parser = parse_time_or_age)]
    since: Option<SystemTime>,

    /// Only who joined before then
    #[arg(long, value_name = "TIME", value_parser = parse_time_or_age)]
    until: Option<SystemTime>,
}

impl PeriodArgs {
    pub(super) fn selection(&self, newest_first: bool) -> Selection {
        Selection {
            since: self.since,
            until: self.until,
            newest_first,
        }
    }
}

/// A moment, or how long ago it was.
fn parse_time_or_age(text: &str) -> Result<SystemTime, &'static str> {
    let ago = || {
        let span = text.parse::<Span>().ok()?;
        let days = SpanRelativeTo::days_are_24_hours();
        let span = span.to_duration(days).ok()?.unsigned_abs();
        SystemTime::now().checked_sub(span)
    };
    match parse(text) {
        Ok(time) => Ok(time),
        Err(TimeError::NamedZone) => Err(
            "it has a zone in brackets, which is not understood: write it as 2026-11-21T08:00:00+01:00",
        ),
        Err(TimeError::Unrecognized) => ago().ok_or(
            "write a time as 2026-11-21T08:00:00Z or 2026-11-21 (UTC), or how long ago it was: 7d, \
             36h, 90m",
        ),
    }
}

/// Why a text is no moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TimeError {
    /// It can be read in several ways, or in none.
    Unrecognized,
    /// It names its zone or its calendar (RFC 9557), `[Europe/Berlin]`, and no zones are known here.
    NamedZone,
}

/// A moment as programs write it: RFC 3339 (ISO 8601). Without a zone it is UTC; without a time, the
/// beginning of the day.
pub(super) fn parse(text: &str) -> Result<SystemTime, TimeError> {
    let text = text.trim();
    let exact = text.parse::<Timestamp>().ok();
    let timestamp = exact.or_else(|| {
        // With an offset it would have been exact, but for one after the year 9999.
        let (bare, _) = text.split_once('[').unwrap_or((text, ""));
        let has_offset = bare.get(10..).is_some_and(|rest| rest.contains(['+', '-']));
        let local = text.parse::<DateTime>().ok().filter(|_| !has_offset)?;
        TimeZone::UTC.to_timestamp(local).ok()
    });
    match timestamp {
        // Both would pass over what stands in brackets.
        Some(_) if text.contains('[') => Err(TimeError::NamedZone),
        Some(timestamp) => Ok(timestamp.into()),
        None => Err(TimeError::Unrecognized),
    }
}

/// A moment to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    // Beyond the year 9999 there is none.
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

/// What is not right with a time at which somebody is said to have joined.
pub(super) fn time_problem(joined_at: SystemTime) -> Option<&'static str> {
    if joined_at < UNIX_EPOCH + EARLIEST_SINCE_EPOCH {
        Some("its time is before there was e-mail")
    } else if joined_at > SystemTime::now() + CLOCK_TOLERANCE {
        Some("its time is to come")
    } else {
        None
    }
}
