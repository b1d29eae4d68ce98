//! The report of `import` about the columns of a file and their use.

use std::{collections::HashMap, io};

use serde::Serialize;

use super::{
    column_kind::Kind,
    columns::{Columns, Departed},
    scan::Rules,
    status_options::word,
    status_values::{A_TIME, Says, asked_parts, bare, sounds_withdrawn},
};

/// A column and its use.
#[derive(Serialize)]
pub(crate) struct Use {
    name: String,
    #[serde(rename = "use")]
    purpose: Purpose,
    /// Of a column that says who has left: some of the values of people who have, and of the others.
    #[serde(flatten)]
    values: Option<Values>,
    /// Of a column of times: the one that counts before it.
    #[serde(skip)]
    before: Option<String>,
    /// The file has no header row.
    #[serde(skip)]
    is_number: bool,
}

#[derive(Clone, Copy, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Purpose {
    Email,
    JoinedAt,
    Left,
    Ignored,
}

/// The values of a column that may say who has left.
#[derive(Serialize)]
pub(crate) struct Values {
    skipped: Vec<String>,
    imported: Vec<String>,
    #[serde(skip)]
    kind: Kind,
    #[serde(skip)]
    is_sure: bool,
    /// Somebody has said yes.
    #[serde(skip)]
    is_ticked: bool,
    #[serde(skip)]
    has_times: bool,
    #[serde(skip)]
    has_links: bool,
    #[serde(skip)]
    unknown: Vec<Unknown>,
    /// Where the unknown values are, by what they are compared as.
    #[serde(skip)]
    places: HashMap<String, usize>,
    /// The empty ones: the line of the first, and how many.
    #[serde(skip)]
    boxes: Option<(u64, u64)>,
}

/// A value that may say that somebody has left, or that they have not.
pub(crate) struct Unknown {
    pub(crate) column: String,
    pub(crate) text: String,
    /// Where it first stands.
    pub(crate) line: u64,
    pub(crate) people: u64,
}

/// Maximum number of known values that are shown, and of unknown values that are counted.
const KNOWN_MAX: usize = 5;
const UNKNOWN_MAX: usize = 1_000;
/// After so many unknown values in all columns, only a few of each column are counted.
const UNKNOWN_IN_ALL_MAX: usize = 10_000;
const UNKNOWN_THEN_MAX: usize = 5;
/// Maximum number of different columns. Objects of JSON can have others in each line.
const COLUMNS_MAX: usize = 1_024;

/// The columns of a file, in the order in which they are described.
#[derive(Default)]
pub(crate) struct Uses {
    pub(crate) columns: Vec<Use>,
    places: HashMap<String, usize>,
    /// The number of different unknown values.
    unknown: usize,
}

