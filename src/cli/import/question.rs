//! The questions that the owner must answer with an option before anybody is imported.

use std::fmt;

use super::text::quoted;

/// Why nothing is imported without another option. It has no `Debug`, because a value may be an address.
pub(super) enum Question {
    /// An option is wrong, and no other answer helps.
    Mistake(String),
    /// No column has the addresses.
    NoAddresses,
    /// Values of a column that says who has left, of which no option says what they mean.
    Unlisted { column: String, values: Vec<String> },
    /// No time in a column can be read. Its position, and an example.
    Times { at: usize, example: String },
    /// Neither a column nor an option says who has left.
    WhoHasLeft,
    /// Columns that have no use, by their positions.
    Unused(Vec<usize>),
    /// A column that is ignored without being named may say that somebody has left who would be added.
    MayHaveLeft {
        at: usize,
        column: String,
        line: u64,
        text: String,
    },
}

/// The question, and how to answer it.
impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mistake(mistake) => f.write_str(mistake),
            Self::NoAddresses => {
                f.write_str("which column has the addresses? Answer with --map email=COLUMN")
            }
            Self::Unlisted { column, values } => {
                let values: Vec<_> = values.iter().map(|it| quoted(it)).collect();
                write!(
                    f,
                    "what do the values {} in column {} mean? Answer with --left, --stay or --undecided COLUMN=VALUE \
                     for each",
                    values.join(", "),
                    quoted(column)
                )
            }
            Self::Times { example, .. } => write!(
                f,
                "how are times such as {} written? Answer with --date-format",
                quoted(example)
            ),
            Self::WhoHasLeft => f.write_str(
                "has anybody in the file left, or said no to mail? Answer with --left and --stay if a column says who, otherwise with \
                 --nobody-left or --everybody-left",
            ),
            Self::Unused(columns) => write!(
                f,
                "columns without a use: {}; answer with --ignore-rest if they do not matter",
                columns.len()
            ),
            Self::MayHaveLeft {
                column, line, text, ..
            } => write!(
                f,
                "line {line}: column {} says {}, but the person would be added; answer with --left and --stay if the column \
                 says who has left, otherwise with --ignore COLUMN",
                quoted(column),
                quoted(text)
            ),
        }
    }
}
