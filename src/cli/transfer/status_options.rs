//! The owner's answers to the questions that `import` asks about a file.

use std::cell::Cell;

use super::{
    column_kind::ColumnKind,
    column_report::quoted,
    status_values::{Meaning, is_generic_value, list_items, normalize, question_parts},
};

/// The owner's answers, as options.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct StatusOptions {
    /// Import people with this status, whatever it means; COLUMN=STATUS is for one column, COLUMN=* for
    /// every value that is asked about there; can be given several times
    #[arg(long, value_name = "STATUS")]
    keep: Vec<String>,
    /// Skip people with this status; COLUMN=STATUS and COLUMN=* as for --keep; can be given several times
    #[arg(long, value_name = "STATUS")]
    skip: Vec<String>,
    /// Do not read this column; can be given several times
    #[arg(long, value_name = "COLUMN")]
    pub(crate) ignore: Vec<String>,
    /// Go on if everybody in the file has left: import nobody
    #[arg(long)]
    pub(crate) skip_all: bool,
}

/// The answers about statuses, and which of them the file has a value for.
#[derive(Default)]
pub(crate) struct StatusOverrides {
    overrides: Vec<StatusOverride>,
}

struct StatusOverride {
    /// As it was given, with its option.
    option: String,
    meaning: Meaning,
    /// To compare it with values.
    key: String,
    /// It may name a column too: to compare it with a column and its value, once for each `=` in it.
    in_columns: Vec<(String, String)>,
    is_used: Cell<bool>,
}

/// After a column, every value that is asked about.
const ANY_VALUE: &str = "*";

impl StatusOverrides {
    pub(crate) fn new(options: &StatusOptions) -> Self {
        let status = |meaning, option: &str, text: &String| StatusOverride {
            option: format!("{option} {}", quoted(text)),
            meaning,
            key: comparison_key(text),
            in_columns: text
                .match_indices('=')
                .map(|(at, _)| (comparison_key(&text[..at]), comparison_key(&text[at + 1..])))
                .collect(),
            is_used: Cell::new(false),
        };
        // Where one value is skipped and kept, it is skipped.
        let skip = options.skip.iter();
        let skip = skip.map(|text| status(Meaning::Unsubscribed, "--skip", text));
        let keep = options.keep.iter();
        let keep = keep.map(|text| status(Meaning::Subscribed, "--keep", text));
        Self {
            overrides: skip.chain(keep).collect(),
        }
    }

    /// The owner's answer for a value that `meaning` so on its own, if there is one.
    ///
    /// An answer without a column is for all columns. Only a value that is asked about can be a yes, a no, a
    /// number or a time then: `--skip no` for a consent must not skip those who are not unsubscribed.
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
        let (column, value) = (comparison_key(column), comparison_key(text));
        let is_unknown = meaning == Meaning::Unknown;
        let matches_any_column = is_unknown || !is_generic_value(text);
        let unknown_parts = if is_unknown {
            question_parts(kind, text)
        } else {
            Vec::new()
        };
        let unknown_parts: Vec<_> = unknown_parts
            .iter()
            .map(|part| comparison_key(part))
            .collect();
        let items = if kind.is_decisive() {
            Vec::new()
        } else {
            list_items(text)
        };
        let items: Vec<_> = items.iter().map(|item| comparison_key(item)).collect();
        // Every answer is looked at, because each is used.
        let matches = |status: &StatusOverride, value: &String| {
            let is_in_column = |(name, wanted): &(String, String)| {
                *name == column && (wanted == value || wanted == ANY_VALUE && is_unknown)
            };
            let is_match = matches_any_column && status.key == *value
                || status.in_columns.iter().any(is_in_column);
            status.is_used.set(status.is_used.get() || is_match);
            is_match
        };
        let count = |wanted: Meaning, value: &String| {
            let answers = self
                .overrides
                .iter()
                .filter(|status| status.meaning == wanted);
            answers.filter(|status| matches(status, value)).count()
        };
        let is_skipped = |value: &String| count(Meaning::Unsubscribed, value) > 0;
        let is_kept = |value: &String| count(Meaning::Subscribed, value) > 0;
        let skipped = std::iter::once(&value).chain(&unknown_parts).chain(&items);
        let skipped = skipped.filter(|it| is_skipped(it)).count();
        // A list is kept if everything in it that is asked about is kept.
        let kept = unknown_parts.iter().filter(|it| is_kept(it)).count();
        let is_kept = is_kept(&value) || kept > 0 && kept == unknown_parts.len();
        match (skipped, is_kept) {
            (1.., _) => Some(Meaning::Unsubscribed),
            (0, true) => Some(Meaning::Subscribed),
            (0, false) => None,
        }
    }

    /// A message about the answers that answer nothing.
    pub(crate) fn unused_message(&self) -> Option<String> {
        let unused = self.overrides.iter().filter(|it| !it.is_used.get());
        let unused: Vec<_> = unused.map(|it| &*it.option).collect();
        (!unused.is_empty()).then(|| {
            format!(
                "no value in it is answered by {}: check the spelling. To answer for a yes, a no, a number or \
                 a time, name the column too, as COLUMN=STATUS",
                unused.join(", ")
            )
        })
    }
}

/// Reduces a value or the name of a column to what is compared: its letters and digits, if it has any.
pub(crate) fn comparison_key(text: &str) -> String {
    let key = normalize(text);
    if key.is_empty() {
        return text.trim().to_owned();
    }
    key
}
