//! Counts the entries of a report, in one pass. Its memory depends on the number of days, not on the number of people.

use std::time::{Duration, SystemTime};

use jiff::{ToSpan, civil::Date};
use serde::{Serialize, Serializer};

use crate::{
    cli::{
        sign_up_chart::{ChartBar, DailyCounts, Interval, last_day, utc},
        source_counts::{SourceCounts, SourceRanking},
        time::rfc3339,
    },
    waitlist::{Selection, WaitlistEntry},
};

/// Maximum number of bars: a year of days. A list that spans more years than this exceeds it, with one bar per year.
const BARS_MAX: usize = 366;
/// Minimum number of days in the charts. A new list is shown with the empty days before it.
const DAYS_MIN: i32 = 14;

/// Counts entries.
pub(super) struct ReportData {
    now: SystemTime,
    /// The first day of the charts, unless there are earlier sign-ups.
    first_day: Date,
    last_day: Date,
    days: DailyCounts,
    last_24_hours: [u64; 24],
    last_7_days: u64,
    last_30_days: u64,
    weekday_hours: [[u64; 24]; 7],
    sources: SourceCounts,
}

/// What a report shows.
#[derive(Serialize)]
pub(super) struct ReportCounts {
    #[serde(serialize_with = "serialize_time")]
    pub(super) at: SystemTime,
    pub(super) total: u64,
    pub(super) last_7_days: u64,
    pub(super) last_30_days: u64,
    /// First day of the charts. The first week, month or year may begin before it.
    pub(super) since: Date,
    /// Length of the interval of each bar.
    pub(super) per: Interval,
    pub(super) sign_ups: Vec<ChartBar>,
    /// Sign-ups in each of the last 24 hours, the oldest first. The last one ends at the time of the report.
    pub(super) last_24_hours: [u64; 24],
    /// Sign-ups in each hour (UTC) of each weekday, from Monday.
    pub(super) weekday_hours: [[u64; 24]; 7],
    #[serde(flatten)]
    pub(super) sources: SourceRanking,
}

impl ReportData {
    /// Starts to count the entries of a selection.
    pub(super) fn new(selection: &Selection, now: SystemTime) -> Self {
        let last_day = last_day(selection, now);
        // Days that are not selected would look like days without sign-ups.
        let first_day = match selection.since {
            Some(since) => utc(since).date().min(last_day),
            None => last_day
                .checked_sub((DAYS_MIN - 1).days())
                .unwrap_or(last_day),
        };
        Self {
            now,
            first_day,
            last_day,
            days: DailyCounts::default(),
            last_24_hours: [0; 24],
            last_7_days: 0,
            last_30_days: 0,
            weekday_hours: [[0; 24]; 7],
            sources: SourceCounts::default(),
        }
    }

    /// Counts an entry.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        // A time in the future has an age of zero.
        let age = self.now.duration_since(entry.joined_at).unwrap_or_default();
        let hours = age.as_secs() / (60 * 60);
        if hours < 24 {
            self.last_24_hours[23 - hours as usize] += 1;
        }
        self.last_7_days += u64::from(hours < 7 * 24);
        self.last_30_days += u64::from(hours < 30 * 24);
        let joined_at = utc(entry.joined_at);
        let weekday = joined_at.weekday().to_monday_zero_offset() as usize;
        self.weekday_hours[weekday][joined_at.hour() as usize] += 1;
        self.days.add(joined_at.date());
        self.sources.add(entry.source.as_ref());
    }

    /// Returns the counts.
    pub(super) fn finish(self) -> ReportCounts {
        let Self {
            first_day,
            last_day,
            days,
            ..
        } = self;
        let per = days.interval_for(BARS_MAX, first_day, last_day);
        ReportCounts {
            at: self.now,
            total: days.total(),
            last_7_days: self.last_7_days,
            last_30_days: self.last_30_days,
            since: days.first_day().map_or(first_day, |day| day.min(first_day)),
            per,
            sign_ups: days.chart(per, first_day, last_day),
            last_24_hours: self.last_24_hours,
            weekday_hours: self.weekday_hours,
            sources: self.sources.rank(),
        }
    }
}

impl ReportCounts {
    /// Returns when one of the last 24 hours began.
    pub(super) fn hour_start(&self, hour: usize) -> SystemTime {
        let age = Duration::from_secs(60 * 60 * (24 - hour as u64));
        self.at.checked_sub(age).unwrap_or(self.at)
    }
}

fn serialize_time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}
