//! Decides which rows of a file are skipped, by the owner's options and by the result of the scan.

use std::collections::HashSet;

use super::{
    column_kind::StatusColumn,
    email_hashes::EmailHashes,
    export_format::unescape_formula,
    sign_up_time::DateFormat,
    status_options::{StatusOptions, StatusOverrides},
    status_values::{self, Meaning},
    time_columns::TimeFormats,
};
use crate::waitlist::Email;

/// The rules by which rows are imported or skipped.
#[derive(Default)]
pub(crate) struct ImportRules {
    pub(crate) overrides: StatusOverrides,
    /// `--skip-all`: everybody in the file may have unsubscribed.
    pub(crate) may_skip_all: bool,
    /// How the sign-up times are read.
    pub(crate) times: TimeFormats,
    /// Columns whose names look like a status, but whose values do not.
    pub(crate) ignored_columns: HashSet<String>,
    /// Columns in which an empty cell may mean "no".
    pub(crate) checkbox_columns: HashSet<String>,
    /// People who have unsubscribed according to at least one of their rows.
    unsubscribed: EmailHashes,
}

impl ImportRules {
    pub(crate) fn new(status_options: &StatusOptions, date_format: Option<DateFormat>) -> Self {
        Self {
            overrides: StatusOverrides::new(status_options),
            may_skip_all: status_options.skip_all,
            times: TimeFormats::new(date_format),
            ..Self::default()
        }
    }

    /// Records that a person has unsubscribed.
    pub(crate) fn add_unsubscribed(&mut self, email: &Email) {
        self.unsubscribed.insert(unescape_formula(&email.key()));
    }

    /// Whether a row says that this person has unsubscribed. An address means the same person with and
    /// without the `'` that spreadsheets and `export` put before formulas.
    pub(crate) fn is_unsubscribed(&self, email: &Email) -> bool {
        !self.unsubscribed.is_empty() && self.unsubscribed.contains(unescape_formula(&email.key()))
    }

    /// Classifies a value: first by the owner's options, then by the known words.
    pub(crate) fn classify(&self, name: &str, column: &StatusColumn, text: &str) -> Meaning {
        if self.ignored_columns.contains(name) {
            return Meaning::Empty;
        }
        let is_checkbox = text.is_empty() && self.checkbox_columns.contains(name);
        let meaning = match status_values::classify(column.kind, text) {
            Meaning::Empty if is_checkbox => Meaning::Unknown,
            Meaning::Unsubscribed | Meaning::UnsubscribedAt if column.is_nested => Meaning::Unknown,
            meaning => meaning,
        };
        let override_meaning = self.overrides.resolve(name, column.kind, text, meaning);
        override_meaning.unwrap_or(meaning)
    }
}
