//! Reads a file before `import` adds anybody: finds the columns that say which people have left, and the
//! values in them that are unknown.

use std::{
    borrow::Cow,
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    io,
    sync::Arc,
};

use super::{
    column_kind::ColumnKind,
    column_report::{ColumnReport, ColumnUse, UnknownValue, quoted},
    columns::{Columns, StatusColumn},
    export_format::unescape_formula,
    import_reader::{ImportReader, Record},
    status_options::{StatusOptions, StatusOverrides},
    status_values::{self, Meaning},
};
use crate::waitlist::Email;

/// How rows are read.
#[derive(Default)]
pub(crate) struct ImportRules {
    overrides: StatusOverrides,
    /// Everybody in the file may have left.
    may_skip_all: bool,
    /// The file is an export whose checksum is right.
    is_intact: bool,
    /// Columns that looked as if they said who has left, and do not.
    pub(crate) ignored_columns: HashSet<String>,
    /// Columns in which an empty box may be a no.
    pub(crate) checkbox_columns: HashSet<String>,
    /// The people who have left, by a hash of their addresses: in another row they may not have.
    unsubscribed: HashSet<u64>,
    hasher: RandomState,
}

impl ImportRules {
    fn new(status_options: &StatusOptions, is_intact: bool) -> Self {
        Self {
            overrides: StatusOverrides::new(status_options),
            may_skip_all: status_options.skip_all,
            is_intact,
            ..Self::default()
        }
    }

    pub(crate) fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// Whether a row says that this person has left.
    pub(crate) fn is_unsubscribed(&self, email: &Email) -> bool {
        !self.unsubscribed.is_empty() && self.unsubscribed.contains(&self.email_hash(email))
    }

    /// A number for a person. The `'` that spreadsheets and `export` put before formulas makes no other
    /// person.
    fn email_hash(&self, email: &Email) -> u64 {
        self.hasher.hash_one(unescape_formula(&email.key()))
    }

    /// Classifies a value, by the owner's answers first, then by the known words.
    pub(crate) fn classify(&self, name: &str, column: &StatusColumn, text: &str) -> Meaning {
        if self.ignored_columns.contains(name) {
            return Meaning::Empty;
        }
        let is_box = text.is_empty() && self.checkbox_columns.contains(name);
        let meaning = match status_values::classify(column.kind, text) {
            Meaning::Empty if is_box => Meaning::Unknown,
            Meaning::Unsubscribed | Meaning::UnsubscribedAt if column.is_nested => Meaning::Unknown,
            meaning => meaning,
        };
        let owner_meaning = self.overrides.resolve(name, column.kind, text, meaning);
        owner_meaning.unwrap_or(meaning)
    }
}

/// The result of reading a file once.
pub(crate) struct Scan {
    pub(crate) rules: ImportRules,
    /// The columns that are used, and those that looked as if they said who has left.
    pub(crate) columns: Vec<ColumnUse>,
    /// All columns are those of `export`, and nothing had to be guessed.
    pub(crate) is_own_export: bool,
    /// Why nothing can be imported before the owner has said more.
    pub(crate) question: Option<String>,
}

/// The first people of rows that do not say that they have left. Other rows may say it.
#[derive(Default)]
struct SubscribedSample {
    hashes: HashSet<u64>,
}

/// So many people are not all looked for in other rows.
const SAMPLE_MAX: usize = 1_000;

impl SubscribedSample {
    fn add(&mut self, email: &str, rules: &ImportRules) {
        if self.hashes.len() <= SAMPLE_MAX
            && let Ok(email) = Email::parse(email)
        {
            self.hashes.insert(rules.email_hash(&email));
        }
    }

    /// Whether all of them have left by other rows.
    fn are_all_unsubscribed(&self, rules: &ImportRules) -> bool {
        self.hashes.len() <= SAMPLE_MAX && self.hashes.is_subset(&rules.unsubscribed)
    }
}

