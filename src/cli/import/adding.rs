//! Adds the people of a checked file to the list, or counts what that would do, and reports it.

use std::{
    collections::HashSet,
    io::{self, Write},
};

use serde::Serialize;

use super::{
    check::{Checked, Person},
    plan::Verdict,
    preview::{describe_columns, write_columns, write_invalid},
};
use crate::{
    cli::{terminal::progress::progress, waitlist_handle::WaitlistHandle},
    waitlist::{CALL_MAX, InvalidSource, JoinOutcome, WaitlistEntry},
};

/// Suppresses the people who have left, durably, and then adds the others. The report counts what was done, also if it fails.
pub(super) fn add(
    list: &WaitlistHandle,
    checked: &Checked<'_>,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let leavers = checked.leavers();
    let suppressed = list.call_in_parts(&leavers, |list, part| list.suppress(part))?;
    report.count_leavers(&suppressed);
    let staying = checked.staying();
    let bar = progress(staying.len() as u64, "adding");
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
    let found = list.map_or_else(|| Ok(vec![None; emails.len()]), |it| it.find(&emails))?;
    let suppressions = list.map(WaitlistHandle::suppressions).transpose()?;
    // The store suppresses also people who await a confirmation: nobody knows who has signed them up.
    let are_suppressed = found[..leavers].iter().map(|it| {
        let entry = it.as_ref();
        entry.is_none_or(WaitlistEntry::awaits_confirmation)
    });
    report.count_leavers(&are_suppressed.collect::<Vec<_>>());
    let mut added = HashSet::new();
    let people = emails.iter().zip(found).skip(leavers);
    let outcomes = people.map(|(email, found)| {
        if found.is_some() || added.contains(&email.key()) {
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

/// What an import has done, or would do. A dry run has the same keys.
#[derive(Default, Serialize)]
pub(super) struct ImportReport {
    /// The name of the preset that says what the columns mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<&'static str>,
    /// Each column, with its use and its values. Those of our own exports need no explanation.
    columns: Vec<(String, String)>,
    added: usize,
    already_listed: usize,
    /// Number of people who have left this list, and were not added.
    suppressed: usize,
    /// Number of people who have left the other list.
    left: usize,
    /// Number of them who are suppressed. The others are on this list, and stay on it.
    suppressed_leavers: usize,
    /// Number of rows about which the owner must decide.
    undecided: usize,
    /// The lines of the invalid rows, and the reasons.
    invalid_rows: Vec<(u64, String)>,
    /// Number of added people who have not confirmed: a server asks them.
    awaiting: usize,
    /// Number of added people without a sign-up time.
    without_time: usize,
    /// Number of added people whose source is invalid, and was left out.
    invalid_sources: usize,
}

impl ImportReport {
    pub(super) fn new(checked: &Checked<'_>) -> Self {
        let undecided = checked.people.iter();
        let undecided = undecided.filter(|it| it.verdict == Verdict::Undecided);
        Self {
            preset: checked.plan.preset,
            columns: match checked.plan.is_own {
                true => Vec::new(),
                false => describe_columns(checked),
            },
            undecided: undecided.count(),
            invalid_rows: checked.invalid.clone(),
            ..Self::default()
        }
    }

    /// Counts the people who have left, by whether each is suppressed.
    fn count_leavers(&mut self, are_suppressed: &[bool]) {
        self.left = are_suppressed.len();
        self.suppressed_leavers = are_suppressed.iter().filter(|it| **it).count();
    }

    /// Counts people who were added, or would be.
    fn count_joined(&mut self, people: &[&Person], outcomes: &[JoinOutcome]) {
        for (person, outcome) in people.iter().zip(outcomes) {
            match outcome {
                JoinOutcome::AlreadyListed => self.already_listed += 1,
                JoinOutcome::Suppressed => self.suppressed += 1,
                JoinOutcome::New => {
                    self.added += 1;
                    let entry = person.entry.as_ref();
                    self.awaiting += usize::from(entry.is_some_and(|it| it.awaits_confirmation()));
                    self.without_time += usize::from(person.has_no_time);
                    self.invalid_sources += usize::from(person.has_invalid_source);
                }
            }
        }
    }

    /// Writes the columns, the invalid rows, and the counts.
    pub(super) fn write(
        &self,
        out: &mut dyn Write,
        file: &str,
        is_dry_run: bool,
    ) -> io::Result<()> {
        write_columns(out, self.preset, &self.columns)?;
        write_invalid(out, file, &self.invalid_rows)?;
        if is_dry_run {
            writeln!(out, "dry run: nothing is changed; an import would report:")?;
        }
        writeln!(
            out,
            "{} added, {} already there",
            self.added, self.already_listed
        )?;
        for (count, note) in [
            (
                self.suppressed,
                "left this list: not added, because only they can join again, on the page",
            ),
            (
                self.suppressed_leavers,
                "left the other list: suppressed, so no import adds them",
            ),
            (
                self.left - self.suppressed_leavers,
                "left the other list, but are on this one and stay: to take them off, run `landing unsubscribe --file` \
                 with a file of only these people",
            ),
            (
                self.undecided,
                "undecided: not added; decide with --stay or --left, and import the file again",
            ),
            (self.invalid_rows.len(), "invalid: left out"),
            (
                self.awaiting,
                "not confirmed: a server with --confirm-signups sends them a code, and erases those who do not confirm",
            ),
            (
                self.without_time,
                "without a sign-up time: the current time was used",
            ),
            (
                self.invalid_sources,
                &format!("with an invalid source, which was left out: {InvalidSource}"),
            ),
        ] {
            if count > 0 {
                writeln!(out, "{count} {note}")?;
            }
        }
        Ok(())
    }
}
