//! `landing stats`: prints how the list grows.

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::{Duration, SystemTime},
};

use indicatif::ProgressIterator;
use jiff::{Timestamp, ToSpan, civil::Date, tz::TimeZone};
use serde::Serialize;
use terminal_size::{Width, terminal_size};

use super::{
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::{output::OutputArgs, progress::entry_progress},
};
#[derive(clap::Args)]
#[command(after_help = "Example: landing stats --json")]
pub(super) struct StatsArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The counts, in total and by time.
#[derive(Serialize)]
struct Statistics {
    total: u64,
    last_24_hours: u64,
    last_7_days: u64,
    last_30_days: u64,
    /// Length of the interval of each bar.
    per: Interval,
    sign_ups: Vec<ChartBar>,
}

/// Sign-ups from the start of this day (UTC) to the next bar.
#[derive(Serialize)]
struct ChartBar {
    from: Date,
    count: u64,
}

/// The interval of time that a bar represents.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Interval {
    Day,
    Week,
    Month,
    Year,
}

/// Maximum number of bars in a chart. A list that spans more years than this exceeds it, with one bar per year.
const BARS_MAX: usize = 31;

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let is_everything = selection.is_everything();
    let list = args.store.announce_location()?.open_to_read()?;
    let entries = list.entries(selection)?;
    let now = SystemTime::now();
    let bar = entry_progress(entries.count, "reading");
    let [mut day, mut week, mut month] = [0; 3];
    let mut days = BTreeMap::new();
    for entry in entries.entries.progress_with(bar) {
        let joined_at = entry?.joined_at;
        // A time in the future has an age of zero.
        let age = now.duration_since(joined_at).unwrap_or_default();
        for (count, within) in [(&mut day, 1), (&mut week, 7), (&mut month, 30)] {
            *count += u64::from(age < Duration::from_secs(within * 24 * 60 * 60));
        }
        *days.entry(utc_date(joined_at)).or_default() += 1;
    }
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    let (per, sign_ups) = build_chart(&days, utc_date(now));
    let statistics = Statistics {
        total: days.values().sum(),
        last_24_hours: day,
        last_7_days: week,
        last_30_days: month,
        per,
        sign_ups,
    };
    let label = if is_everything {
        "on the list"
    } else {
        "selected"
    };
    args.output
        .print(&statistics, |out| statistics.write(label, out))
}

fn utc_date(time: SystemTime) -> Date {
    let time = Timestamp::try_from(time).unwrap_or(Timestamp::MAX);
    TimeZone::UTC.to_datetime(time).date()
}

/// Returns the bars from the first sign-up to today, of the shortest interval that needs at most [`BARS_MAX`] of them.
fn build_chart(days: &BTreeMap<Date, u64>, today: Date) -> (Interval, Vec<ChartBar>) {
    let first = days.keys().next().copied().unwrap_or(today);
    let last = days.keys().next_back().copied().unwrap_or(today).max(today);
    let starts = |interval: Interval| {
        let next = move |start: &Date| interval.next_start(*start).filter(|next| *next <= last);
        std::iter::successors(Some(interval.start_of(first)), next)
    };
    let intervals = [Interval::Day, Interval::Week, Interval::Month];
    let interval = intervals
        .into_iter()
        .find(|interval| starts(*interval).take(BARS_MAX + 1).count() <= BARS_MAX);
    let interval = interval.unwrap_or(Interval::Year);
    let mut counts: BTreeMap<Date, u64> = starts(interval).map(|start| (start, 0)).collect();
    for (day, count) in days {
        *counts.entry(interval.start_of(*day)).or_default() += count;
    }
    let bars = counts
        .into_iter()
        .map(|(from, count)| ChartBar { from, count });
    (interval, bars.collect())
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

    fn label(self, from: Date) -> String {
        match self {
            Self::Day | Self::Week => from.to_string(),
            Self::Month => from.strftime("%Y-%m").to_string(),
            Self::Year => from.strftime("%Y").to_string(),
        }
    }
}

impl Statistics {
    fn write(&self, label: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{label:<15} {:>9}", self.total)?;
        writeln!(out, "last 24 hours   {:>9}", self.last_24_hours)?;
        writeln!(out, "last 7 days     {:>9}", self.last_7_days)?;
        writeln!(out, "last 30 days    {:>9}", self.last_30_days)?;
        let per = match self.per {
            Interval::Day => "day",
            Interval::Week => "week, from Monday",
            Interval::Month => "month",
            Interval::Year => "year",
        };
        writeln!(out, "\nsign-ups a {per} (UTC)")?;
        let highest = self
            .sign_ups
            .iter()
            .map(|bar| bar.count)
            .max()
            .unwrap_or(0)
            .max(1);
        let columns = terminal_size().map_or(80, |(Width(columns), _)| usize::from(columns));
        let width = columns
            .saturating_sub("2026-11-21  123456789".len())
            .clamp(8, 60);
        for ChartBar { from, count } in &self.sign_ups {
            let label = self.per.label(*from);
            let bar = render_bar(*count, highest, width);
            writeln!(
                out,
                "{label:<10}  {bar}{}{count}",
                if bar.is_empty() { "" } else { " " }
            )?;
        }
        Ok(())
    }
}

/// Returns a bar, accurate to an eighth of a character.
fn render_bar(count: u64, highest: u64, width: usize) -> String {
    let eighths = (count as f64 / highest as f64 * width as f64 * 8.0).round() as usize;
    // A single sign-up is always visible.
    let eighths = eighths.max(usize::from(count > 0));
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest
}
