//! Sign-ups by day, week, month or year (UTC).

use std::{
    collections::BTreeMap,
    iter,
    time::{Duration, SystemTime},
};

use jiff::{
    Timestamp, ToSpan,
    civil::{Date, DateTime},
    tz::TimeZone,
};
use serde::Serialize;

use crate::waitlist::Selection;

/// The interval of time that a bar represents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(in crate::cli) enum Interval {
    Day,
    Week,
    Month,
    Year,
}

/// Sign-ups from the start of this day (UTC) to the next bar.
#[derive(Serialize)]
pub(in crate::cli) struct SignUps {
    pub(in crate::cli) from: Date,
    pub(in crate::cli) count: u64,
}

/// Sign-ups on each day that has any.
#[derive(Default)]
pub(super) struct DailyCounts(BTreeMap<Date, u64>);

impl DailyCounts {
    /// Counts a sign-up.
    pub(super) fn add(&mut self, day: Date) {
        *self.0.entry(day).or_default() += 1;
    }

    /// Returns a bar for each interval from the first sign-up to `last_day`. The interval is the shortest one that needs at most `bars_max` bars, or a year.
    pub(super) fn sign_ups(&self, bars_max: usize, last_day: Date) -> (Interval, Vec<SignUps>) {
        let first = self.0.keys().next().map_or(last_day, |first| *first);
        let starts = |per: Interval| {
            let next = move |start: &Date| per.next_start(*start).filter(|next| *next <= last_day);
            iter::successors(Some(per.start_of(first)), next)
        };
        let intervals = [Interval::Day, Interval::Week, Interval::Month];
        let fitting = intervals
            .into_iter()
            .find(|per| starts(*per).nth(bars_max).is_none());
        let per = fitting.unwrap_or(Interval::Year);
        let mut counts: BTreeMap<Date, u64> = starts(per).map(|start| (start, 0)).collect();
        for (day, count) in &self.0 {
            *counts.entry(per.start_of(*day)).or_default() += count;
        }
        let bars = counts.into_iter();
        let bars = bars.map(|(from, count)| SignUps { from, count });
        (per, bars.collect())
    }
}

impl Interval {
    /// Returns the first day of the interval that contains this day.
    fn start_of(self, day: Date) -> Date {
        match self {
            Self::Day => day,
            Self::Week => day
                .checked_sub(i32::from(day.weekday().to_monday_zero_offset()).days())
                .unwrap_or(day),
            Self::Month => day.first_of_month(),
            Self::Year => day.first_of_year(),
        }
    }

    fn next_start(self, start: Date) -> Option<Date> {
        let interval = match self {
            Self::Day => 1.day(),
            Self::Week => 1.week(),
            Self::Month => 1.month(),
            Self::Year => 1.year(),
        };
        start.checked_add(interval).ok()
    }

    /// Returns the words after "sign-ups a".
    pub(in crate::cli) fn describe(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week, from Monday",
            Self::Month => "month",
            Self::Year => "year",
        }
    }

    /// Writes the interval that starts at this day.
    pub(in crate::cli) fn label(self, from: Date) -> String {
        let format = match self {
            Self::Day | Self::Week => "%Y-%m-%d",
            Self::Month => "%Y-%m",
            Self::Year => "%Y",
        };
        from.strftime(format).to_string()
    }
}

/// Converts a time to a date and time in UTC.
pub(in crate::cli) fn utc(time: SystemTime) -> DateTime {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    TimeZone::UTC.to_datetime(time)
}

/// Returns the last day of which the selection can have entries by now.
pub(super) fn last_day(selection: &Selection, now: SystemTime) -> Date {
    // Times are exact to the millisecond, and `until` itself is not selected.
    let until = selection
        .until
        .and_then(|until| until.checked_sub(Duration::from_millis(1)));
    utc(until.map_or(now, |until| until.min(now))).date()
}
