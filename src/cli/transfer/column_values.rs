//! Collects the values of a column that may say who has unsubscribed.

use std::collections::HashMap;

use serde::Serialize;

use super::{
    column_kind::{ColumnKind, StatusColumn},
    status_values::{A_TIME, Meaning, may_mean_withdrawn, question_parts},
    text::{comparison_key, normalize, quoted, shorten},
};

/// Maximum number of known values that are shown.
const KNOWN_SHOWN_MAX: usize = 5;

/// The values of a status column.
#[derive(Serialize)]
pub(crate) struct ColumnValues {
    /// Some of the values by which people are skipped.
    pub(super) skipped: Vec<String>,
    /// Some of the values by which people are imported.
    pub(super) imported: Vec<String>,
    #[serde(skip)]
    pub(super) kind: ColumnKind,
    /// Whether the column is used even without a known value.
    #[serde(skip)]
    pub(super) is_certain: bool,
    #[serde(skip)]
    has_yes: bool,
    #[serde(skip)]
    has_times: bool,
    #[serde(skip)]
    pub(super) has_links: bool,
    #[serde(skip)]
    pub(super) unknown: Vec<UnknownValue>,
    /// Positions in `unknown`, by comparison key.
    #[serde(skip)]
    indexes: HashMap<String, usize>,
    #[serde(skip)]
    empty: Option<EmptyValues>,
}

/// A value that may mean "unsubscribed", or may not.
#[derive(Debug)]
pub(crate) struct UnknownValue {
    pub(crate) column: String,
    pub(crate) text: String,
    /// The line of the first one.
    pub(crate) line: u64,
    pub(crate) people: u64,
}

/// The empty cells of a column.
#[derive(Clone, Copy)]
pub(super) struct EmptyValues {
    /// The line of the first one.
    pub(super) line: u64,
    pub(super) people: u64,
}

impl ColumnValues {
    pub(super) fn new(column: &StatusColumn) -> Self {
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
            empty: None,
        }
    }

    /// Records a value. Counts at most `unknown_max` different unknown values.
    pub(super) fn record(
        &mut self,
        column: &str,
        line: u64,
        text: &str,
        meaning: Meaning,
        unknown_max: usize,
    ) {
        match meaning {
            Meaning::Empty if text.is_empty() => {
                let first = EmptyValues { line, people: 0 };
                self.empty.get_or_insert(first).people += 1;
            }
            Meaning::Empty => {}
            Meaning::Link => self.has_links = true,
            Meaning::UnsubscribedAt => {
                if !self.has_times {
                    self.skipped.push(A_TIME.to_owned());
                }
                self.has_times = true;
            }
            Meaning::Unsubscribed => add_known(&mut self.skipped, text),
            Meaning::Subscribed => add_known(&mut self.imported, text),
            Meaning::Agreed => self.has_yes = true,
            Meaning::Unknown => {
                self.is_certain |= may_mean_withdrawn(self.kind, text);
                for part in question_parts(self.kind, text) {
                    self.add_unknown(column, line, &part, unknown_max);
                }
            }
        }
    }

    fn add_unknown(&mut self, column: &str, line: u64, text: &str, max: usize) {
        // `shorten` hides addresses, so all addresses count as one value.
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

    /// Whether a value with a known meaning was found.
    pub(super) fn has_known(&self) -> bool {
        !self.skipped.is_empty() || !self.imported.is_empty()
    }

    /// Returns the empty cells if they may mean "no": if other cells mean "yes" and none means "no".
    pub(super) fn unchecked_boxes(&self) -> Option<EmptyValues> {
        let has_yes = match self.kind {
            ColumnKind::Subscribed => !self.imported.is_empty(),
            _ => self.has_yes && self.unknown.is_empty(),
        };
        self.empty.filter(|_| has_yes && self.skipped.is_empty())
    }

    /// Describes which values skip people and which import them.
    pub(super) fn describe(&self) -> String {
        let enumerate = |values: &[String]| {
            let shown = |value: &String| {
                if value == A_TIME {
                    "people with a time".to_owned()
                } else {
                    quoted(value)
                }
            };
            let mut items: Vec<_> = values.iter().map(shown).collect();
            if items.len() == KNOWN_SHOWN_MAX {
                items.push("…".to_owned());
            }
            items.join(", ")
        };
        let (skipped, imported) = (enumerate(&self.skipped), enumerate(&self.imported));
        match (self.skipped.is_empty(), self.imported.is_empty()) {
            (true, true) => "skips nobody".to_owned(),
            (true, false) => format!("imports {imported}"),
            (false, true) => format!("skips {skipped}"),
            (false, false) => format!("skips {skipped}; imports {imported}"),
        }
    }
}

/// Adds a value to those that are shown.
fn add_known(values: &mut Vec<String>, text: &str) {
    // The exact comparison is faster, and most values were seen before.
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
