//! `landing check`: reads the whole list and reports its faults.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use anyhow::bail;
use indicatif::ProgressIterator;
use serde::Serialize;

use super::{
    confirmation_counts::ConfirmationCounts,
    store_location::CommonArgs,
    terminal::{output::counted, progress::progress},
    time::{rfc3339, time_problem},
    waitlist_handle::{SelectedEntries, WaitlistHandle},
};
use crate::{
    server::MessageKind,
    waitlist::{Email, Selection},
};

#[derive(clap::Args)]
#[command(after_help = "Example: landing check && echo all is well")]
pub(super) struct CheckArgs {
    /// First correct the count, if it differs from the number of entries. Nothing else is changed
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(CheckArgs { repair, common }: &CheckArgs) -> anyhow::Result<()> {
    let list = common.store.announce_location()?.open()?;
    let corrected = repair.then(|| list.call(|list| list.recount()));
    let corrected = corrected.transpose()?;
    let report = CheckReport {
        count_corrected_by: corrected,
        ..check(&list)?
    };
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    common.output.print(&report, |out| report.write(out))?;
    match report.faults.len() as u64 {
        0 => Ok(()),
        faults => bail!(
            "{} in {}, see above; correct or erase invalid addresses, run `landing check --repair` \
             if the count is wrong, or restore a backup into a new directory",
            counted(faults, "fault", "faults"),
            counted(report.entries, "entry", "entries")
        ),
    }
}

/// What the command has found.
#[derive(Serialize)]
struct CheckReport {
    /// Number of entries that were read.
    entries: u64,
    faults: Vec<String>,
    suppressed: u64,
    /// `None` without `--repair`.
    count_corrected_by: Option<i64>,
    /// `None` if no server has ever asked people to confirm their address.
    confirmations: Option<ConfirmationCounts>,
    /// `None` if no server has ever welcomed people.
    welcome: Option<ConfirmationCounts>,
    /// The events that wait for the webhook. `None` if the last server had none.
    webhook_waiting: Option<u64>,
    webhook_waiting_since: Option<String>,
}

impl CheckReport {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.count_corrected_by {
            Some(0) => writeln!(out, "the count was correct; nothing was changed")?,
            Some(corrected) => writeln!(out, "the count was corrected by {corrected:+}")?,
            None => {}
        }
        for fault in &self.faults {
            writeln!(out, "{fault}")?;
        }
        if self.faults.is_empty() {
            writeln!(out, "{} on the list, no faults", self.entries)?;
        }
        if self.suppressed > 0 {
            let (one, many) = ("suppressed address", "suppressed addresses");
            writeln!(out, "{}", counted(self.suppressed, one, many))?;
        }
        for counts in [&self.confirmations, &self.welcome].into_iter().flatten() {
            counts.write(out)?;
        }
        if let (Some(waiting), Some(since)) = (self.webhook_waiting, &self.webhook_waiting_since) {
            let events = counted(waiting, "event waits", "events wait");
            writeln!(out, "{events} for the webhook, since {since}")?;
        }
        Ok(())
    }
}

/// Reads every entry. Damage to the files is detected elsewhere: when the list is opened and when an entry is read.
fn check(list: &WaitlistHandle) -> anyhow::Result<CheckReport> {
    let SelectedEntries { entries, count } = list.entries(Selection::default())?;
    let bar = progress(count, "reading");
    let (mut seen, mut exported) = (HashSet::new(), 0);
    let suppressions = list.suppressions()?;
    let mut confirmations = ConfirmationCounts::read(list, MessageKind::Code)?;
    let mut welcome = ConfirmationCounts::read(list, MessageKind::Welcome)?;
    let webhook = list.call(|list| list.pending_events())?;
    let (mut read, mut faults) = (0, Vec::new());
    for entry in entries.progress_with(bar) {
        let entry = entry?;
        read += 1;
        let is_suppressed = suppressions.contains(&entry.email);
        for counts in [&mut confirmations, &mut welcome].into_iter().flatten() {
            counts.add(&entry, is_suppressed);
        }
        let invalid = Email::parse(entry.email.as_typed()).err();
        let invalid = invalid.map(|error| error.to_string());
        let times = [
            ("joined_at", Some(entry.joined_at)),
            ("confirmed_at", entry.confirmed_at),
            ("asked_at", entry.asked_at),
        ];
        let problem = |(name, time)| Some(format!("{name}: {}", time_problem(time?)?));
        let time_problem = times.into_iter().find_map(problem);
        let is_duplicate = !seen.insert(entry.email.key());
        let duplicate = is_duplicate.then(|| "it is on the list twice".to_owned());
        let found = [invalid, time_problem, duplicate].into_iter().flatten();
        exported += u64::from(!is_suppressed);
        let place = match is_suppressed {
            true => "suppressed, so not in an export".to_owned(),
            // The first line is the header row.
            false => format!("line {} of `landing export`", exported + 1),
        };
        faults.extend(
            found.map(|fault| format!("entry {read}, in order of sign-up ({place}): {fault}")),
        );
    }
    if read != count {
        let entries = counted(read, "entry", "entries");
        faults.push(format!("the count is {count}, but the list has {entries}"));
    }
    Ok(CheckReport {
        entries: read,
        faults,
        suppressed: suppressions.len() as u64,
        count_corrected_by: None,
        confirmations,
        welcome,
        webhook_waiting: webhook.map(|pending| pending.count),
        webhook_waiting_since: webhook.and_then(|it| it.oldest).map(rfc3339),
    })
}
