//! `landing stats`: prints how the list grows, and where people come from.

use std::{
    io::{self, Write},
    time::SystemTime,
};

use rustix::termios::tcgetwinsize;
use serde::Serialize;

use super::{
    numbers::{Numbers, SignUps, percent},
    selection::SelectionArgs,
    standings::read_ranked,
    store_location::CommonArgs,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::Selection;

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

/// Maximum number of people in the table of inviters.
const INVITERS_MAX: usize = 10;

#[derive(Serialize)]
struct PrintedNumbers {
    #[serde(flatten)]
    numbers: Numbers,
    best_inviters: Vec<Inviter>,
}

/// A person who has invited others.
#[derive(Serialize)]
struct Inviter {
    /// The address, masked: people show these numbers around.
    person: String,
    invitations: u64,
}

pub(super) fn run(args: &StatsArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let list = args.common.store.announce_location()?.open()?;
    let printed = PrintedNumbers {
        best_inviters: best_inviters(&list, &selection)?,
        numbers: Numbers::count(list, &selection, SystemTime::now())?,
    };
    let numbers = &printed.numbers;
    args.common.output.print(&printed, |out| {
        for (label, count) in numbers.totals(&selection) {
            writeln!(out, "{label:<15} {count:>9}")?;
        }
        write_sign_ups(numbers, out)?;
        if !numbers.sources.is_empty() {
            write_sources(numbers, out)?;
        }
        write_inviters(&printed.best_inviters, out)
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

fn write_inviters(inviters: &[Inviter], out: &mut dyn Write) -> io::Result<()> {
    if inviters.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "\nbest inviters (`landing list --by invites` has their addresses)"
    )?;
    for Inviter {
        person,
        invitations,
    } in inviters
    {
        writeln!(out, "{invitations:>9}  {person}")?;
    }
    Ok(())
}

/// Returns the selected people who have invited most.
fn best_inviters(list: &WaitlistHandle, selection: &Selection) -> anyhow::Result<Vec<Inviter>> {
    let ranked = read_ranked(list)?.into_iter();
    let inviters = ranked.filter(|it| it.invitations > 0 && selection.selects(&it.entry));
    let best = inviters.take(INVITERS_MAX).map(|it| Inviter {
        person: it.entry.email.masked(),
        invitations: it.invitations,
    });
    Ok(best.collect())
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
