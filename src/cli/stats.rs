//! `landing stats`: prints how the list grows, and where people come from.

use std::{
    io::{self, Write},
    time::{Duration, SystemTime},
};

use clap::ValueEnum;
use indicatif::ProgressIterator;
use jiff::civil::Date;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::{
    funnel::{Funnel, FunnelCounter},
    selection::SelectionArgs,
    sign_up_chart::{ChartBar, DailyCounts, Interval, last_day, utc},
    source_counts::{SourceCounts, SourceRanking, percent},
    store_location::StoreArgs,
    terminal::{output::OutputArgs, progress::entry_progress},
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing stats --since 30d --by week
  landing stats --by source")]
pub(super) struct StatsArgs {
    /// Chart the sign-ups by this interval, or only the sources [default: the shortest interval that fits]
    #[arg(long, value_enum)]
    by: Option<ChartKind>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What the bars of the chart are.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ChartKind {
    Day,
    Week,
    Month,
    Year,
    Source,
}

/// The counts: in total, by time, and by source.
#[derive(Serialize)]
struct Statistics {
    total: u64,
    last_24_hours: u64,
    last_7_days: u64,
    last_30_days: u64,
    /// People who have confirmed their address.
    confirmed: u64,
    /// Length of the interval of each bar.
    per: Interval,
    sign_ups: Vec<ChartBar>,
    #[serde(flatten)]
    sources: SourceRanking,
    /// How far the people have come, with `--by source`.
    #[serde(skip_serializing_if = "Option::is_none")]
    funnel: Option<Funnel>,
}

/// Maximum number of bars if the interval is chosen by their number. A list that spans more years than this exceeds
/// it, with one bar per year.
const BARS_MAX: usize = 31;
/// Maximum number of bars that are printed if the owner chooses the interval: two months of days.
const PRINTED_BARS_MAX: usize = 62;
/// Maximum width of the name of a source, in characters. A longer one is cut.
const SOURCE_WIDTH: usize = 24;

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let is_everything = selection.is_everything();
    let now = SystemTime::now();
    let last_day = last_day(&selection, now);
    let list = args.store.announce_location()?.open_to_read()?;
    // It reads who has had each message.
    let is_by_source = args.by == Some(ChartKind::Source);
    let mut funnel = is_by_source
        .then(|| FunnelCounter::read(&list))
        .transpose()?;
    let entries = list.entries(selection)?;
    let bar = entry_progress(entries.count, "reading");
    let [mut day, mut week, mut month, mut confirmed] = [0; 4];
    let (mut days, mut sources) = (DailyCounts::default(), SourceCounts::default());
    for entry in entries.entries.progress_with(bar) {
        let entry = entry?;
        // A time in the future has an age of zero.
        let age = now.duration_since(entry.joined_at).unwrap_or_default();
        for (count, within) in [(&mut day, 1), (&mut week, 7), (&mut month, 30)] {
            *count += u64::from(age < Duration::from_secs(within * 24 * 60 * 60));
        }
        confirmed += u64::from(entry.confirmed_at.is_some());
        days.add(utc(entry.joined_at).date());
        sources.add(entry.source.as_ref());
        if let Some(funnel) = &mut funnel {
            funnel.add(&entry);
        }
    }
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    let first_day = days.first_day().unwrap_or(last_day);
    let per = match args.by {
        Some(ChartKind::Day) => Interval::Day,
        Some(ChartKind::Week) => Interval::Week,
        Some(ChartKind::Month) => Interval::Month,
        Some(ChartKind::Year) => Interval::Year,
        Some(ChartKind::Source) | None => days.interval_for(BARS_MAX, first_day, last_day),
    };
    let statistics = Statistics {
        total: days.total(),
        last_24_hours: day,
        last_7_days: week,
        last_30_days: month,
        confirmed,
        per,
        sign_ups: days.chart(per, first_day, last_day),
        sources: sources.rank(),
        funnel: funnel.and_then(FunnelCounter::finish),
    };
    let label = if is_everything {
        "on the list"
    } else {
        "selected"
    };
    args.output.print(&statistics, |out| {
        statistics.write_totals(label, out)?;
        if args.by != Some(ChartKind::Source) {
            statistics.write_sign_ups(args.by.map_or(usize::MAX, |_| PRINTED_BARS_MAX), out)?;
        }
        if statistics.sources.distinct() > 0 || args.by == Some(ChartKind::Source) {
            write_sources(&statistics.sources, out)?;
        }
        if let Some(funnel) = &statistics.funnel {
            funnel.write(out)?;
        }
        Ok(())
    })
}

impl Interval {
    fn label(self, from: Date) -> String {
        match self {
            Self::Day | Self::Week => from.to_string(),
            Self::Month => from.strftime("%Y-%m").to_string(),
            Self::Year => from.strftime("%Y").to_string(),
        }
    }
}

impl Statistics {
    fn write_totals(&self, label: &str, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{label:<15} {:>9}", self.total)?;
        writeln!(out, "last 24 hours   {:>9}", self.last_24_hours)?;
        writeln!(out, "last 7 days     {:>9}", self.last_7_days)?;
        writeln!(out, "last 30 days    {:>9}", self.last_30_days)?;
        match self.confirmed {
            0 => Ok(()),
            confirmed => writeln!(out, "confirmed       {confirmed:>9}"),
        }
    }

    /// Writes the last `bars_max` bars, and the sum of those before them.
    fn write_sign_ups(&self, bars_max: usize, out: &mut dyn Write) -> io::Result<()> {
        let per = match self.per {
            Interval::Day => "day",
            Interval::Week => "week, from Monday",
            Interval::Month => "month",
            Interval::Year => "year",
        };
        writeln!(out, "\nsign-ups a {per} (UTC)")?;
        let (earlier, bars) = self
            .sign_ups
            .split_at(self.sign_ups.len().saturating_sub(bars_max));
        if !earlier.is_empty() {
            let count: u64 = earlier.iter().map(|bar| bar.count).sum();
            writeln!(out, "{:<10}  {count}", "earlier")?;
        }
        let highest = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
        let width = bar_width("2026-11-21  123456789".len());
        for ChartBar { from, count } in bars {
            let label = self.per.label(*from);
            let bar = render_bar(*count, highest, width);
            writeln!(out, "{label:<10}  {bar}{count}")?;
        }
        Ok(())
    }
}

fn write_sources(ranking: &SourceRanking, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "\nsources")?;
    let (bars, total) = (ranking.bars(), ranking.total());
    let labels: Vec<_> = bars.iter().map(|bar| cut_label(bar.label)).collect();
    let label_width = labels.iter().map(|label| label.chars().count()).max();
    let label_width = label_width.unwrap_or(0);
    let highest = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let width = bar_width(label_width + "  123456789 (100.0 %)".len());
    for (bar, label) in bars.iter().zip(&labels) {
        let count = bar.count;
        let drawn = render_bar(count, highest, width);
        let percent = percent(count, total);
        writeln!(
            out,
            "{label:<label_width$}  {drawn}{count} ({percent:.1} %)"
        )?;
    }
    Ok(())
}

/// Cuts the name of a source to [`SOURCE_WIDTH`].
fn cut_label(label: &str) -> String {
    if label.chars().count() <= SOURCE_WIDTH {
        return label.to_owned();
    }
    let start: String = label.chars().take(SOURCE_WIDTH - 1).collect();
    start + "…"
}

/// Returns the width of the highest bar if the rest of its line needs `reserved` columns.
fn bar_width(reserved: usize) -> usize {
    let columns = tcgetwinsize(io::stdout()).map_or(80, |size| usize::from(size.ws_col));
    columns.saturating_sub(reserved).clamp(8, 60)
}

/// Returns a bar, accurate to an eighth of a character, and the space after it.
fn render_bar(count: u64, highest: u64, width: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let eighths = (count as f64 / highest as f64 * width as f64 * 8.0).round() as usize;
    // A single sign-up is always visible.
    let eighths = eighths.max(1);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    "█".repeat(eighths / 8) + rest + " "
}
