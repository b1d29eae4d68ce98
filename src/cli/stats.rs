//! `landing stats`: prints how the list grows, and where people come from.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use clap::ValueEnum;
use rustix::termios::tcgetwinsize;

use super::{
    numbers::{Interval, Numbers, SignUps, Stages, percent},
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::output::OutputArgs,
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing stats --since 30d --by week
  landing stats --by source")]
pub(super) struct StatsArgs {
    /// Chart the sign-ups by this interval, or print only the sources [default: the shortest interval that fits]
    #[arg(long, value_enum)]
    by: Option<StatsKind>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The interval of the chart, or the sources alone.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum StatsKind {
    Day,
    Week,
    Month,
    Year,
    Source,
}

/// Maximum number of bars that are printed if the owner chooses the interval: two months of days.
const PRINTED_BARS_MAX: usize = 62;

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let interval = args.by.and_then(|by| match by {
        StatsKind::Day => Some(Interval::Day),
        StatsKind::Week => Some(Interval::Week),
        StatsKind::Month => Some(Interval::Month),
        StatsKind::Year => Some(Interval::Year),
        StatsKind::Source => None,
    });
    let list = args.store.announce_location()?.open_to_read()?;
    let numbers = Numbers::count(list, &selection, interval, SystemTime::now())?;
    args.output.print(&numbers, |out| {
        for (label, count) in numbers.totals(&selection) {
            writeln!(out, "{label:<15} {count:>9}")?;
        }
        let is_by_source = args.by == Some(StatsKind::Source);
        if !is_by_source {
            let bars_max = interval.map_or(usize::MAX, |_| PRINTED_BARS_MAX);
            write_sign_ups(&numbers, bars_max, out)?;
        }
        if is_by_source || !numbers.sources.is_empty() {
            write_sources(&numbers, out)?;
        }
        Ok(())
    })
}

/// Writes the last `bars_max` bars, and the sum of those before them.
fn write_sign_ups(numbers: &Numbers, bars_max: usize, out: &mut dyn Write) -> io::Result<()> {
    let Numbers { per, sign_ups, .. } = numbers;
    writeln!(out, "\nsign-ups a {} (UTC)", per.describe())?;
    let (earlier, bars) = sign_ups.split_at(sign_ups.len().saturating_sub(bars_max));
    if !earlier.is_empty() {
        let count: u64 = earlier.iter().map(|bar| bar.count).sum();
        writeln!(out, "{:<10}  {count}", "earlier")?;
    }
    let highest = bars.iter().map(|bar| bar.count).max().unwrap_or(0);
    let width = bar_width("2026-11-21  123456789".len());
    for SignUps { from, count } in bars {
        let label = per.label(*from);
        let bar = render_bar(*count, highest, width);
        writeln!(out, "{label:<10}  {bar}{count}")?;
    }
    Ok(())
}

fn write_sources(numbers: &Numbers, out: &mut dyn Write) -> io::Result<()> {
    let mut rows = numbers.sources.rows();
    rows.push(("total", numbers.total));
    let width = rows.iter().map(|(label, _)| label.len()).max();
    let width = width.unwrap_or_default();
    writeln!(
        out,
        "\n{:<width$}  {:>9}  {:>7}  {:>9}  {:>9}  {:>12}",
        "source", "people", "share", "confirmed", "invited", "unsubscribed"
    )?;
    for (label, stages) in rows {
        let Stages {
            people,
            confirmed,
            invited,
            unsubscribed,
        } = stages;
        let share = percent(people, numbers.total.people);
        writeln!(
            out,
            "{label:<width$}  {people:>9}  {share:>5.1} %  {confirmed:>9}  {invited:>9}  {unsubscribed:>12}"
        )?;
    }
    if numbers.total.unsubscribed > 0 {
        writeln!(
            out,
            "people who have unsubscribed are erased; the other columns do not count them, and no option selects among them"
        )?;
    }
    Ok(())
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
