//! Collects the columns of a file, and decides what `import` uses each for.

use std::collections::{HashMap, HashSet};

use super::{
    column_kind::StatusColumn,
    column_names::EXPORT_COLUMNS,
    column_use::{ColumnUse, Purpose},
    column_values::{ColumnValues, EmptyValues, UnknownValue},
    columns::Columns,
    error::ImportError,
    rules::ImportRules,
    status_values::Meaning,
    text::quoted,
};

/// Maximum number of different unknown values that are counted in one column.
const UNKNOWN_MAX: usize = 1_000;
/// After this number of unknown values in all columns, [`UNKNOWN_REDUCED_MAX`] limits each column.
const UNKNOWN_TOTAL_MAX: usize = 10_000;
const UNKNOWN_REDUCED_MAX: usize = 5;
/// Maximum number of different columns. Each JSON object can have other ones.
const COLUMNS_MAX: usize = 1_024;

/// The columns of a file, in the order in which they are described.
#[derive(Default)]
pub(crate) struct ColumnReport {
    pub(crate) columns: Vec<ColumnUse>,
    /// Positions in `columns`, by name.
    indexes: HashMap<String, usize>,
    /// The number of different unknown values.
    unknown_count: usize,
    /// The names of the first columns in the file, used or not.
    names: Vec<String>,
    /// The same names.
    known_names: HashSet<String>,
}

impl ColumnReport {
    /// Adds the columns that are not in the report yet.
    ///
    /// # Errors
    /// [`ImportError::TooManyColumns`] for more than [`COLUMNS_MAX`] columns.
    pub(crate) fn add(&mut self, columns: &Columns) -> Result<(), ImportError> {
        let is_unnamed = !columns.has_names();
        for name in columns.outer_names() {
            if self.names.len() < COLUMNS_MAX && !self.known_names.contains(&*name) {
                self.known_names.insert(name.to_string());
                self.names.push(name.into_owned());
            }
        }
        let mut add =
            |name: &str, purpose, values: Option<ColumnValues>, preferred: Option<String>| {
                if self.indexes.contains_key(name) {
                    return;
                }
                self.indexes.insert(name.to_owned(), self.columns.len());
                self.columns.push(ColumnUse {
                    values,
                    preferred,
                    is_unnamed,
                    ..ColumnUse::new(name, purpose)
                });
            };
        add(&columns.email_name(), Purpose::Email, None, None);
        let mut preferred = None;
        for (name, _) in columns.joined_at() {
            let preferred = preferred.replace(name.to_string());
            add(&name, Purpose::JoinedAt, None, preferred);
        }
        if let Some(name) = columns.source_name() {
            let mut status = columns.status_columns();
            let status = status.find(|(other, _)| *other == name);
            let values = status.map(|(_, column)| ColumnValues::new(column));
            add(&name, Purpose::Source, values, None);
        }
        for (column, name, _) in columns.facts() {
            add(&name, column.into(), None, None);
        }
        for (name, column) in columns.status_columns() {
            let values = ColumnValues::new(column);
            add(&name, Purpose::Unsubscribed, Some(values), None);
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(ImportError::TooManyColumns { max: COLUMNS_MAX });
        }
        Ok(())
    }

    /// Adds columns of an export in JSON, whose objects need no guess.
    pub(crate) fn add_export<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) {
        let purposes = [
            Purpose::Email,
            Purpose::JoinedAt,
            Purpose::Source,
            Purpose::ConfirmedAt,
        ];
        let names: Vec<_> = names.into_iter().collect();
        let columns = EXPORT_COLUMNS.into_iter().zip(purposes);
        for (name, purpose) in columns.filter(|(name, _)| names.contains(name)) {
            if !self.indexes.contains_key(name) {
                self.indexes.insert(name.to_owned(), self.columns.len());
                self.columns.push(ColumnUse::new(name, purpose));
            }
        }
    }

    /// Records a value of a status column.
    pub(crate) fn record(&mut self, column: &str, line: u64, text: &str, meaning: Meaning) {
        let index = self.indexes.get(column).copied();
        let column = index.and_then(|at| self.columns.get_mut(at));
        if let Some(ColumnUse {
            name,
            values: Some(values),
            ..
        }) = column
        {
            let before = values.unknown.len();
            let max = if self.unknown_count < UNKNOWN_TOTAL_MAX {
                UNKNOWN_MAX
            } else {
                UNKNOWN_REDUCED_MAX
            };
            values.record(name, line, text, meaning, max);
            self.unknown_count += values.unknown.len() - before;
        }
    }

    /// Decides which columns say who has unsubscribed, and returns the unknown values. Called after the last value.
    pub(crate) fn finish(&mut self, rules: &mut ImportRules) -> Vec<UnknownValue> {
        let mut unknown = Vec::new();
        for column in &mut self.columns {
            let Some(values) = &mut column.values else {
                continue;
            };
            let has_only_links = values.has_links && values.unknown.is_empty();
            if values.kind.is_decisive()
                && !values.has_known()
                && (has_only_links || !values.is_certain)
            {
                column.purpose = Purpose::Ignored;
                rules.ignored_columns.insert(column.name.clone());
                continue;
            }
            if let Some(EmptyValues { line, people }) = values.unchecked_boxes() {
                rules.checkbox_columns.insert(column.name.clone());
                let checkbox = StatusColumn::new(0, values.kind);
                if rules.classify(&column.name, &checkbox, "") == Meaning::Unknown {
                    unknown.push(UnknownValue {
                        column: column.name.clone(),
                        text: String::new(),
                        line,
                        people,
                    });
                }
            }
            unknown.append(&mut values.unknown);
        }
        self.columns.retain(|column| {
            let values = column.values.as_ref();
            column.purpose == Purpose::Source
                || values.is_none_or(|values| values.kind.is_decisive() || values.has_known())
        });
        for column in &mut self.columns {
            column.date_order = rules.times.order(&column.name);
        }
        self.add_ignored();
        unknown.sort_by_key(|it| it.line);
        unknown
    }

    /// Adds the columns that are not used, in the order of the file.
    fn add_ignored(&mut self) {
        let used = self.columns.iter().flat_map(|column| {
            // A value inside a JSON object uses that object.
            let outer = column.name.split_once('.').map(|(outer, _)| outer);
            outer.into_iter().chain([&*column.name])
        });
        let used: HashSet<_> = used.collect();
        let ignored = self.names.iter().filter(|name| !used.contains(&***name));
        let is_unnamed = self.columns.iter().any(|column| column.is_unnamed);
        let ignored = ignored.map(|name| ColumnUse {
            is_unnamed,
            ..ColumnUse::new(name, Purpose::Ignored)
        });
        let ignored: Vec<_> = ignored.collect();
        self.columns.extend(ignored);
    }

    /// Lists the columns by which people are skipped.
    pub(crate) fn skipping_columns(&self) -> String {
        let skips = |it: &&ColumnUse| it.values.as_ref().is_some_and(|it| !it.skipped.is_empty());
        let columns = self.columns.iter().filter(skips);
        let columns: Vec<_> = columns
            .map(|it| format!("column {}", quoted(&it.name)))
            .collect();
        columns.join(", ")
    }
}
