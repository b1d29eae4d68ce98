//! Adds the people of a checked file to the list, or counts what that would do.

use std::collections::HashSet;

use super::{check::Checked, report::ImportReport};
use crate::{
    cli::{terminal::progress::entry_progress, waitlist_handle::WaitlistHandle},
    waitlist::{CALL_MAX, JoinOutcome},
};

/// Suppresses the people who have left, durably, and then adds the others. The report counts what was done, also if it fails.
pub(super) fn add(
    list: &WaitlistHandle,
    checked: &Checked<'_>,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let leavers = checked.leavers();
    let suppressed = list.call_in_parts(&leavers, |list, part| list.suppress(part))?;
    report.count_leavers(suppressed);
    let staying = checked.staying();
    let bar = entry_progress(staying.len() as u64, "adding");
    for part in staying.chunks(CALL_MAX) {
        let entries = part.iter().filter_map(|person| person.entry.clone());
        let outcomes = list.call(|list| list.join_all(entries.collect()))?;
        report.count_joined(part, &outcomes);
        bar.inc(part.len() as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// Counts what [`add`] would do with a list, or without one.
pub(super) fn count(
    list: Option<&WaitlistHandle>,
    checked: &Checked<'_>,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let (mut emails, staying) = (checked.leavers(), checked.staying());
    let leavers = emails.len();
    emails.extend(staying.iter().map(|person| person.email.clone()));
    let (are_listed, suppressions) = match list {
        Some(list) => (list.are_listed(&emails)?, Some(list.suppressions()?)),
        None => (vec![false; emails.len()], None),
    };
    report.count_leavers(are_listed[..leavers].iter().map(|is_listed| !is_listed));
    let mut added = HashSet::new();
    let people = emails.iter().zip(are_listed).skip(leavers);
    let outcomes = people.map(|(email, is_listed)| {
        if is_listed || added.contains(&email.key()) {
            JoinOutcome::AlreadyListed
        } else if suppressions.as_ref().is_some_and(|it| it.contains(email)) {
            JoinOutcome::Suppressed
        } else {
            added.insert(email.key());
            JoinOutcome::New
        }
    });
    report.count_joined(&staying, &outcomes.collect::<Vec<_>>());
    Ok(())
}
