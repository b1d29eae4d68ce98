//! The report of `import` about the columns of a file and their use.

use std::{collections::HashMap, io};

use serde::Serialize;

use super::{
    column_kind::ColumnKind,
    columns::{Columns, StatusColumn},
    scan::ImportRules,
    status_options::comparison_key,
    status_values::{A_TIME, Meaning, may_mean_withdrawn, normalize, question_parts},
};

/// A column and its use.
#[derive(Serialize)]
pub(crate) struct ColumnUse {
    name: String,
    #[serde(rename = "use")]
    purpose: Purpose,
    /// Of a column that says who has left: some of the values of people who have, and of the others.
    #[serde(flatten)]
    values: Option<StatusValues>,
    /// Of a column of times: the one that counts before it.
    #[serde(skip)]
    preferred: Option<String>,
    /// The file has no header row.
    #[serde(skip)]
    is_unnamed: bool,
}

#[derive(Clone, Copy, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Purpose {
    Email,
    JoinedAt,
    #[serde(rename = "left")]
    Unsubscribed,
    Ignored,
}

/// The values of a column that may say who has left.
#[derive(Serialize)]
pub(crate) struct StatusValues {
    skipped: Vec<String>,
    imported: Vec<String>,
    #[serde(skip)]
    kind: ColumnKind,
    #[serde(skip)]
    is_certain: bool,
    /// Somebody has said yes.
    #[serde(skip)]
    has_yes: bool,
    #[serde(skip)]
    has_times: bool,
    #[serde(skip)]
    has_links: bool,
    #[serde(skip)]
    unknown: Vec<UnknownValue>,
    /// Where the unknown values are, by what they are compared as.
    #[serde(skip)]
    indexes: HashMap<String, usize>,
    /// The empty ones: the line of the first, and how many.
    #[serde(skip)]
    empty_values: Option<(u64, u64)>,
}

/// A value that may say that somebody has left, or that they have not.
pub(crate) struct UnknownValue {
    pub(crate) column: String,
    pub(crate) text: String,
    /// Where it first stands.
    pub(crate) line: u64,
    pub(crate) people: u64,
}

/// Maximum number of known values that are shown, and of unknown values that are counted.
const KNOWN_SHOWN_MAX: usize = 5;
const UNKNOWN_MAX: usize = 1_000;
/// After so many unknown values in all columns, only a few of each column are counted.
const UNKNOWN_TOTAL_MAX: usize = 10_000;
const UNKNOWN_REDUCED_MAX: usize = 5;
/// Maximum number of different columns. Objects of JSON can have others in each line.
const COLUMNS_MAX: usize = 1_024;

/// The columns of a file, in the order in which they are described.
#[derive(Default)]
pub(crate) struct ColumnReport {
    pub(crate) columns: Vec<ColumnUse>,
    indexes: HashMap<String, usize>,
    /// The number of different unknown values.
    unknown: usize,
}

impl ColumnReport {
    /// Adds the columns that are not there yet.
    ///
    /// # Errors
    /// A sentence for the owner when there are more than [`COLUMNS_MAX`].
    pub(crate) fn add(&mut self, columns: &Columns) -> io::Result<()> {
        let is_unnamed = !columns.has_names();
        let mut add =
            |name: &str, purpose, values: Option<StatusValues>, preferred: Option<String>| {
                if self.indexes.contains_key(name) {
                    return;
                }
                self.indexes.insert(name.to_owned(), self.columns.len());
                self.columns.push(ColumnUse {
                    name: name.to_owned(),
                    purpose,
                    values,
                    preferred,
                    is_unnamed,
                });
            };
        add(&columns.email(), Purpose::Email, None, None);
        let mut preferred = None;
        for name in columns.joined_at() {
            add(
                &name,
                Purpose::JoinedAt,
                None,
                preferred.replace(name.to_string()),
            );
        }
        for (name, column) in columns.status_columns() {
            let values = StatusValues::new(column);
            add(&name, Purpose::Unsubscribed, Some(values), None);
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(io::Error::other(format!(
                "its objects have more than {COLUMNS_MAX} different names: keep only those that import needs, \
                 as `jq -c '{{email, joined_at, status}}'` does, or leave out an inner object with --ignore"
            )));
        }
        Ok(())
    }

