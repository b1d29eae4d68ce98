//! The records of an imported file, and how each becomes an entry.

use std::{borrow::Cow, sync::Arc, time::SystemTime};

use serde::Deserialize;

use super::{
    column_kind::StatusColumn,
    column_names::{EXPORT_COLUMNS, FactColumn},
    columns::Columns,
    csv_reader::CsvRow,
    export_format::unescape_formula,
    reject_reason::RejectReason,
    rules::ImportRules,
    status_values::{Meaning, means_no_time},
};
use crate::{
    cli::time::time_problem,
    waitlist::{Email, Source, WaitlistEntry},
};

/// A record, and the number of its first line.
pub(crate) struct Record {
    pub(crate) line: u64,
    pub(crate) content: Result<RecordContent, RejectReason>,
}

/// The content of a record, with the columns of its cells.
pub(crate) enum RecordContent {
    /// A JSON object that `export` could have written.
    Exported(ExportedEntry),
    Object(Columns, Vec<String>),
    CsvRow(Arc<Columns>, CsvRow),
}

/// The text of a sign-up time, and the name of its column.
pub(crate) struct JoinedAt<'a> {
    pub(crate) column: Cow<'a, str>,
    pub(crate) text: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportedEntry {
    email: String,
    joined_at: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    confirmed_at: String,
    #[serde(default)]
    asked_at: String,
}

/// An entry that a record describes.
pub(crate) struct ParsedEntry {
    pub(crate) entry: WaitlistEntry,
    pub(crate) warnings: Vec<EntryWarning>,
}

/// How an entry differs from what its record says, or should say.
#[derive(Clone, Copy)]
pub(crate) enum EntryWarning {
    /// The record has no sign-up time, so the entry has the current time.
    NoTime,
    /// The source has other characters than a source may have, so the entry has none.
    InvalidSource,
    /// The time of the confirmation cannot be read, so the entry has none.
    UnreadableConfirmation,
}

const NOT_UTF_8: RejectReason = RejectReason::Malformed("invalid UTF-8; save the file as UTF-8");

impl RecordContent {
    /// Returns the columns, or `None` for an entry as `export` writes it.
    pub(crate) fn columns(&self) -> Option<&Columns> {
        match self {
            Self::Exported(_) => None,
            Self::Object(columns, _) => Some(columns),
            Self::CsvRow(columns, _) => Some(columns),
        }
    }

