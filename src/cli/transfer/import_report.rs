//! The report of an import.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    column_use::{self, ColumnUse},
    record::EntryWarning,
    reject_reason::RejectReason,
};
use crate::waitlist::{InvalidSource, JoinOutcome};

/// Maximum number of rejected lines that are listed: of unsubscribed people, and of others.
const REJECTED_SHOWN_MAX: u64 = 10_000;

/// What an import has done.
#[derive(Default, Serialize)]
pub(crate) struct ImportReport {
    /// The line of the header row, if lines before it were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    header_line: Option<u64>,
    columns: Vec<ColumnUse>,
    pub(crate) added: u64,
    /// The location of the list, if there was none before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) new_list: Option<String>,
    already_listed: u64,
    /// The number of people who have left this list, and were not added.
    #[serde(skip_serializing_if = "is_zero")]
    suppressed: u64,
    /// The number of unsubscribed people that are suppressed now.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) unsubscribed_suppressed: u64,
    /// The first rejected lines, in the order of the file.
    rejected: Vec<RejectedLine>,
    /// The number of further rejected lines.
    #[serde(skip_serializing_if = "is_zero")]
    rejected_not_shown: u64,
    #[serde(skip)]
    unsubscribed: u64,
    #[serde(skip)]
    pub(crate) invalid: u64,
    /// The number of added entries without a sign-up time.
    without_time: u64,
    /// The number of sources that are invalid, and were left out.
    #[serde(skip_serializing_if = "is_zero")]
    invalid_sources: u64,
    /// The number of times of confirmations that cannot be read, and were left out.
    #[serde(skip_serializing_if = "is_zero")]
    unreadable_confirmations: u64,
}

#[derive(Serialize)]
struct RejectedLine {
    line: u64,
    reason: RejectReason,
}

/// Takes a reference because serde passes one.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ImportReport {
    pub(crate) fn new(columns: Vec<ColumnUse>, header_line: Option<u64>) -> Self {
        Self {
            header_line,
            columns,
            ..Self::default()
        }
    }

    pub(crate) fn reject(&mut self, line: u64, reason: RejectReason) {
        let count = if matches!(reason, RejectReason::Unsubscribed(_)) {
            &mut self.unsubscribed
        } else {
            &mut self.invalid
        };
        *count += 1;
        if *count <= REJECTED_SHOWN_MAX {
            self.rejected.push(RejectedLine { line, reason });
        } else {
            self.rejected_not_shown += 1;
        }
    }

    /// Counts entries that were added, or would be: the outcome of each, and its warnings.
    pub(crate) fn add_joined(&mut self, joined: &[JoinOutcome], warnings: &[Vec<EntryWarning>]) {
        for (outcome, warnings) in joined.iter().zip(warnings) {
            let count = match outcome {
                JoinOutcome::New => &mut self.added,
                JoinOutcome::AlreadyListed => &mut self.already_listed,
                JoinOutcome::Suppressed => &mut self.suppressed,
            };
            *count += 1;
            if *outcome != JoinOutcome::New {
                continue;
            }
            for warning in warnings {
                *match warning {
                    EntryWarning::NoTime => &mut self.without_time,
                    EntryWarning::InvalidSource => &mut self.invalid_sources,
                    EntryWarning::UnreadableConfirmation => &mut self.unreadable_confirmations,
                } += 1;
            }
        }
    }

    fn rejected_count(&self) -> u64 {
        self.unsubscribed + self.invalid
    }

    /// The number of lines with an entry, valid or not.
    pub(crate) fn line_count(&self) -> u64 {
        self.added + self.already_listed + self.suppressed + self.rejected_count()
    }

    /// Describes the header row and the columns.
    pub(crate) fn write_columns(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(line) = self.header_line {
            writeln!(
                out,
                "header row: line {line}; the lines before it are skipped"
            )?;
        }
        column_use::write_columns(&self.columns, out)
    }

    /// Lists the rejected lines, and then the counts. `file` is the name of the file.
    pub(crate) fn write_result(
        &self,
        out: &mut dyn Write,
        file: &str,
        is_dry_run: bool,
    ) -> io::Result<()> {
        for RejectedLine { line, reason } in &self.rejected {
            writeln!(out, "{file}:{line}: {reason}")?;
        }
        if self.rejected_not_shown > 0 {
            writeln!(out, "and {} more lines", self.rejected_not_shown)?;
        }
        let would = if is_dry_run { "would be " } else { "" };
        let (added, already, rejected) = (self.added, self.already_listed, self.rejected_count());
        let new_list = self.new_list.as_ref();
        let to = new_list.map_or_else(String::new, |it| format!(" to a new list in {it}"));
        writeln!(
            out,
            "{added} {would}added{to}, {already} already there, {rejected} rejected"
        )?;
        let (were, was) = if is_dry_run {
            ("would not be", "would be")
        } else {
            ("were not", "was")
        };
        if self.suppressed > 0 {
            let (suppressed, was_not) = match self.suppressed {
                1 if !is_dry_run => (1, "was not"),
                suppressed => (suppressed, were),
            };
            writeln!(
                out,
                "{suppressed} left this list and {was_not} added; only they can join again, on the page"
            )?;
        }
        if self.unsubscribed_suppressed > 0 {
            let count = self.unsubscribed_suppressed;
            let people = if count == 1 { "person" } else { "people" };
            let are = match count {
                _ if is_dry_run => "would be",
                1 => "is",
                _ => "are",
            };
            writeln!(
                out,
                "{count} unsubscribed {people} {are} suppressed: no import adds them"
            )?;
        }
        for (count, note) in [
            (
                self.without_time,
                format!("no sign-up time; the current time {was} used"),
            ),
            (
                self.invalid_sources,
                format!("an invalid source; it {was} left out; {InvalidSource}"),
            ),
            (
                self.unreadable_confirmations,
                format!(
                    "a confirmation time that cannot be read; it {was} left out; choose --date-format to keep it"
                ),
            ),
        ] {
            if count > 0 {
                let have = if count == 1 { "has" } else { "have" };
                writeln!(out, "{count} {have} {note}")?;
            }
        }
        Ok(())
    }
}
