//! Reads JSON lines: one object per line. An inner object or array is one value, its text.

use std::{
    collections::HashMap,
    io::{BufRead, Split},
};

use serde_json::{Map, Value};

use super::{
    error::FileError,
    row::{COLUMNS_MAX, Row},
};
/// The objects of a file.
pub(super) struct JsonRows {
    lines: Split<Box<dyn BufRead>>,
    line: u64,
    /// The keys so far, in the order in which they came.
    columns: Vec<String>,
    indexes: HashMap<String, usize>,
}

impl JsonRows {
    pub(super) fn new(file: Box<dyn BufRead>) -> Self {
        Self {
            lines: file.split(b'\n'),
            line: 0,
            columns: Vec::new(),
            indexes: HashMap::new(),
        }
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(super) fn next_row(&mut self) -> Result<Option<Row>, FileError> {
        let Some(text) = self.lines.next().transpose()? else {
            return Ok(None);
        };
        self.line += 1;
        let cells = match text.trim_ascii() {
            b"" => Ok(Vec::new()),
            // Invalid UTF-8 matters only in values that are used.
            text => match serde_json::from_str(&String::from_utf8_lossy(text)) {
                Ok(object) => Ok(self.cells(object)?),
                Err(_) => Err("invalid JSON: each line must be one object"),
            },
        };
        Ok(Some(Row {
            line: self.line,
            cells,
        }))
    }

    /// Returns the values in the order of the columns.
    fn cells(&mut self, object: Map<String, Value>) -> Result<Vec<String>, FileError> {
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
