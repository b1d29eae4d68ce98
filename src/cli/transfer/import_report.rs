//! The report of an import.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    column_use::{self, ColumnUse},
    record::EntryWarning,
    reject_reason::RejectReason,
};
use crate::waitlist::InvalidSource;

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
    /// The number of implausible times, which only an intact export can have.
    implausible_times: u64,
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
        let count = if matches!(reason, RejectReason::Unsubscribed) {
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

    /// Counts entries that were added, or would be: of each, whether it is new, and its warnings.
    pub(crate) fn add_joined(&mut self, joined: &[bool], warnings: &[Vec<EntryWarning>]) {
        for (is_new, warnings) in joined.iter().zip(warnings) {
            if !is_new {
                self.already_listed += 1;
                continue;
            }
            self.added += 1;
            for warning in warnings {
                *match warning {
                    EntryWarning::NoTime => &mut self.without_time,
                    EntryWarning::ImplausibleTime => &mut self.implausible_times,
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
        self.added + self.already_listed + self.rejected_count()
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
        let was = if is_dry_run { "would be" } else { "was" };
        for (count, note) in [
            (
                self.without_time,
                format!("no sign-up time; the current time {was} used"),
            ),
            (
                self.implausible_times,
                "an implausible time (before 1971 or in the future), kept because the export is intact".into(),
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
