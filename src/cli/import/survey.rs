//! What a file has: its columns, the values of each, and how often each occurs.

use std::collections::HashMap;

use super::{
    table::{FileKind, Table},
    text::fold,
    times::means_no_time,
};

/// Maximum number of different values that are kept of a column. Columns that say who has left have fewer.
const VALUES_MAX: usize = 100;
/// Maximum length of such a value, in bytes.
const VALUE_MAX_BYTES: usize = 256;

/// A file, before anybody knows what its columns mean.
pub(super) struct Survey {
    pub(super) kind: FileKind,
    pub(super) columns: Vec<Column>,
    /// Number of rows, without those that cannot be read.
    pub(super) rows: u64,
}

/// A column, and what it has.
pub(super) struct Column {
    pub(super) name: String,
    /// The different values that are not empty, in the order of the file. Values that differ in case are the same.
    pub(super) values: Vec<Value>,
    /// Whether the column has other values too: more of them, or longer ones.
    pub(super) has_more: bool,
    /// Number of cells that are not empty.
    pub(super) filled: u64,
    indexes: HashMap<String, usize>,
}

/// A value of a column.
pub(super) struct Value {
    pub(super) text: String,
    pub(super) count: u64,
}

impl Survey {
    /// Looks at a whole file.
    pub(super) fn new(table: &Table) -> Self {
        let columns = table.columns.iter().map(|name| Column {
            name: name.clone(),
            values: Vec::new(),
            has_more: false,
            filled: 0,
            indexes: HashMap::new(),
        });
        let mut columns: Vec<_> = columns.collect();
        let mut rows = 0;
        for cells in table.rows.iter().filter_map(|row| row.cells.as_ref().ok()) {
            rows += 1;
            for (column, cell) in columns.iter_mut().zip(cells) {
                column.add(cell);
            }
        }
        Self {
            kind: table.kind,
            columns,
            rows,
        }
    }

    /// Returns the number of cells of a column that are empty.
    pub(super) fn empty(&self, column: &Column) -> u64 {
        self.rows - column.filled
    }

    /// Returns the values of a column. The last one is empty if a cell is.
    pub(super) fn values<'a>(&self, column: &'a Column) -> impl Iterator<Item = &'a str> + use<'a> {
        let empty = (self.empty(column) > 0).then_some("");
        let values = column.values.iter().map(|it| it.text.as_str());
        values.chain(empty)
    }

    /// Returns the position of a column by its name, in any case. An exact name comes first.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|it| it.name == name.trim());
        let folded = fold(name);
        exact.or_else(|| self.columns.iter().position(|it| fold(&it.name) == folded))
    }
}

impl Column {
    /// Returns the values of a column of times that are not placeholders.
    pub(super) fn times(&self) -> impl Iterator<Item = &str> + Clone {
        let texts = self.values.iter().map(|it| it.text.as_str());
        texts.filter(|it| !means_no_time(it))
    }

    fn add(&mut self, cell: &str) {
        let text = cell.trim();
        if text.is_empty() {
            return;
        }
        self.filled += 1;
        if self.has_more && self.values.len() == VALUES_MAX {
            // Such as a column of addresses.
            return;
        }
        if text.len() > VALUE_MAX_BYTES {
            self.has_more = true;
            return;
        }
        let key = fold(text);
        if let Some(at) = self.indexes.get(&key) {
            self.values[*at].count += 1;
        } else if self.values.len() == VALUES_MAX {
            self.has_more = true;
        } else {
            self.indexes.insert(key, self.values.len());
            self.values.push(Value {
                text: text.to_owned(),
                count: 1,
            });
        }
    }
}
