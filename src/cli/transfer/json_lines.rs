//! Reads JSON lines files: one JSON object per line.

use std::io::{self, BufRead};

use serde_json::{Map, Value};

use super::{
    columns::{ColumnNames, Columns},
    line_reader::{Line, TOO_LONG, next_line},
    record::{Record, RecordContent},
    reject_reason::RejectReason,
};

/// Maximum number of values in an object, including those of inner objects.
const VALUES_MAX: usize = 1 << 10;

/// Reads the objects of a file. Columns in `ignored` are skipped.
pub(crate) fn read_json_lines(
    mut file: impl BufRead + Send,
    ignored: Vec<String>,
) -> impl Iterator<Item = io::Result<Record>> {
    let lines = std::iter::from_fn(move || next_line(&mut file).transpose());
    (1..).zip(lines).filter_map(move |(line, text)| {
        let content = match text {
            // Invalid UTF-8 matters only in values that are imported: `RecordContent::cell` rejects it there.
            Ok(Line::Text(text)) => parse_object(&String::from_utf8_lossy(&text), &ignored)?,
            Ok(Line::TooLong) => Err(RejectReason::Malformed(TOO_LONG)),
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Record { line, content }))
    })
}

/// Returns `None` for a blank line.
fn parse_object(text: &str, ignored: &[String]) -> Option<Result<RecordContent, RejectReason>> {
    if ignored.is_empty()
        && let Ok(exported) = serde_json::from_str(text)
    {
        return Some(Ok(RecordContent::Exported(exported)));
    }
    if text.trim().is_empty() {
        return None;
    }
    let parse_columns = || {
        let object: Map<String, Value> = serde_json::from_str(text)
            .map_err(|_| RejectReason::Malformed("invalid JSON: each line must be one object"))?;
        let mut flat = FlatObject::default();
        for (name, value) in &object {
            flat.names.push(name.clone());
            flat.cells.push(value_text(value));
            if is_nested(value) {
                flat.containers.push(flat.cells.len() - 1);
            }
        }
        for (name, value) in object.iter().filter(|(_, value)| is_nested(value)) {
            flat.add(name, value)?;
        }
        let names = ColumnNames {
            inner_from: object.len(),
            containers: &flat.containers,
            names: flat.names,
        };
        let columns = Columns::from_names(names, ignored);
        let columns = columns.ok_or(RejectReason::Malformed("missing \"email\""))?;
        Ok(RecordContent::Object(columns.for_json(), flat.cells))
    };
    Some(parse_columns())
}

/// An object and its inner objects, as one row.
#[derive(Default)]
struct FlatObject {
    names: Vec<String>,
    cells: Vec<String>,
    /// The cells that hold the text of an inner object. The values of that object are in other cells.
    containers: Vec<usize>,
}

impl FlatObject {
    /// Adds the values of an inner object, or of the objects in an array. Their names are paths.
    fn add(&mut self, path: &str, value: &Value) -> Result<(), RejectReason> {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    self.add(&format!("{path}.{name}"), value)?;
                }
            }
            Value::Array(values) if is_nested(value) => {
                for value in values {
                    self.add(path, value)?;
                }
            }
            value => {
                if self.cells.len() == VALUES_MAX {
                    return Err(RejectReason::Malformed(
                        "the object has more than 1024 values",
                    ));
                }
                self.names.push(path.to_owned());
                self.cells.push(value_text(value));
            }
        }
        Ok(())
    }
}

/// Whether a value is or contains an object that is not empty. An array of texts is one value.
fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(object) => !object.is_empty(),
        Value::Array(values) => values.iter().any(is_nested),
        _ => false,
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
