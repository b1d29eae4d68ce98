//! `landing check`: reads the whole list and says what is wrong with it.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
};

use serde_json::json;

use super::{
    open_list::WaitlistHandle,
    store_location::StoreArgs,
    terminal::output::{OutputArgs, progress_bar},
    time::time_problem,
};
use crate::waitlist::{Email, Selection};

#[derive(clap::Args)]
#[command(after_help = "Example: landing check && echo all is well")]
pub(super) struct CheckArgs {
    /// Correct the count first, if it is not the number of entries. Nothing else is changed
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
) -> Result<(), String> {
    let list = store.location().open()?;
    let corrected = if *repair { Some(list.recount()?) } else { None };
    // A server of an earlier version does not know.
    let erased_before = list.erased_count().unwrap_or_default();
    let CheckResult {
        read,
        counted,
        mut faults,
    } = check(&list)?;
    // Somebody may be erased while it reads. Who joins meanwhile is neither read nor counted.
    let erased = list
        .erased_count()
        .unwrap_or_default()
        .saturating_sub(erased_before);
    // Whoever reads the faults may take their time.
    drop(list);
    if read > counted || counted - read > erased {
        faults.push(format!("{read} entries are counted as {counted}"));
    }
    let mut json = json!({ "entries": read, "faults": faults });
    if let Some(corrected) = corrected {
        json["count_corrected_by"] = corrected.into();
    }
    output.print(&json, |out| {
        match corrected {
            Some(0) => writeln!(out, "the count was correct, nothing was changed")?,
            Some(corrected) => writeln!(out, "the count was corrected by {corrected:+}")?,
            None => {}
        }
        for fault in &faults {
            writeln!(out, "{fault}")?;
        }
        if faults.is_empty() {
            writeln!(out, "{read} on the list, nothing wrong")?;
        }
        Ok(())
    })?;
    match faults.len() {
        0 => Ok(()),
        faults => Err(format!(
            "{faults} things are wrong with the {read} on the list, see above: erase invalid entries, run \
             `check --repair` if the count is wrong, or restore a backup into a new place"
        )),
    }
}

/// What was found.
struct CheckResult {
    read: u64,
    counted: u64,
    /// Of single entries.
    faults: Vec<String>,
}

/// Reads everything. That it is undamaged is seen to when the list is opened and whenever one is read.
fn check(list: &WaitlistHandle) -> Result<CheckResult, String> {
    let entries = list.entries(Selection::default())?;
    let bar = progress_bar(entries.count, "reading");
    // Two of a million share 64 bits once in 10^7 lists.
    let (hasher, mut seen) = (RandomState::new(), HashSet::new());
    let (mut read, mut faults) = (0, Vec::new());
    for entry in entries.entries {
        let entry = entry?;
        read += 1;
        bar.inc(1);
        let invalid = Email::parse(entry.email.as_typed()).err();
        let invalid = invalid.map(|why| why.to_string());
        let time_problem = time_problem(entry.joined_at).map(str::to_owned);
        let is_new = seen.insert(hasher.hash_one(entry.email.key()));
        let twice = (!is_new).then(|| "it is on the list twice".to_owned());
        let wrong = [invalid, time_problem, twice].into_iter().flatten();
        faults.extend(wrong.map(|why| format!("entry {read}, in the order of joining: {why}")));
    }
    bar.finish_and_clear();
    Ok(CheckResult {
        read,
        counted: entries.count,
        faults,
    })
}
