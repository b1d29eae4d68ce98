//! Sign-ups by day, week, month or year (UTC), for `stats` and `report`.

use std::{
    collections::BTreeMap,
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
pub(super) enum Interval {
    Day,
    Week,
    Month,
    Year,
}

/// Sign-ups from the start of this day (UTC) to the next bar.
#[derive(Serialize)]
pub(super) struct ChartBar {
    pub(super) from: Date,
    pub(super) count: u64,
}

/// Sign-ups on each day that has any.
#[derive(Default)]
pub(super) struct DailyCounts(BTreeMap<Date, u64>);

impl DailyCounts {
    /// Counts a sign-up.
    pub(super) fn add(&mut self, day: Date) {
        *self.0.entry(day).or_default() += 1;
    }

    /// Returns the number of sign-ups.
    pub(super) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the day of the first sign-up.
    pub(super) fn first_day(&self) -> Option<Date> {
        self.0.keys().next().copied()
    }

    /// Returns a bar for each interval from `first` to `last`. If there are sign-ups before or after these days, the
    /// chart starts with the first or ends with the last of them.
    pub(super) fn chart(&self, interval: Interval, first: Date, last: Date) -> Vec<ChartBar> {
        let starts = self.starts(interval, first, last);
        let mut counts: BTreeMap<Date, u64> = starts.map(|start| (start, 0)).collect();
        for (day, count) in &self.0 {
            *counts.entry(interval.start_of(*day)).or_default() += count;
        }
        let bars = counts.into_iter();
        bars.map(|(from, count)| ChartBar { from, count }).collect()
    }

    /// Returns the shortest interval of which the [chart](Self::chart) needs at most `bars_max`: days, weeks or
    /// months. If even months are too many, returns years.
    pub(super) fn interval_for(&self, bars_max: usize, first: Date, last: Date) -> Interval {
        let intervals = [Interval::Day, Interval::Week, Interval::Month];
        let fitting = intervals.into_iter().find(|interval| {
            let starts = self.starts(*interval, first, last);
            starts.take(bars_max + 1).count() <= bars_max
        });
        fitting.unwrap_or(Interval::Year)
    }

    fn starts(&self, interval: Interval, first: Date, last: Date) -> impl Iterator<Item = Date> {
        let first = self.first_day().map_or(first, |day| day.min(first));
        let last_day = self.0.keys().next_back().copied();
        let last = last_day.map_or(last, |day| day.max(last));
        let next = move |start: &Date| interval.next_start(*start).filter(|next| *next <= last);
        std::iter::successors(Some(interval.start_of(first)), next)
    }
}

impl Interval {
    /// Returns the first day of the interval that contains this day.
    pub(super) fn start_of(self, day: Date) -> Date {
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
}

/// Converts a time to a date and time in UTC.
pub(super) fn utc(time: SystemTime) -> DateTime {
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
