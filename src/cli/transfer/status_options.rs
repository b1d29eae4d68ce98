//! The owner's answers to the questions that `import` asks about a file.

use std::cell::Cell;

use super::{
    column_kind::Kind,
    column_report::shown,
    status_values::{Says, asked_parts, bare, is_plain, items},
};

/// The owner's answers, as options.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct Answers {
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
pub(crate) struct Statuses {
    answers: Vec<Status>,
}

struct Status {
    /// As it was given, with its option.
    option: String,
    says: Says,
    /// To compare it with values.
    word: String,
    /// It may name a column too: to compare it with a column and its value, once for each `=` in it.
    in_columns: Vec<(String, String)>,
    is_used: Cell<bool>,
}

/// After a column, every value that is asked about.
const EVERY: &str = "*";

impl Statuses {
    pub(crate) fn new(answers: &Answers) -> Self {
        let status = |says, option: &str, text: &String| Status {
            option: format!("{option} {}", shown(text)),
            says,
            word: word(text),
            in_columns: text
                .match_indices('=')
                .map(|(at, _)| (word(&text[..at]), word(&text[at + 1..])))
                .collect(),
            is_used: Cell::new(false),
        };
        // Where one value is skipped and kept, it is skipped.
        let skip = answers.skip.iter();
        let skip = skip.map(|text| status(Says::Left, "--skip", text));
        let keep = answers.keep.iter();
        let keep = keep.map(|text| status(Says::Stayed, "--keep", text));
        Self {
            answers: skip.chain(keep).collect(),
        }
    }

    /// The owner's answer for a value that `says` so on its own, if there is one.
    ///
    /// An answer without a column is for all columns. Only a value that is asked about can be a yes, a no, a
    /// number or a time then: `--skip no` for a consent must not skip those who are not unsubscribed.
    pub(crate) fn find(&self, column: &str, kind: Kind, text: &str, says: Says) -> Option<Says> {
        if self.answers.is_empty() {
            return None;
        }
        let (column, value) = (word(column), word(text));
        let is_asked = says == Says::Unknown;
        let is_free = is_asked || !is_plain(text);
        let asked = if is_asked {
            asked_parts(kind, text)
        } else {
            Vec::new()
        };
        let asked: Vec<_> = asked.iter().map(|part| word(part)).collect();
        let items = if kind.decides() {
            Vec::new()
        } else {
            items(text)
        };
        let items: Vec<_> = items.iter().map(|item| word(item)).collect();
        // Every answer is looked at, because each is used.
        let matches = |status: &Status, value: &String| {
            let is_here = |(name, wanted): &(String, String)| {
                *name == column && (wanted == value || wanted == EVERY && is_asked)
            };
            let is_match =
                is_free && status.word == *value || status.in_columns.iter().any(is_here);
            status.is_used.set(status.is_used.get() || is_match);
            is_match
        };
        let count = |wanted: Says, value: &String| {
            let answers = self.answers.iter().filter(|status| status.says == wanted);
            answers.filter(|status| matches(status, value)).count()
        };
        let is_skipped = |value: &String| count(Says::Left, value) > 0;
        let is_kept = |value: &String| count(Says::Stayed, value) > 0;
        let skipped = std::iter::once(&value).chain(&asked).chain(&items);
        let skipped = skipped.filter(|it| is_skipped(it)).count();
        // A list is kept if everything in it that is asked about is kept.
        let kept = asked.iter().filter(|it| is_kept(it)).count();
        let is_kept = is_kept(&value) || kept > 0 && kept == asked.len();
        match (skipped, is_kept) {
            (1.., _) => Some(Says::Left),
            (0, true) => Some(Says::Stayed),
            (0, false) => None,
        }
    }

    /// A message about the answers that answer nothing.
    pub(crate) fn unused(&self) -> Option<String> {
        let unused = self.answers.iter().filter(|it| !it.is_used.get());
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
pub(crate) fn word(text: &str) -> String {
    let word = bare(text);
    if word.is_empty() {
        return text.trim().to_owned();
    }
    word
}
