//! The report of an import.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    check::Checked,
    person::{InvalidRow, Person},
    plan::{Use, Verdict},
    preview::{describe, write_invalid},
    text::quoted,
};
use crate::waitlist::{InvalidSource, JoinOutcome};

/// What an import has done, or would do. A dry run has the same keys.
#[derive(Default, Serialize)]
pub(super) struct ImportReport {
    /// The name of the preset that says what the columns mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<&'static str>,
    /// Each column, and its use. Those of our own exports need no explanation.
    columns: Vec<(String, &'static str)>,
    added: usize,
    already_listed: usize,
    /// Number of people who have left this list, and were not added.
    suppressed: usize,
    /// Number of people who have left the other list.
    left: usize,
    /// Number of them who are suppressed. The others are on this list, and stay on it.
    suppressed_leavers: usize,
    /// Number of rows about which the owner must decide, and the values in them: `COLUMN=VALUE`.
    undecided: usize,
    undecided_values: Vec<String>,
    /// The lines of the invalid rows, and the reasons.
    invalid_rows: Vec<(u64, InvalidRow)>,
    /// Number of added people without a sign-up time.
    without_time: usize,
    /// Number of added people whose source is invalid, and was left out.
    invalid_sources: usize,
}

impl ImportReport {
    pub(super) fn new(checked: &Checked<'_>) -> Self {
        let Checked { table, plan, .. } = checked;
        let columns = || table.columns.iter().zip(&plan.uses);
        let described = columns().filter(|_| !plan.is_own).map(|(column, used)| {
            let used = used.as_ref().map_or("", describe);
            (column.name.clone(), used)
        });
        let mut undecided_values = Vec::new();
        for (column, used) in columns() {
            if let Some(Use::Status(listed)) = used {
                let values = column
                    .texts()
                    .filter(|it| listed.verdict(it) == Some(Verdict::Undecided));
                undecided_values.extend(values.map(|value| format!("{}={value}", column.name)));
            }
        }
        let undecided = checked.people.iter();
        let undecided = undecided.filter(|it| it.verdict == Verdict::Undecided);
        Self {
            preset: plan.preset,
            columns: described.collect(),
            undecided: undecided.count(),
            undecided_values,
            invalid_rows: checked.invalid.clone(),
            ..Self::default()
        }
    }

    /// Counts the people who have left, by whether each is suppressed.
    pub(super) fn count_leavers(&mut self, are_suppressed: impl IntoIterator<Item = bool>) {
        for is_suppressed in are_suppressed {
            self.left += 1;
            self.suppressed_leavers += usize::from(is_suppressed);
        }
    }

    /// Counts people who were added, or would be.
    pub(super) fn count_joined(&mut self, people: &[&Person], outcomes: &[JoinOutcome]) {
        for (person, outcome) in people.iter().zip(outcomes) {
            match outcome {
                JoinOutcome::AlreadyListed => self.already_listed += 1,
                JoinOutcome::Suppressed => self.suppressed += 1,
                JoinOutcome::New => {
                    self.added += 1;
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
        if let Some(preset) = self.preset {
            writeln!(out, "preset: {preset}")?;
        }
        for (name, used) in &self.columns {
            writeln!(out, "column {}: {used}", quoted(name))?;
        }
        write_invalid(out, file, &self.invalid_rows)?;
        if is_dry_run {
            writeln!(out, "dry run: nothing is changed; an import would report:")?;
        }
        writeln!(
            out,
            "{} added, {} already there",
            self.added, self.already_listed
        )?;
        let undecided: Vec<_> = self.undecided_values.iter().map(|it| quoted(it)).collect();
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
                "left the other list, but are on this one and stay: see `landing unsubscribe --file`",
            ),
            (
                self.undecided,
                &*format!(
                    "undecided by {}: not added; decide with --stay or --left, and import the file again",
                    undecided.join(", ")
                ),
            ),
            (self.invalid_rows.len(), "invalid: left out"),
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