    /// Returns the names of the columns of an exported entry that are not empty, and none for another record.
    pub(crate) fn exported_columns(&self) -> impl Iterator<Item = &'static str> {
        let is_empty = match self {
            Self::Exported(exported) => [
                false,
                false,
                exported.source.is_empty(),
                exported.confirmed_at.is_empty(),
            ],
            Self::Object(..) | Self::CsvRow(..) => [true; EXPORT_COLUMNS.len()],
        };
        let columns = EXPORT_COLUMNS.into_iter().zip(is_empty);
        columns
            .filter(|(_, is_empty)| !is_empty)
            .map(|(name, _)| name)
    }

    /// Returns a cell without the white space around it, or an empty one beyond the end of the row.
    fn cell(&self, at: usize) -> Result<&str, RejectReason> {
        let text = match self {
            Self::Exported(_) => "",
            // Invalid UTF-8 was replaced when the line was read.
            Self::Object(_, cells) => {
                let text = cells.get(at).map_or("", String::as_str);
                if text.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(NOT_UTF_8);
                }
                text
            }
            Self::CsvRow(_, cells) => str::from_utf8(cells.get(at)).map_err(|_| NOT_UTF_8)?,
        };
        Ok(text.trim())
    }

    /// Returns a cell that may contain invalid UTF-8, because its text is not imported.
    fn cell_lossy(&self, at: usize) -> Cow<'_, str> {
        match self {
            Self::Exported(_) => Cow::Borrowed(""),
            Self::Object(_, cells) => Cow::Borrowed(cells.get(at).map_or("", |it| it.trim())),
            Self::CsvRow(_, cells) => String::from_utf8_lossy(cells.get(at).trim_ascii()),
        }
    }

    /// Returns the text in a status column. Only a decisive column must be valid UTF-8.
    pub(crate) fn status_text(&self, column: &StatusColumn) -> Result<Cow<'_, str>, RejectReason> {
        if column.kind.is_decisive() {
            self.cell(column.at).map(Cow::Borrowed)
        } else {
            Ok(self.cell_lossy(column.at))
        }
    }

    /// The cells with text beyond the last column.
    pub(crate) fn extra_cells(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let extra = match self {
            Self::CsvRow(columns, cells) => columns.width()..cells.len(),
            Self::Exported(_) | Self::Object(..) => 0..0,
        };
        let cells = extra.map(|at| self.cell_lossy(at));
        cells.filter(|cell| !cell.trim().is_empty())
    }

    /// Whether a cell outside the column of addresses has an address too.
    pub(crate) fn has_other_address(&self) -> bool {
        let Some(columns) = self.columns() else {
            return false;
        };
        let count = match self {
            Self::Exported(_) => 0,
            Self::Object(_, cells) => cells.len(),
            Self::CsvRow(_, cells) => cells.len(),
        };
        let others = (0..count).filter(|at| *at != columns.email);
        others
            .map(|at| self.cell_lossy(at))
            .any(|cell| Email::parse(&cell).is_ok())
    }

    /// Returns the text in the column of addresses.
    pub(crate) fn email(&self) -> &str {
        match (self, self.columns()) {
            (Self::Exported(exported), _) => exported.email.trim(),
            (_, Some(columns)) => columns.address(self.cell(columns.email).unwrap_or_default()),
            (_, None) => "",
        }
    }

    /// Returns the sign-up time, and the name of the column that it is in, if the record has one.
    pub(crate) fn joined_at(&self) -> Result<Option<JoinedAt<'_>>, RejectReason> {
        let columns = match self {
            Self::Exported(ExportedEntry {
                joined_at: text, ..
            }) => {
                if text.contains(char::REPLACEMENT_CHARACTER) {
                    return Err(NOT_UTF_8);
                }
                let column = Cow::Borrowed(EXPORT_COLUMNS[1]);
                return Ok(Some(JoinedAt { column, text }).filter(|it| !it.text.is_empty()));
            }
            Self::Object(columns, _) => columns,
            Self::CsvRow(columns, _) => columns,
        };
        for (column, at) in columns.joined_at() {
            let text = self.cell(at)?;
            if !means_no_time(text) {
                return Ok(Some(JoinedAt { column, text }));
            }
        }
        Ok(None)
    }

    /// Returns the text of the source, which may be empty or invalid.
    fn source_text(&self) -> Cow<'_, str> {
        let column = self.columns().and_then(|columns| columns.source);
        match (self, column) {
            (Self::Exported(exported), _) => Cow::Borrowed(exported.source.as_str()),
            (_, Some(at)) => self.cell_lossy(at),
            (_, None) => Cow::Borrowed(""),
        }
    }

    /// Returns the columns of times at which something became known that are not empty: their names, and their texts.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (FactColumn, Cow<'_, str>, Cow<'_, str>)> {
        let exported = match self {
            Self::Exported(exported) => FactColumn::ALL.map(|column| {
                let text = match column {
                    FactColumn::ConfirmedAt => exported.confirmed_at.as_str(),
                    FactColumn::AskedAt => exported.asked_at.as_str(),
                };
                Some((column, column.export_name().into(), text.into()))
            }),
            Self::Object(..) | Self::CsvRow(..) => [None, None],
        };
        let in_columns = self.columns().into_iter().flat_map(Columns::facts);
        let in_columns = in_columns.map(|(column, name, at)| (column, name, self.cell_lossy(at)));
        let all = exported.into_iter().flatten().chain(in_columns);
        all.filter(|(_, _, text)| !means_no_time(text))
    }

    /// Whether a separator may have been typed in place of a dot: `ann@example,com`. Only a file without a header row
    /// can have this, because its first row says how many columns there are.
    fn has_comma_in_domain(&self, columns: &Columns, email: &str) -> bool {
        let is_label = |text: &str| text.len() > 1 && text.chars().all(char::is_alphabetic);
        let domain = email.rsplit_once('@').map_or("", |(_, domain)| domain);
        !domain.contains('.') && is_label(self.cell_lossy(columns.email + 1).trim())
    }

    /// Parses the entry. Without a sign-up time, its time is `now`.
    pub(crate) fn parse(
        &self,
        rules: &ImportRules,
        now: SystemTime,
    ) -> Result<ParsedEntry, RejectReason> {
        let mut parsed = match self {
            Self::Exported(ExportedEntry { email, .. }) => {
                parse_entry(email, self.joined_at()?, rules, now)
            }
            Self::Object(columns, _) => self.parse_row(columns, rules, now),
            Self::CsvRow(columns, _) => self.parse_row(columns, rules, now),
        }?;
        let source = self.source_text();
        parsed.entry.source = Source::parse(unescape_formula(&source)).ok();
        if parsed.entry.source.is_none() && !source.trim().is_empty() {
            parsed.warnings.push(EntryWarning::InvalidSource);
        }
        for (column, name, text) in self.facts() {
            let sign_up_time = self.joined_at().ok().flatten().map(|it| it.column);
            let time = rules
                .times
                .parse_like(&name, sign_up_time.as_deref(), &text);
            match time {
                Ok(time) => parsed.entry.apply(column.fact(time)),
                Err(_) => parsed.warnings.push(EntryWarning::UnreadableConfirmation),
            }
        }
        Ok(parsed)
    }

    fn parse_row(
        &self,
        columns: &Columns,
        rules: &ImportRules,
        now: SystemTime,
    ) -> Result<ParsedEntry, RejectReason> {
        if self.extra_cells().next().is_some() {
            let reason = if columns.width() == 1 {
                "text follows the address, but the first row has only one column; write one address per line"
            } else {
                "more cells than in the first row, so they may be in the wrong columns; quote the cells that contain \
                 a separator"
            };
            return Err(RejectReason::Malformed(reason));
        }
        let (mut is_unsubscribed, mut is_unknown) = (false, false);
        for (name, column) in columns.status_columns() {
            match rules.classify(&name, column, &self.status_text(column)?) {
                Meaning::Unsubscribed | Meaning::UnsubscribedAt => is_unsubscribed = true,
                Meaning::Unknown => is_unknown = true,
                Meaning::Empty | Meaning::Link | Meaning::Subscribed | Meaning::Agreed => {}
            }
        }
        if is_unsubscribed {
            return Err(RejectReason::Unsubscribed(Email::parse(self.email()).ok()));
        }
        if is_unknown {
            return Err(RejectReason::Malformed(
                "unknown status: the file has changed since the import began",
            ));
        }
        let joined_at = self.joined_at()?;
        let email = columns.address(self.cell(columns.email)?);
        if !columns.has_names() && self.has_comma_in_domain(columns, email) {
            return Err(RejectReason::Malformed(
                "the domain has no dot, and the address ends at a separator; correct the address, or add a header \
                 row if the file has several columns",
            ));
        }
        parse_entry(email, joined_at, rules, now)
    }
}

/// Checks an address and a time, and whether another row says that the person has unsubscribed.
fn parse_entry(
    email: &str,
    joined_at: Option<JoinedAt>,
    rules: &ImportRules,
    now: SystemTime,
) -> Result<ParsedEntry, RejectReason> {
    let email = Email::parse(email).map_err(|error| RejectReason::invalid_email(email, error))?;
    if rules.is_unsubscribed(&email) {
        return Err(RejectReason::Unsubscribed(Some(email)));
    }
    let mut warnings = Vec::new();
    let joined_at = if let Some(JoinedAt { column, text }) = joined_at {
        let time = rules.times.parse(&column, text)?;
        if let Some(problem) = time_problem(time) {
            return Err(RejectReason::Malformed(problem));
        }
        time
    } else {
        warnings.push(EntryWarning::NoTime);
        now
    };
    Ok(ParsedEntry {
        entry: WaitlistEntry::new(email, joined_at),
        warnings,
    })
}
