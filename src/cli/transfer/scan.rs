//! Reads a whole file before `import` adds anybody. Finds the people who have unsubscribed, and the values about
//! which the owner must be asked.

use std::{borrow::Cow, collections::HashMap};

use super::{
    column_kind::ColumnKind,
    column_report::ColumnReport,
    column_use::ColumnUse,
    columns::Columns,
    error::ImportError,
    export_format::unescape_formula,
    import_reader::ImportReader,
    question::Question,
    record::{Record, RecordContent},
    rules::ImportRules,
    status_options::StatusOptions,
    status_values::{self, Meaning},
};
use crate::waitlist::Email;

/// The result of a scan.
pub(crate) struct Scan {
    pub(crate) rules: ImportRules,
    /// The columns that are used, and those whose names look like a status.
    pub(crate) columns: Vec<ColumnUse>,
    /// All columns are those of `export`, and nothing had to be guessed.
    pub(crate) is_own_export: bool,
    /// Why nothing can be imported until the owner adds an option.
    pub(crate) question: Option<Question>,
}

/// The first people in the file whose row does not mark them as unsubscribed. Another row may.
#[derive(Default)]
struct SubscribedSample {
    people: HashMap<String, Email>,
}

/// Maximum number of people to look up in other rows. With more, not all of them count as unsubscribed.
const SAMPLE_MAX: usize = 1_000;

impl SubscribedSample {
    fn add(&mut self, email: &str) {
        if self.people.len() <= SAMPLE_MAX
            && let Ok(email) = Email::parse(email)
        {
            let key = unescape_formula(&email.key()).to_owned();
            self.people.insert(key, email);
        }
    }

    /// Whether other rows mark all of them as unsubscribed.
    fn are_all_unsubscribed(&self, rules: &ImportRules) -> bool {
        self.people.len() <= SAMPLE_MAX && self.people.values().all(|it| rules.is_unsubscribed(it))
    }
}

/// A scan that is under way.
struct Scanner {
    rules: ImportRules,
    report: ColumnReport,
    /// Columns of `--ignore` that were not found yet.
    missing_columns: Vec<String>,
    /// The number of rows that mark a person as unsubscribed.
    unsubscribed_rows: u64,
    sample: SubscribedSample,
    second_header: Option<u64>,
    /// The file has objects that `export` did not write.
    has_foreign_objects: bool,
}

/// Reads a whole file without importing anybody.
pub(crate) fn scan(
    reader: ImportReader,
    status_options: &StatusOptions,
    is_intact: bool,
) -> Result<Scan, ImportError> {
    let mut scanner = Scanner {
        rules: ImportRules::new(status_options, is_intact),
        report: ColumnReport::default(),
        missing_columns: status_options.ignore.clone(),
        unsubscribed_rows: 0,
        sample: SubscribedSample::default(),
        second_header: None,
        has_foreign_objects: false,
    };
    let header = reader.columns.as_deref();
    if let Some(columns) = header {
        scanner.add_columns(columns)?;
    }
    // An intact export has no status columns, and without one there is nothing to find in the rows.
    let is_export = is_intact && scanner.missing_columns.is_empty();
    if is_export && header.is_none() {
        scanner.report.add_export();
    }
    let may_have_status = header.is_none_or(Columns::has_status_columns);
    if !is_export && may_have_status {
        for record in reader.records {
            let Record { line, content } = record?;
            if let Ok(content) = content {
                scanner.add_row(line, &content, header.is_some())?;
            }
        }
    }
    let is_own_export = header.map(Columns::are_export_columns);
    Ok(scanner.finish(is_own_export))
}

impl Scanner {
    fn add_columns(&mut self, columns: &Columns) -> Result<(), ImportError> {
        self.report.add(columns)?;
        self.missing_columns.retain(|name| !columns.has(name));
        Ok(())
    }

    fn add_row(
        &mut self,
        line: u64,
        content: &RecordContent,
        has_header: bool,
    ) -> Result<(), ImportError> {
        let email = content.email();
        let Some(columns) = content.columns() else {
            self.report.add_export();
            self.sample.add(email);
            return Ok(());
        };
        if !has_header {
            self.has_foreign_objects = true;
            self.add_columns(columns)?;
        } else if columns.is_email_header(email) {
            self.second_header.get_or_insert(line);
        }
        if !self.record_statuses(line, content, columns) {
            self.sample.add(email);
            return Ok(());
        }
        self.unsubscribed_rows += 1;
        if let Ok(email) = Email::parse(email) {
            self.rules.add_unsubscribed(&email);
        }
        Ok(())
    }

    /// Records the values in the status columns of a row, and returns whether they mean "unsubscribed".
    fn record_statuses(&mut self, line: u64, content: &RecordContent, columns: &Columns) -> bool {
        let statuses = columns.status_columns().map(|(name, column)| {
            let text = content.status_text(column).unwrap_or_default();
            let meaning = self.rules.classify(&name, column, &text);
            (name, column.kind, text, meaning)
        });
        let statuses: Vec<_> = statuses.collect();
        let means_unsubscribed =
            |text: Cow<str>| status_values::classify(ColumnKind::Other, &text) == Meaning::Unknown;
        let is_unsubscribed = statuses.iter().any(|(.., meaning)| {
            matches!(meaning, Meaning::Unsubscribed | Meaning::UnsubscribedAt)
        }) || content.extra_cells().any(means_unsubscribed);
        for (name, kind, text, meaning) in statuses {
            // Do not ask about people who are skipped anyway.
            if meaning != Meaning::Unknown || kind.is_decisive() || !is_unsubscribed {
                self.report.record(&name, line, &text, meaning);
            }
        }
        is_unsubscribed
    }

    /// `is_own_export` is `None` if the file has no header row.
    fn finish(mut self, is_own_export: Option<bool>) -> Scan {
        let unknown = self.report.finish(&mut self.rules);
        let question = if let Some(name) = self.missing_columns.first() {
            Some(Question::MissingColumn(name.clone()))
        } else if let Some(line) = self.second_header {
            Some(Question::SecondHeader { line })
        } else if let Some(options) = self.rules.overrides.unused_options() {
            Some(Question::UnusedOptions { options })
        } else if !unknown.is_empty() {
            Some(Question::UnknownValues(unknown))
        } else if self.unsubscribed_rows > 0
            && self.sample.are_all_unsubscribed(&self.rules)
            && !self.rules.may_skip_all
        {
            Some(Question::AllSkipped {
                skipped: self.unsubscribed_rows,
                columns: self.report.skipping_columns(),
            })
        } else {
            None
        };
        Scan {
            is_own_export: is_own_export.unwrap_or(!self.has_foreign_objects),
            rules: self.rules,
            columns: self.report.columns,
            question,
        }
    }
}
