//! Reads JSON lines: one object per line. An inner object or array is one value, its text.

use std::{collections::HashMap, io::BufRead};

use serde_json::{Map, Value};

use super::{
    error::FileError,
    row::{COLUMNS_MAX, Row},
};
use crate::cli::transfer::line_reader::{Line, TOO_LONG, next_line};

/// The keys of a backup, whose objects have one each.
const BACKUP_KEYS: [&str; 8] = [
    "backup",
    "person",
    "list_key",
    "suppressed",
    "departure",
    "message",
    "delivery",
    "end",
];

/// The objects of a file.
pub(super) struct JsonRows {
    lines: Box<dyn BufRead>,
    line: u64,
    /// The keys so far, in the order in which they came.
    columns: Vec<String>,
    indexes: HashMap<String, usize>,
}

impl JsonRows {
    pub(super) fn new(lines: Box<dyn BufRead>) -> Self {
        Self {
            lines,
            line: 0,
            columns: Vec::new(),
            indexes: HashMap::new(),
        }
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        let Some(text) = next_line(&mut self.lines)? else {
            return Ok(None);
        };
        self.line += 1;
        let cells = match text {
            Line::Text(text) if text.trim_ascii().is_empty() => Ok(Vec::new()),
            // Invalid UTF-8 matters only in values that are used.
            Line::Text(text) => match serde_json::from_str(&String::from_utf8_lossy(&text)) {
                Ok(object) => Ok(self.cells(object)?),
                Err(_) => Err("invalid JSON: each line must be one object"),
            },
            Line::TooLong => Err(TOO_LONG),
        };
        Ok(Some(Row {
            line: self.line,
            cells,
        }))
    }

    /// Returns the values in the order of the columns.
    fn cells(&mut self, object: Map<String, Value>) -> Result<Vec<String>, FileError> {
        if object.len() == 1 && BACKUP_KEYS.iter().any(|key| object.contains_key(*key)) {
            return Err(FileError::Backup { line: self.line });
        }
        let mut cells = vec![String::new(); self.columns.len()];
        for (key, value) in object {
            let at = match self.indexes.get(&key) {
                Some(at) => *at,
                None if self.columns.len() == COLUMNS_MAX => {
                    return Err(FileError::TooManyColumns { max: COLUMNS_MAX });
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
