//! `landing check`: reads the whole list and reports its faults.

use anyhow::bail;
use indicatif::ProgressIterator;
use serde_json::json;

use super::{
    confirmation_counts::{ConfirmationCounter, ConfirmationCounts},
    store_location::StoreArgs,
    terminal::{output::OutputArgs, progress::entry_progress},
    time::time_problem,
    transfer::email_hashes::EmailHashes,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{Email, Selection};

#[derive(clap::Args)]
#[command(after_help = "Example: landing check && echo all is well")]
pub(super) struct CheckArgs {
    /// First correct the count, if it differs from the number of entries. Nothing else is changed
    #[arg(long)]
    repair: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(
    CheckArgs {
        repair,
        store,
        output,
    }: &CheckArgs,
) -> anyhow::Result<()> {
    let location = store.announce_location()?;
    let (list, corrected) = if *repair {
        let list = location.open()?;
        let corrected = list.recount()?;
        (list, Some(corrected))
    } else {
        (location.open_to_read()?, None)
    };
    let CheckResult {
        read,
        counted,
        mut faults,
        confirmations,
    } = check(&list)?;
    let suppressed = list.suppressions()?.len();
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    if read != counted {
        faults.push(format!(
            "the count is {counted}, but the list has {read} entries"
        ));
    }
    let mut json = json!({ "entries": read, "faults": faults });
    if let Some(corrected) = corrected {
        json["count_corrected_by"] = corrected.into();
    }
    if suppressed > 0 {
        json["suppressed"] = suppressed.into();
    }
    if let Some(counts) = &confirmations {
        json["confirmations"] = serde_json::to_value(counts)?;
    }
    output.print(&json, |out| {
        match corrected {
            Some(0) => writeln!(out, "the count was correct; nothing was changed")?,
            Some(corrected) => writeln!(out, "the count was corrected by {corrected:+}")?,
            None => {}
        }
        for fault in &faults {
            writeln!(out, "{fault}")?;
        }
        if faults.is_empty() {
            writeln!(out, "{read} on the list, no faults")?;
        }
        if suppressed > 0 {
            let addresses = if suppressed == 1 {
                "address"
            } else {
                "addresses"
            };
            writeln!(out, "{suppressed} suppressed {addresses}")?;
        }
        if let Some(ConfirmationCounts {
            last_24_hours,
            waiting,
        }) = confirmations
        {
            writeln!(
                out,
                "{last_24_hours} messages that ask to confirm an address in the last 24 hours, {waiting} people wait for one"
            )?;
        }
        Ok(())
    })?;
    let noun = if faults.len() == 1 { "fault" } else { "faults" };
    match faults.len() {
        0 => Ok(()),
        faults => bail!(
            "{faults} {noun} in {read} entries, see above; erase invalid entries, run `landing check --repair` \
             if the count is wrong, or restore a backup into a new directory"
        ),
    }
}

/// The result of [`check`].
struct CheckResult {
    read: u64,
    counted: u64,
    /// Faults of single entries.
    faults: Vec<String>,
    /// `None` if nobody was asked to confirm the address.
    confirmations: Option<ConfirmationCounts>,
}

/// Reads every entry. Damage to the files is detected elsewhere: when the list is opened and when an entry is read.
fn check(list: &WaitlistHandle) -> anyhow::Result<CheckResult> {
    let entries = list.entries(Selection::default())?;
    let bar = entry_progress(entries.count, "reading");
    let mut seen = EmailHashes::default();
    let mut confirmations = ConfirmationCounter::read(list)?;
    let (mut read, mut faults) = (0, Vec::new());
    for entry in entries.entries.progress_with(bar) {
        let entry = entry?;
        read += 1;
        confirmations.add(&entry);
        let invalid = Email::parse(entry.email.as_typed()).err();
        let invalid = invalid.map(|error| error.to_string());
        let time_problem = time_problem(entry.joined_at).map(str::to_owned);
        let is_duplicate = !seen.insert(&entry.email.key());
        let duplicate = is_duplicate.then(|| "it is on the list twice".to_owned());
        let found = [invalid, time_problem, duplicate].into_iter().flatten();
        // The first line is the header row.
        let line = read + 1;
        faults.extend(found.map(|fault| {
            format!("entry {read}, in order of sign-up (line {line} of `landing export`): {fault}")
        }));
    }
    Ok(CheckResult {
        read,
        counted: entries.count,
        faults,
        confirmations: confirmations.finish(),
    })
}
