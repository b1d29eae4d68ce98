//! Reads a whole file before `import` adds anybody. Finds the people who have unsubscribed, and the values about
//! which the owner must be asked.

use std::{borrow::Cow, collections::HashMap};

use super::{
    column_kind::ColumnKind,
    column_report::ColumnReport,
    column_use::ColumnUse,
    columns::{Columns, may_hold_sign_up_times},
    error::ImportError,
    export_format::unescape_formula,
    header_row::SkippedLines,
    import_reader::ImportReader,
    question::Question,
    record::{JoinedAt, Record, RecordContent},
    rules::ImportRules,
    sign_up_time::{DateFormat, is_date},
    status_options::StatusOptions,
    status_values::{self, Meaning, is_empty_value},
    time_columns::TimeColumns,
};
use crate::waitlist::Email;

/// The result of a scan.
pub(crate) struct Scan {
    pub(crate) rules: ImportRules,
    /// The columns that are used, and those whose names look like a status.
    pub(crate) columns: Vec<ColumnUse>,
    /// All columns are those of `export`, and nothing had to be guessed.
    pub(crate) is_own_export: bool,
    /// The line of the header row, if lines before it were skipped.
    pub(crate) header_line: Option<u64>,
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
    skipped_lines: Option<SkippedLines>,
    /// Columns of `--ignore` that were not found yet.
    missing_columns: Vec<String>,
    /// The number of rows that mark a person as unsubscribed.
    unsubscribed_rows: u64,
    sample: SubscribedSample,
    second_header: Option<u64>,
    times: TimeColumns,
    confirmations: TimeColumns,
    /// Columns that are read only for their statuses: their positions in this map, and whether all their values are
    /// dates. If no other column has sign-up times, they may hold them.
    date_columns: HashMap<String, (usize, bool)>,
    /// The file has objects that `export` did not write.
    has_foreign_objects: bool,
}

/// Reads a whole file without importing anybody.
pub(crate) fn scan(
    reader: ImportReader,
    status_options: &StatusOptions,
    date_format: Option<DateFormat>,
) -> Result<Scan, ImportError> {
    let mut scanner = Scanner {
        rules: ImportRules::new(status_options, date_format),
        report: ColumnReport::default(),
        skipped_lines: reader.skipped_lines,
        missing_columns: status_options.ignore.clone(),
        unsubscribed_rows: 0,
        sample: SubscribedSample::default(),
        second_header: None,
        times: TimeColumns::default(),
        confirmations: TimeColumns::default(),
        date_columns: HashMap::new(),
        has_foreign_objects: false,
    };
    let header = reader.columns.as_deref();
    if let Some(columns) = header {
        scanner.add_columns(columns)?;
    }
    let is_read = |columns: &Columns| {
        columns.has_status_columns() || columns.has_joined_at() || columns.facts().next().is_some()
    };
    if header.is_none_or(is_read) {
        for record in reader.records {
            let Record { line, content } = record?;
            if let Ok(content) = content {
                scanner.add_row(line, &content, header.is_some())?;
            }
        }
    }
    let is_own_export =
        header.map(|columns| columns.are_export_columns() && reader.skipped_lines.is_none());
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
            self.report.add_export(content.exported_columns());
            self.record_time(line, content);
            self.sample.add(email);
            return Ok(());
        };
        if !has_header {
            self.has_foreign_objects = true;
            self.add_columns(columns)?;
        } else if columns.has_status_columns() && columns.is_email_header(email) {
            self.second_header.get_or_insert(line);
        }
        if !self.record_statuses(line, content, columns) {
            self.record_time(line, content);
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

    /// Records the sign-up time of a row. In a row without a column of sign-up times, looks for dates in the others.
    fn record_time(&mut self, line: u64, content: &RecordContent) {
        // The cells of a row with too many may be in the wrong columns.
        if content.extra_cells().next().is_some() {
            return;
        }
        for (_, name, text) in content.facts() {
            self.confirmations
                .record(&self.rules.times, &name, line, &text);
        }
        match (content.joined_at(), content.columns()) {
            (Ok(Some(JoinedAt { column, text })), _) => {
                self.times.record(&self.rules.times, &column, line, text);
            }
            (Ok(None), Some(columns)) if !columns.has_joined_at() => {
                for (name, column) in columns.status_columns() {
                    let text = content.status_text(column).unwrap_or_default();
                    if is_empty_value(&text) {
                        continue;
                    }
                    let at = self.date_columns.len();
                    match self.date_columns.get_mut(&*name) {
                        Some((_, has_only_dates)) => {
                            *has_only_dates = *has_only_dates && is_date(&text);
                        }
                        None => {
                            let may_be_time =
                                may_hold_sign_up_times(&name, column) && is_date(&text);
                            self.date_columns
                                .insert(name.into_owned(), (at, may_be_time));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns what the owner must decide about the sign-up times.
    fn time_question(&mut self) -> Option<Question> {
        let question = self.times.question(&self.rules.times);
        if question.is_some() || !self.times.is_empty() {
            return question;
        }
        let columns = self.date_columns.drain();
        let columns = columns.filter(|(_, (_, has_only_dates))| *has_only_dates);
        let mut columns: Vec<_> = columns.map(|(name, (at, _))| (at, name)).collect();
        columns.sort_unstable();
        let columns: Vec<_> = columns.into_iter().map(|(_, name)| name).collect();
        (!columns.is_empty()).then_some(Question::PossibleTimes { columns })
    }

    /// `is_own_export` is `None` if the file has no header row.
    fn finish(mut self, is_own_export: Option<bool>) -> Scan {
        self.times.finish(&mut self.rules.times);
        self.confirmations.finish(&mut self.rules.times);
        let unknown = self.report.finish(&mut self.rules);
        let question = if let Some(name) = self.missing_columns.first() {
            Some(Question::MissingColumn(name.clone()))
        } else if let Some(line) = self.second_header {
            Some(Question::SecondHeader { line })
        } else if let Some(line) = self.skipped_lines.and_then(|it| it.unsubscribed_line) {
            Some(Question::UnsubscribedTitle { line })
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
            self.time_question()
        };
        Scan {
            is_own_export: is_own_export.unwrap_or(!self.has_foreign_objects),
            rules: self.rules,
            columns: self.report.columns,
            header_line: self.skipped_lines.and_then(|it| it.header_line),
            question,
        }
    }
}