impl Uses {
    /// Adds the columns that are not there yet.
    ///
    /// # Errors
    /// A sentence for the owner when there are more than [`COLUMNS_MAX`].
    pub(crate) fn add(&mut self, columns: &Columns) -> io::Result<()> {
        let is_number = !columns.has_names();
        let mut add = |name: &str, purpose, values: Option<Values>, before: Option<String>| {
            if self.places.contains_key(name) {
                return;
            }
            self.places.insert(name.to_owned(), self.columns.len());
            self.columns.push(Use {
                name: name.to_owned(),
                purpose,
                values,
                before,
                is_number,
            });
        };
        add(&columns.email(), Purpose::Email, None, None);
        let mut before = None;
        for name in columns.joined_at() {
            add(
                &name,
                Purpose::JoinedAt,
                None,
                before.replace(name.to_string()),
            );
        }
        for (name, column) in columns.departed() {
            let values = Values::new(column);
            add(&name, Purpose::Left, Some(values), None);
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
    pub(crate) fn note(&mut self, column: &str, line: u64, text: &str, says: Says) {
        let place = self.places.get(column).copied();
        let column = place.and_then(|at| self.columns.get_mut(at));
        if let Some(Use {
            name,
            values: Some(values),
            ..
        }) = column
        {
            let before = values.unknown.len();
            let max = if self.unknown < UNKNOWN_IN_ALL_MAX {
                UNKNOWN_MAX
            } else {
                UNKNOWN_THEN_MAX
            };
            values.note(name, line, text, says, max);
            self.unknown += values.unknown.len() - before;
        }
    }

    /// Decides which columns say who has left, after the last value, and returns the unknown values.
    pub(crate) fn settle(&mut self, rules: &mut Rules) -> Vec<Unknown> {
        let mut unknown = Vec::new();
        for column in &mut self.columns {
            let Some(values) = &mut column.values else {
                continue;
            };
            let is_known = !values.skipped.is_empty() || !values.imported.is_empty();
            let is_of_links = values.has_links && values.unknown.is_empty();
            if values.kind.decides() && !is_known && (is_of_links || !values.is_sure) {
                column.purpose = Purpose::Ignored;
                rules.not_used.insert(column.name.clone());
                continue;
            }
            // Where nobody has said no, an empty box may be one.
            let is_ticked = match values.kind {
                Kind::Stayed => !values.imported.is_empty(),
                _ => values.is_ticked && values.unknown.is_empty(),
            };
            if let Some((line, people)) = values.boxes
                && is_ticked
                && values.skipped.is_empty()
            {
                rules.with_boxes.insert(column.name.clone());
                let box_column = Departed::new(0, values.kind);
                if rules.says(&column.name, &box_column, "") == Says::Unknown {
                    unknown.push(Unknown {
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
            let is_other = |values: &Values| !values.kind.decides();
            let is_silent =
                |values: &Values| values.skipped.is_empty() && values.imported.is_empty();
            let values = column.values.as_ref();
            !values.is_some_and(|values| is_other(values) && is_silent(values))
        });
        unknown.sort_by_key(|it| it.line);
        unknown
    }

    /// The columns by which people are skipped.
    pub(crate) fn that_skip(&self) -> String {
        let skips = |it: &&Use| it.values.as_ref().is_some_and(|it| !it.skipped.is_empty());
        let columns = self.columns.iter().filter(skips);
        let columns: Vec<_> = columns
            .map(|it| format!("column {}", shown(&it.name)))
            .collect();
        columns.join(", ")
    }

    /// A line about each column.
    pub(crate) fn describe(columns: &[Use]) -> Vec<String> {
        let describe = |column: &Use| {
            let name = if column.is_number {
                column.name.clone()
            } else {
                shown(&column.name)
            };
            let purpose = match (column.purpose, &column.values) {
                (Purpose::Email, _) => "addresses".to_owned(),
                (Purpose::JoinedAt, _) => match &column.before {
                    None => "sign-up times".to_owned(),
                    Some(before) => format!("sign-up times, where {} has none", shown(before)),
                },
                (Purpose::Ignored, Some(values)) if values.has_links => {
                    "ignored, it holds links".to_owned()
                }
                (Purpose::Ignored, _) => "ignored, it has no known status".to_owned(),
                (Purpose::Left, values) => {
                    values.as_ref().map_or_else(String::new, Values::describe)
                }
            };
            format!("column {name}: {purpose}")
        };
        columns.iter().map(describe).collect()
    }
}

impl Values {
    fn new(column: &Departed) -> Self {
        Self {
            skipped: Vec::new(),
            imported: Vec::new(),
            kind: column.kind,
            is_sure: column.is_sure,
            is_ticked: false,
            has_times: false,
            has_links: false,
            unknown: Vec::new(),
            places: HashMap::new(),
            boxes: None,
        }
    }

    fn note(&mut self, column: &str, line: u64, text: &str, says: Says, max: usize) {
        match says {
            Says::Nothing if text.is_empty() => self.boxes.get_or_insert((line, 0)).1 += 1,
            Says::Nothing => {}
            Says::Link => self.has_links = true,
            Says::LeftAt => {
                if !self.has_times {
                    self.skipped.push(A_TIME.to_owned());
                }
                self.has_times = true;
            }
            Says::Left => note(&mut self.skipped, text),
            Says::Stayed => note(&mut self.imported, text),
            Says::Ticked => self.is_ticked = true,
            Says::Unknown => {
                // It may be about something else, unless a value says otherwise.
                self.is_sure |= sounds_withdrawn(self.kind, text);
                for part in asked_parts(self.kind, text) {
                    self.note_unknown(column, line, &part, max);
                }
            }
        }
    }

    fn note_unknown(&mut self, column: &str, line: u64, text: &str, max: usize) {
        // Addresses differ, and are shown alike.
        let word = short(&word(text));
        if let Some(at) = self.places.get(&word) {
            self.unknown[*at].people += 1;
        } else if self.unknown.len() < max {
            self.places.insert(word, self.unknown.len());
            self.unknown.push(Unknown {
                column: column.to_owned(),
                text: short(text),
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
                    shown(value)
                }
            };
            let mut list: Vec<_> = values.iter().map(shown).collect();
            if list.len() == KNOWN_MAX {
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

fn note(values: &mut Vec<String>, text: &str) {
    // Most values have been seen before, as they are.
    if values.len() == KNOWN_MAX || values.iter().any(|value| value == text) {
        return;
    }
    if !values.iter().any(|value| bare(value) == bare(text)) {
        values.push(short(text));
    }
}

/// Longest text of a file that is quoted, in characters.
const SHOWN_MAX: usize = 60;

/// Replaces a text with an address in it, because addresses are never printed.
const ADDRESS: &str = "@";

/// Shortens a text and hides addresses.
fn short(text: &str) -> String {
    if text.contains(['@', '＠']) {
        return ADDRESS.to_owned();
    }
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Formats a text of the file for a message: short, without addresses, in one line, quoted.
pub(crate) fn shown(text: &str) -> String {
    match &*short(text) {
        ADDRESS => "a value with an address in it".to_owned(),
        text => format!("{text:?}"),
    }
}
