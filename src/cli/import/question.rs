//! The questions that the owner must answer with options before anybody is imported.

use super::{survey::Survey, text::quoted};

/// The questions that nobody has answered. Columns are positions. It has no `Debug`, because a value may be an address.
#[derive(Default)]
pub(super) struct Questions {
    /// What is wrong with an option. No other answer helps.
    pub(super) mistakes: Vec<String>,
    /// No column has the addresses.
    pub(super) lacks_addresses: bool,
    /// Columns that say who has left, and their values of which no option says what they mean.
    pub(super) unlisted: Vec<(usize, Vec<String>)>,
    /// Columns in which no time can be read, and an example.
    pub(super) times: Vec<(usize, String)>,
    /// Neither a column nor an option says who has left.
    pub(super) who_has_left: bool,
    /// Columns that have no use.
    pub(super) unused: Vec<usize>,
    /// Columns that are ignored without being named. In this line, this text may say that somebody has left who would be
    /// added.
    pub(super) may_have_left: Vec<(usize, u64, String)>,
}

impl Questions {
    pub(super) fn is_empty(&self) -> bool {
        let Self {
            mistakes,
            lacks_addresses,
            unlisted,
            times,
            who_has_left,
            unused,
            may_have_left,
        } = self;
        !lacks_addresses
            && !who_has_left
            && mistakes.is_empty()
            && unlisted.is_empty()
            && times.is_empty()
            && unused.is_empty()
            && may_have_left.is_empty()
    }

    /// Returns each question, and how to answer it.
    pub(super) fn texts(&self, survey: &Survey) -> Vec<String> {
        let column = |at: &usize| quoted(&survey.columns[*at].name);
        let mut texts = self.mistakes.clone();
        if self.lacks_addresses {
            texts.push("which column has the addresses? Answer with --map email=COLUMN".to_owned());
        }
        texts.extend(self.unlisted.iter().map(|(at, values)| {
            let values: Vec<_> = values.iter().map(|it| quoted(it)).collect();
            format!(
                "what do the values {} in column {} mean? Answer with --left, --stay or --undecided COLUMN=VALUE for \
                 each",
                values.join(", "),
                column(at)
            )
        }));
        texts.extend(self.times.iter().map(|(_, example)| {
            let example = quoted(example);
            format!("how are times such as {example} written? Answer with --date-format")
        }));
        if self.who_has_left {
            texts.push(
                "has anybody in the file left, or said no to mail? Answer with --left and --stay if a column says who, \
                 otherwise with --nobody-left or --everybody-left"
                    .to_owned(),
            );
        }
        if !self.unused.is_empty() {
            texts.push(format!(
                "columns without a use: {}; answer with --ignore-rest if they do not matter",
                self.unused.len()
            ));
        }
        texts.extend(self.may_have_left.iter().map(|(at, line, text)| {
            format!(
                "line {line}: column {} says {}, but the person would be added; answer with --left and --stay if the \
                 column says who has left, otherwise with --ignore COLUMN",
                column(at),
                quoted(text)
            )
        }));
        texts
    }
}
