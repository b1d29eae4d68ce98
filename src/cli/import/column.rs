//! A column of a file: its values, and how often each occurs.

use std::collections::{HashMap, hash_map::Entry};

use super::{text::fold, times::means_no_time};

/// Maximum number of different values that are kept of a column. Columns that say who has left have fewer.
const VALUES_MAX: usize = 100;

/// A column, before anybody knows what it means.
#[derive(Default)]
pub(super) struct Column {
    pub(super) name: String,
    /// The different values that are not empty, in the order of the file. Values that differ in case are the same.
    pub(super) values: Vec<Value>,
    /// Where each of them is, by the form in which values are compared.
    pub(super) indexes: HashMap<String, usize>,
    /// Whether the column has more of them.
    pub(super) has_more: bool,
    /// Number of cells that are not empty.
    pub(super) filled: u64,
    /// Number of cells that are empty.
    pub(super) empty: u64,
}

/// A value of a column.
pub(super) struct Value {
    pub(super) text: String,
    pub(super) count: u64,
}

impl Column {
    /// Looks at the cell of a row. Empty ones are counted elsewhere, because a row may lack them.
    pub(super) fn add(&mut self, cell: &str) {
        let text = cell.trim();
        if text.is_empty() {
            return;
        }
        self.filled += 1;
        let different = self.values.len();
        match self.indexes.entry(fold(text)) {
            Entry::Occupied(index) => self.values[*index.get()].count += 1,
            Entry::Vacant(_) if different == VALUES_MAX => self.has_more = true,
            Entry::Vacant(index) => {
                index.insert(different);
                self.values.push(Value {
                    text: text.to_owned(),
                    count: 1,
                });
            }
        }
    }

    /// Returns the values. The last one is empty if a cell is.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let empty = (self.empty > 0).then_some("");
        self.values.iter().map(|it| &*it.text).chain(empty)
    }

    /// Returns the values of a column of times that are not placeholders.
    pub(super) fn times(&self) -> impl Iterator<Item = &str> + Clone {
        let texts = self.values.iter().map(|it| it.text.as_str());
        texts.filter(|it| !means_no_time(it))
    }
}
