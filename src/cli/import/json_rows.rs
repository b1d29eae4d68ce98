//! Reads JSON lines: one object per line. An inner object or array is one value, its text.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::row::{Lines, Row};

/// Maximum number of columns. Each object can have other ones.
const COLUMNS_MAX: usize = 1_024;

/// The objects of a text.
pub(super) struct JsonRows<'a> {
    lines: Lines<'a>,
    /// The keys so far, in the order in which they came.
    columns: Vec<String>,
    indexes: HashMap<String, usize>,
}

impl<'a> JsonRows<'a> {
    pub(super) fn new(lines: Lines<'a>) -> Self {
        Self {
            lines,
            columns: Vec::new(),
            indexes: HashMap::new(),
        }
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn next_row(&mut self) -> Option<Row> {
        let (line, text) = self.lines.find(|(_, text)| !text.trim().is_empty())?;
        let cells = match serde_json::from_str(text) {
            Ok(object) => self.cells(object),
            Err(_) => Err("invalid JSON: each line must be one object"),
        };
        Some(Row { line, cells })
    }

    /// Returns the values in the order of the columns.
    fn cells(&mut self, object: Map<String, Value>) -> Result<Vec<String>, &'static str> {
        let mut cells = vec![String::new(); self.columns.len()];
        for (key, value) in object {
            let at = match self.indexes.get(&key) {
                Some(at) => *at,
                None if self.columns.len() == COLUMNS_MAX => {
                    return Err(
                        "the objects have more than 1024 different keys; keep only those that the import needs, for \
                         example with `jq -c '{email, joined_at, status}'`",
                    );
                }
                None => {
                    self.indexes.insert(key.clone(), self.columns.len());
                    self.columns.push(key);
                    cells.push(String::new());
                    cells.len() - 1
                }
            };
            cells[at] = match value {
                Value::Null => String::new(),
                Value::String(text) => text,
                other => other.to_string(),
            };
        }
        Ok(cells)
    }
}
