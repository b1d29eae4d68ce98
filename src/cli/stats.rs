//! `landing stats`: prints how the list grows, and where people come from.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use rustix::termios::tcgetwinsize;

use super::{
    numbers::{Numbers, SignUps, percent},
    selection::SelectionArgs,
    store_location::CommonArgs,
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing stats --since 30d

Each bar is a day, a week, a month or a year: the shortest interval that needs at most 31 bars. Select a shorter time to see \
its days.")]
pub(super) struct StatsArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let list = args.common.store.announce_location()?.open()?;
    let numbers = Numbers::count(list, &selection, SystemTime::now())?;
    args.common.output.print(&numbers, |out| {
        for (label, count) in numbers.totals(&selection) {
            writeln!(out, "{label:<15} {count:>9}")?;
        }
        write_sign_ups(&numbers, out)?;
        if !numbers.sources.is_empty() {
            write_sources(&numbers, out)?;
        }
        if !numbers.best_inviters.is_empty() {
            write_inviters(&numbers, out)?;
        }
        Ok(())
    })
}

fn write_sign_ups(numbers: &Numbers, out: &mut dyn Write) -> io::Result<()> {
    let Numbers { per, sign_ups, .. } = numbers;
    writeln!(out, "\nsign-ups a {} (UTC)", per.describe())?;
    let highest = sign_ups.iter().map(|bar| bar.count).max().unwrap_or(0);
    let width = bar_width("2026-11-21  123456789".len());
    for SignUps { from, count } in sign_ups {
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
        "source", "people", "share", "confirmed", "mailed", "unsubscribed"
    )?;
    for (label, stages) in rows {
        let share = percent(stages.people, numbers.total.people);
        writeln!(
            out,
            "{label:<width$}  {:>9}  {share:>5.1} %  {:>9}  {:>9}  {:>12}",
            stages.people, stages.confirmed, stages.mailed, stages.unsubscribed
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

fn write_inviters(numbers: &Numbers, out: &mut dyn Write) -> io::Result<()> {
    let note = "`landing list --by invites` has their addresses";
    writeln!(out, "\nbest inviters ({note})")?;
    for inviter in &numbers.best_inviters {
        writeln!(out, "{:>9}  {}", inviter.invitations, inviter.person)?;
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
