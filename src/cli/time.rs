//! Times as the owner reads and writes them: RFC 3339, in UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{Span, SpanRelativeTo, Timestamp, civil::DateTime, tz::TimeZone};

use crate::waitlist::Selection;

/// The first e-mail between two machines was sent in 1971.
const EARLIEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// A clock may be wrong by so much before a time is not plausible.
const CLOCK_ERROR: Duration = Duration::from_secs(24 * 60 * 60);

/// Which part of the list, by the time of joining.
#[derive(clap::Args)]
pub(super) struct Period {
    /// Only who joined then or later: 2026-11-21T08:00:00Z, 2026-11-21, or so long ago: 7d, 36h
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<SystemTime>,

    /// Only who joined before then
    #[arg(long, value_name = "TIME", value_parser = moment)]
    until: Option<SystemTime>,
}

impl Period {
    pub(super) fn select(&self, newest_first: bool) -> Selection {
        Selection {
            since: self.since,
            until: self.until,
            newest_first,
        }
    }
}

/// A moment, or how long ago it was.
fn moment(text: &str) -> Result<SystemTime, String> {
    let ago = || {
        let span = text.parse::<Span>().ok()?;
        let days = SpanRelativeTo::days_are_24_hours();
        let span = span.to_duration(days).ok()?.unsigned_abs();
        SystemTime::now().checked_sub(span)
    };
    parse(text).or_else(ago).ok_or_else(|| {
        "write a time as 2026-11-21T08:00:00Z or 2026-11-21 (UTC), or how long ago it was: 7d, 36h, 90m"
            .into()
    })
}

/// A moment as programs write it: RFC 3339 (ISO 8601). Without a zone it is UTC; without a time, the
/// beginning of the day.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let exact = text.parse::<Timestamp>().ok();
    let timestamp = exact.or_else(|| {
        let local = text.parse::<DateTime>().ok()?;
        TimeZone::UTC.to_timestamp(local).ok()
    })?;
    Some(timestamp.into())
}

/// A moment to the millisecond.
pub(super) fn rfc3339(time: SystemTime) -> String {
    // Beyond the year 9999 there is none.
    let timestamp = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    format!("{timestamp:.3}")
}

/// What is not right with a time at which somebody is said to have joined.
pub(super) fn implausible(joined_at: SystemTime) -> Option<&'static str> {
    if joined_at < UNIX_EPOCH + EARLIEST {
        Some("its time is before there was e-mail")
    } else if joined_at > SystemTime::now() + CLOCK_ERROR {
        Some("its time is to come")
    } else {
        None
    }
}
