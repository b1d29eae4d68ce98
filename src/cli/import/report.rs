//! The report of an import.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use serde::Serialize;

use super::{
    check::Checked,
    person::{InvalidRow, Person},
    plan::Verdict,
    preview::describe,
    survey::Survey,
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
    added: u64,
    /// The location of the list, if there was none before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) new_list: Option<String>,
    already_listed: u64,
    /// Number of people who have left this list, and were not added.
    suppressed: u64,
    /// Number of rows of people who have left the other list.
    pub(super) left: u64,
    /// Number of them who are suppressed: those who are not on this list.
    pub(super) suppressed_leavers: u64,
    /// Number of rows about which the owner must decide.
    undecided: u64,
    /// How many of them each value stands in: `COLUMN=VALUE`.
    undecided_values: BTreeMap<String, u64>,
    invalid: u64,
    /// The lines of the first invalid rows, and the reasons.
    invalid_rows: Vec<(u64, InvalidRow)>,
    /// Number of added people without a sign-up time.
    without_time: u64,
    /// Number of added people whose source is invalid, and was left out.
    invalid_sources: u64,
}

impl ImportReport {
    pub(super) fn new(checked: &Checked) -> Self {
        let columns = checked.survey.columns.iter().zip(&checked.plan.uses);
        let columns = columns.filter(|_| !checked.plan.is_own);
        let columns = columns.map(|(column, used)| {
            let used = used.as_ref().map_or("", describe);
            (column.name.clone(), used)
        });
        Self {
            preset: checked.plan.preset,
            columns: columns.collect(),
            invalid: checked.invalid_count,
            invalid_rows: checked.invalid.clone(),
            ..Self::default()
        }
    }

    /// Counts a row about whose person the owner must decide.
    pub(super) fn add_undecided(&mut self, survey: &Survey, person: &Person, cells: &[String]) {
        self.undecided += 1;
        // Another row of the person may be the undecided one.
        let at = person
            .decided_by
            .filter(|_| person.verdict == Verdict::Undecided);
        if let Some(at) = at {
            let value = cells.get(at).map_or("", |cell| cell.trim());
            let value = format!("{}={value}", survey.columns[at].name);
            *self.undecided_values.entry(value).or_default() += 1;
        }
    }

    /// Counts a row that was added, or would be.
    pub(super) fn add_joined(&mut self, person: &Person, outcome: JoinOutcome) {
        match outcome {
            JoinOutcome::AlreadyListed => self.already_listed += 1,
            JoinOutcome::Suppressed => self.suppressed += 1,
            JoinOutcome::New => {
                self.added += 1;
                self.without_time += u64::from(person.has_no_time);
                self.invalid_sources += u64::from(person.has_invalid_source);
            }
        }
    }

    /// Writes the rows that cannot be read. `file` is the name of the file.
    pub(super) fn write_invalid(&self, out: &mut dyn Write, file: &str) -> io::Result<()> {
        for (line, reason) in &self.invalid_rows {
            writeln!(out, "{file}:{line}: {reason}")?;
        }
        match self.invalid - self.invalid_rows.len() as u64 {
            0 => Ok(()),
            more => writeln!(out, "and {more} more lines"),
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
        self.write_invalid(out, file)?;
        let (would, was) = match is_dry_run {
            true => ("would be ", "would be"),
            false => ("", "was"),
        };
        let new_list = self.new_list.as_ref();
        let to = new_list.map_or_else(String::new, |it| format!(" to a new list in {it}"));
        write!(
            out,
            "{} {would}added{to}, {} already there",
            self.added, self.already_listed
        )?;
        for (count, what) in [
            (self.left, "left"),
            (self.undecided, "undecided"),
            (self.invalid, "invalid"),
        ] {
            if count > 0 {
                write!(out, ", {count} {what}")?;
            }
        }
        writeln!(out)?;
        self.write_notes(out, would, was)
    }

    fn write_notes(&self, out: &mut dyn Write, would: &str, was: &str) -> io::Result<()> {
        for (count, note) in [
            (
                self.suppressed,
                "left this list: not added, because only they can join again, on the page".into(),
            ),
            (
                self.suppressed_leavers,
                format!("left the other list: {would}suppressed, so no import adds them"),
            ),
            (
                self.undecided,
                "undecided: not added; decide with --stay or --left, and import the file again"
                    .into(),
            ),
            (
                self.without_time,
                format!("without a sign-up time: the current time {was} used"),
            ),
            (
                self.invalid_sources,
                format!("with an invalid source, which {was} left out: {InvalidSource}"),
            ),
        ] {
            if count > 0 {
                writeln!(out, "{count} {note}")?;
            }
        }
        for (value, count) in &self.undecided_values {
            writeln!(out, "{count} undecided by {}", quoted(value))?;
        }
        Ok(())
    }
}