/// Reads a whole file, and imports nobody.
pub(crate) fn scan(
    reader: ImportReader,
    status_options: &StatusOptions,
    is_intact: bool,
) -> io::Result<Scan> {
    let mut rules = ImportRules::new(status_options, is_intact);
    let mut column_report = ColumnReport::default();
    let mut missing_columns = status_options.ignore.clone();
    let mut unsubscribed = 0;
    let mut sample = SubscribedSample::default();
    let mut second_header = None;
    if let Some(columns) = &reader.columns {
        column_report.add(columns)?;
        missing_columns.retain(|name| !columns.has(name));
    }
    let is_own_export = reader
        .columns
        .as_ref()
        .map(|columns| columns.are_export_columns());
    // An export has no such column. Other files are read only if they have one.
    let has_status_columns = |columns: &Arc<Columns>| columns.has_status_columns();
    let is_export = rules.is_intact && missing_columns.is_empty();
    if !is_export && reader.columns.as_ref().is_none_or(has_status_columns) {
        for record in reader.records {
            let Record { line, content } = record?;
            let Ok(content) = content else { continue };
            let Some(columns) = content.columns() else {
                sample.add(content.email(), &rules);
                continue;
            };
            if reader.columns.is_none() {
                column_report.add(columns)?;
                missing_columns.retain(|name| !columns.has(name));
            }
            let meanings = columns.status_columns().map(|(name, column)| {
                let text = column.text(&content).unwrap_or_default();
                (
                    rules.classify(&name, column, &text),
                    name,
                    column.kind,
                    text,
                )
            });
            let meanings: Vec<_> = meanings.collect();
            let is_unsubscribed_text = |text: Cow<str>| {
                status_values::classify(ColumnKind::Other, &text) == Meaning::Unknown
            };
            let is_unsubscribed = meanings.iter().any(|(meaning, ..)| {
                matches!(meaning, Meaning::Unsubscribed | Meaning::UnsubscribedAt)
            }) || content.extra_cells().any(is_unsubscribed_text);
            for (meaning, name, kind, text) in meanings {
                // Nobody asks whether somebody has left who is skipped anyway.
                if meaning != Meaning::Unknown || kind.is_decisive() || !is_unsubscribed {
                    column_report.record(&name, line, &text, meaning);
                }
            }
            let email = content.email();
            if reader.columns.is_some() && columns.is_header(email) {
                second_header.get_or_insert(line);
            }
            if !is_unsubscribed {
                sample.add(email, &rules);
                continue;
            }
            unsubscribed += 1;
            if let Ok(email) = Email::parse(email) {
                rules.unsubscribed.insert(rules.email_hash(&email));
            }
        }
    }
    let unknown = column_report.finish(&mut rules);
    let question = if let Some(name) = missing_columns.first() {
        Some(format!("there is no column {} in it", quoted(name)))
    } else if let Some(line) = second_header {
        Some(format!(
            "line {line} is a second header row, so its columns may be others: import the part before it and \
             the part from it on as two files"
        ))
    } else if let Some(unused) = rules.overrides.unused_message() {
        Some(unused)
    } else if !unknown.is_empty() {
        Some(unknown_values_message(&unknown))
    } else if unsubscribed > 0 && sample.are_all_unsubscribed(&rules) && !rules.may_skip_all {
        Some(format!(
            "all {unsubscribed} people in it would be skipped, because of {}. If they have left, add --skip-all. \
             Otherwise import them with --ignore COLUMN, or, if a word such as \"inactive\" says it, with \
             --keep STATUS",
            column_report.skipping_columns()
        ))
    } else {
        None
    };
    Ok(Scan {
        rules,
        is_own_export: is_own_export.unwrap_or(column_report.columns.is_empty()),
        columns: column_report.columns,
        question,
    })
}

/// Unknown values that are shown, at most.
const UNKNOWN_SHOWN_MAX: usize = 10;

fn unknown_values_message(unknown: &[UnknownValue]) -> String {
    let mut question = String::from(
        "import does not know what these values say about people who may have left:\n",
    );
    for it in unknown.iter().take(UNKNOWN_SHOWN_MAX) {
        let people = if it.people == 1 { "person" } else { "people" };
        question += &format!(
            "  line {}: column {} says {} ({} {people})\n",
            it.line,
            quoted(&it.column),
            quoted(&it.text),
            it.people
        );
    }
    if let Some(more @ 1..) = unknown.len().checked_sub(UNKNOWN_SHOWN_MAX) {
        question += &format!("  and {more} more\n");
    }
    question
        + "For each value, import these people with --keep STATUS, or skip them with --skip STATUS. To \
           answer for one column, use COLUMN=STATUS, or COLUMN=* for all that is asked about it. To import \
           people whatever a column says, use --ignore COLUMN"
}
