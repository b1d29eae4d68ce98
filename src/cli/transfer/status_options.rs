//! The options by which the owner says what a status means.

use std::cell::Cell;

use super::{
    column_kind::ColumnKind,
    status_values::{Meaning, is_generic_value, list_items, question_parts},
    text::{comparison_key, quoted},
};

/// The options, as given.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct StatusOptions {
    /// Import people with this status, whatever it means. COLUMN=STATUS applies to one column, COLUMN=* to
    /// every value in it that `import` asks about. Can be repeated
    #[arg(long, value_name = "STATUS")]
    keep: Vec<String>,
    /// Skip people with this status. COLUMN=STATUS and COLUMN=* work as for --keep. Can be repeated
    #[arg(long, value_name = "STATUS")]
    skip: Vec<String>,
    /// Do not read this column. Can be repeated
    #[arg(long, value_name = "COLUMN")]
    pub(crate) ignore: Vec<String>,
    /// Accept that everybody in the file has unsubscribed, and import nobody
    #[arg(long)]
    pub(crate) skip_all: bool,
}

/// The options `--keep` and `--skip`, and whether the file has a value for each.
#[derive(Default)]
pub(crate) struct StatusOverrides {
    overrides: Vec<StatusOverride>,
}

struct StatusOverride {
    /// The option and its value, for messages.
    option: String,
    meaning: Meaning,
    /// The comparison key of the whole value.
    key: String,
    /// The comparison keys of a column and a value, once for each `=` in the option's value.
    in_columns: Vec<(String, String)>,
    is_used: Cell<bool>,
}

/// After a column, matches every value that `import` asks about.
const ANY_VALUE: &str = "*";

/// A value of a status column.
struct StatusValue {
    /// The comparison key of the column.
    column: String,
    /// Whether `import` would ask about the value.
    is_unknown: bool,
    /// Whether an option without a column can match.
    matches_any_column: bool,
}

impl StatusOverride {
    fn new(option: &str, meaning: Meaning, text: &str) -> Self {
        Self {
            option: format!("{option} {}", quoted(text)),
            meaning,
            key: comparison_key(text),
            in_columns: text
                .match_indices('=')
                .map(|(at, _)| (comparison_key(&text[..at]), comparison_key(&text[at + 1..])))
                .collect(),
            is_used: Cell::new(false),
        }
    }

    /// Whether this option names the value, or a part of it, by its comparison key. Then it counts as used.
    fn matches(&self, value: &StatusValue, key: &str) -> bool {
        let names_column = |(column, wanted): &(String, String)| {
            *column == value.column && (wanted == key || wanted == ANY_VALUE && value.is_unknown)
        };
        let is_match =
            value.matches_any_column && self.key == key || self.in_columns.iter().any(names_column);
        self.is_used.set(self.is_used.get() || is_match);
        is_match
    }
}

impl StatusOverrides {
    pub(crate) fn new(options: &StatusOptions) -> Self {
        let skip = options.skip.iter();
        let skip = skip.map(|text| StatusOverride::new("--skip", Meaning::Unsubscribed, text));
        let keep = options.keep.iter();
        let keep = keep.map(|text| StatusOverride::new("--keep", Meaning::Subscribed, text));
        Self {
            overrides: skip.chain(keep).collect(),
        }
    }

    /// Returns the meaning that the options give to a value. `meaning` is its meaning without them. A value that is
    /// both kept and skipped is skipped.
    ///
    /// An option without a column applies to all columns. It matches a yes, a no, a number or a time only if
    /// `import` asks about that value: `--skip no` for one column must not skip people by a "no" in another.
    pub(crate) fn resolve(
        &self,
        column: &str,
        kind: ColumnKind,
        text: &str,
        meaning: Meaning,
    ) -> Option<Meaning> {
        if self.overrides.is_empty() {
            return None;
        }
        let is_unknown = meaning == Meaning::Unknown;
        let value = StatusValue {
            column: comparison_key(column),
            is_unknown,
            matches_any_column: is_unknown || !is_generic_value(text),
        };
        let whole = comparison_key(text);
        let keys = |parts: Vec<String>| -> Vec<String> {
            parts.iter().map(|part| comparison_key(part)).collect()
        };
        let questioned = keys(if is_unknown {
            question_parts(kind, text)
        } else {
            Vec::new()
        });
        let items = keys(if kind.is_decisive() {
            Vec::new()
        } else {
            list_items(text)
        });

        // `has` and `count` visit every option and every part, so that each matching option counts as used.
        let has = |wanted: Meaning, key: &String| {
            let options = self.overrides.iter().filter(|it| it.meaning == wanted);
            options.filter(|it| it.matches(&value, key)).count() > 0
        };
        let is_skipped = |key: &&String| has(Meaning::Unsubscribed, key);
        let parts = [&whole].into_iter().chain(&questioned).chain(&items);
        let skipped = parts.filter(is_skipped).count();
        let is_kept = |key: &&String| has(Meaning::Subscribed, key);
        let kept = questioned.iter().filter(is_kept).count();
        // A list is kept if each of its items that `import` asks about is kept.
        let is_kept = is_kept(&&whole) || kept > 0 && kept == questioned.len();
        match (skipped, is_kept) {
            (1.., _) => Some(Meaning::Unsubscribed),
            (0, true) => Some(Meaning::Subscribed),
            (0, false) => None,
        }
    }

    /// Lists the options that match no value in the file, if there are any.
    pub(crate) fn unused_options(&self) -> Option<String> {
        let unused = self.overrides.iter().filter(|it| !it.is_used.get());
        let unused: Vec<_> = unused.map(|it| &*it.option).collect();
        (!unused.is_empty()).then(|| unused.join(", "))
    }
}