    /// Records a value.
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
            let max = if self.unknown < UNKNOWN_TOTAL_MAX {
                UNKNOWN_MAX
            } else {
                UNKNOWN_REDUCED_MAX
            };
            values.record(name, line, text, meaning, max);
            self.unknown += values.unknown.len() - before;
        }
    }

    /// Decides which columns say who has left, after the last value, and returns the unknown values.
    pub(crate) fn finish(&mut self, rules: &mut ImportRules) -> Vec<UnknownValue> {
        let mut unknown = Vec::new();
        for column in &mut self.columns {
            let Some(values) = &mut column.values else {
                continue;
            };
            let is_known = !values.skipped.is_empty() || !values.imported.is_empty();
            let has_only_links = values.has_links && values.unknown.is_empty();
            if values.kind.is_decisive() && !is_known && (has_only_links || !values.is_certain) {
                column.purpose = Purpose::Ignored;
                rules.ignored_columns.insert(column.name.clone());
                continue;
            }
            // Where nobody has said no, an empty box may be one.
            let has_yes = match values.kind {
                ColumnKind::Subscribed => !values.imported.is_empty(),
                _ => values.has_yes && values.unknown.is_empty(),
            };
            if let Some((line, people)) = values.empty_values
                && has_yes
                && values.skipped.is_empty()
            {
                rules.checkbox_columns.insert(column.name.clone());
                let box_column = StatusColumn::new(0, values.kind);
                if rules.classify(&column.name, &box_column, "") == Meaning::Unknown {
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
            let is_indecisive = |values: &StatusValues| !values.kind.is_decisive();
            let has_no_values =
                |values: &StatusValues| values.skipped.is_empty() && values.imported.is_empty();
            let values = column.values.as_ref();
            !values.is_some_and(|values| is_indecisive(values) && has_no_values(values))
        });
        unknown.sort_by_key(|it| it.line);
        unknown
    }

    /// The columns by which people are skipped.
    pub(crate) fn skipping_columns(&self) -> String {
        let skips = |it: &&ColumnUse| it.values.as_ref().is_some_and(|it| !it.skipped.is_empty());
        let columns = self.columns.iter().filter(skips);
        let columns: Vec<_> = columns
            .map(|it| format!("column {}", quoted(&it.name)))
            .collect();
        columns.join(", ")
    }

    /// A line about each column.
    pub(crate) fn describe(columns: &[ColumnUse]) -> Vec<String> {
        let describe = |column: &ColumnUse| {
            let name = if column.is_unnamed {
                column.name.clone()
            } else {
                quoted(&column.name)
            };
            let purpose = match (column.purpose, &column.values) {
                (Purpose::Email, _) => "addresses".to_owned(),
                (Purpose::JoinedAt, _) => match &column.preferred {
                    None => "sign-up times".to_owned(),
                    Some(preferred) => {
                        format!("sign-up times, where {} has none", quoted(preferred))
                    }
                },
                (Purpose::Ignored, Some(values)) if values.has_links => {
                    "ignored, it holds links".to_owned()
                }
                (Purpose::Ignored, _) => "ignored, it has no known status".to_owned(),
                (Purpose::Unsubscribed, values) => values
                    .as_ref()
                    .map_or_else(String::new, StatusValues::describe),
            };
            format!("column {name}: {purpose}")
        };
        columns.iter().map(describe).collect()
    }
}

impl StatusValues {
    fn new(column: &StatusColumn) -> Self {
        Self {
            skipped: Vec::new(),
            imported: Vec::new(),
            kind: column.kind,
            is_certain: column.is_certain,
            has_yes: false,
            has_times: false,
            has_links: false,
            unknown: Vec::new(),
            indexes: HashMap::new(),
            empty_values: None,
        }
    }

    fn record(&mut self, column: &str, line: u64, text: &str, meaning: Meaning, max: usize) {
        match meaning {
            Meaning::Empty if text.is_empty() => self.empty_values.get_or_insert((line, 0)).1 += 1,
            Meaning::Empty => {}
            Meaning::Link => self.has_links = true,
            Meaning::UnsubscribedAt => {
                if !self.has_times {
                    self.skipped.push(A_TIME.to_owned());
                }
                self.has_times = true;
            }
            Meaning::Unsubscribed => record(&mut self.skipped, text),
            Meaning::Subscribed => record(&mut self.imported, text),
            Meaning::Agreed => self.has_yes = true,
            Meaning::Unknown => {
                // It may be about something else, unless a value says otherwise.
                self.is_certain |= may_mean_withdrawn(self.kind, text);
                for part in question_parts(self.kind, text) {
                    self.record_unknown(column, line, &part, max);
                }
            }
        }
    }

    fn record_unknown(&mut self, column: &str, line: u64, text: &str, max: usize) {
        // Addresses differ, and are shown alike.
        let key = shorten(&comparison_key(text));
        if let Some(at) = self.indexes.get(&key) {
            self.unknown[*at].people += 1;
        } else if self.unknown.len() < max {
            self.indexes.insert(key, self.unknown.len());
            self.unknown.push(UnknownValue {
                column: column.to_owned(),
                text: shorten(text),
                line,
                people: 1,
            });
        }
    }

    fn describe(&self) -> String {
        let list = |values: &[String]| {
            let shown = |value: &String| {
                if value == A_TIME {
                    "people with a time".to_owned()
                } else {
                    quoted(value)
                }
            };
            let mut list: Vec<_> = values.iter().map(shown).collect();
            if list.len() == KNOWN_SHOWN_MAX {
                list.push("…".to_owned());
            }
            list.join(", ")
        };
        match (self.skipped.is_empty(), self.imported.is_empty()) {
            (true, true) => "skips nobody".to_owned(),
            (true, false) => format!("imports {}", list(&self.imported)),
            (false, true) => format!("skips {}", list(&self.skipped)),
            (false, false) => {
                let (skipped, imported) = (list(&self.skipped), list(&self.imported));
                format!("skips {skipped}; imports {imported}")
            }
        }
    }
}

fn record(values: &mut Vec<String>, text: &str) {
    // Most values have been seen before, as they are.
    if values.len() == KNOWN_SHOWN_MAX || values.iter().any(|value| value == text) {
        return;
    }
    if !values
        .iter()
        .any(|value| normalize(value) == normalize(text))
    {
        values.push(shorten(text));
    }
}

/// Longest text of a file that is quoted, in characters.
const QUOTED_MAX_CHARS: usize = 60;

/// Replaces a text with an address in it, because addresses are never printed.
const REDACTED: &str = "@";

/// Shortens a text and hides addresses.
fn shorten(text: &str) -> String {
    if text.contains(['@', '＠']) {
        return REDACTED.to_owned();
    }
    let mut short: String = text.chars().take(QUOTED_MAX_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Formats a text of the file for a message: short, without addresses, in one line, quoted.
pub(crate) fn quoted(text: &str) -> String {
    match &*shorten(text) {
        REDACTED => "a value with an address in it".to_owned(),
        text => format!("{text:?}"),
    }
}
