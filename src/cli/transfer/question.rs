//! The questions that the owner must answer with an option before anybody is imported.

use std::fmt;

use thiserror::Error;

use super::{column_values::UnknownValue, text::quoted};

/// Why nothing is imported without another option.
#[derive(Debug, Error)]
pub(crate) enum Question {
    #[error("there is no column {}; check the spelling of --ignore", quoted(.0))]
    MissingColumn(String),
    #[error(
        "this is a second header row, so the columns below it may differ; split the file there, and import both \
         parts"
    )]
    SecondHeader { line: u64 },
    #[error(
        "no value in the file matches {options}; check the spelling; to match a yes, a no, a number or a \
         time, name the column too, as in COLUMN=STATUS"
    )]
    UnusedOptions { options: String },
    #[error("{}", UnknownValues(.0))]
    UnknownValues(Vec<UnknownValue>),
    #[error(
        "everybody in the file would be skipped because of {columns} ({}); if they have unsubscribed, add \
         --skip-all; otherwise import them with --ignore COLUMN, or with --keep STATUS if the reason is a word \
         such as \"inactive\"",
        people(*.skipped)
    )]
    AllSkipped { skipped: u64, columns: String },
}

/// Maximum number of unknown values that are shown.
const UNKNOWN_SHOWN_MAX: usize = 10;

struct UnknownValues<'a>(&'a [UnknownValue]);

impl fmt::Display for UnknownValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "these values may mean that people have unsubscribed:")?;
        for value in self.0.iter().take(UNKNOWN_SHOWN_MAX) {
            writeln!(
                f,
                "  line {}: column {} says {} ({})",
                value.line,
                quoted(&value.column),
                quoted(&value.text),
                people(value.people)
            )?;
        }
        if let Some(more @ 1..) = self.0.len().checked_sub(UNKNOWN_SHOWN_MAX) {
            writeln!(f, "  and {more} more")?;
        }
        f.write_str(
            "for each value, import the people with --keep STATUS, or skip them with --skip STATUS; for one \
             column only, write COLUMN=STATUS, or COLUMN=* for all of its values above; to import people \
             whatever a column says, add --ignore COLUMN",
        )
    }
}

impl Question {
    /// Returns the line that the question is about, if it is about one.
    pub(crate) fn line(&self) -> Option<u64> {
        match self {
            Self::SecondHeader { line } => Some(*line),
            Self::MissingColumn(_)
            | Self::UnusedOptions { .. }
            | Self::UnknownValues(_)
            | Self::AllSkipped { .. } => None,
        }
    }
}

fn people(count: u64) -> String {
    let noun = if count == 1 { "person" } else { "people" };
    format!("{count} {noun}")
}
