//! A column of a file and what `import` uses it for, as the report shows it.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    column_names::FactColumn, column_values::ColumnValues, text::quoted, time_columns::DateOrder,
};

/// A column and its use.
#[derive(Serialize)]
pub(crate) struct ColumnUse {
    pub(super) name: String,
    #[serde(rename = "use")]
    pub(super) purpose: Purpose,
    /// The values of a status column.
    #[serde(flatten)]
    pub(super) values: Option<ColumnValues>,
    /// For a column of sign-up times: the order of its dates, if it has dates such as `25/11/2026`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) date_order: Option<DateOrder>,
    /// For a column of sign-up times: the column that is read first.
    #[serde(skip)]
    pub(super) preferred: Option<String>,
    /// The file has no header row.
    #[serde(skip)]
    pub(super) is_unnamed: bool,
}

#[derive(Clone, Copy, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    Email,
    JoinedAt,
    Source,
    ConfirmedAt,
    AskedAt,
    #[serde(rename = "left")]
    Unsubscribed,
    Ignored,
}

impl From<FactColumn> for Purpose {
    fn from(column: FactColumn) -> Self {
        match column {
            FactColumn::ConfirmedAt => Self::ConfirmedAt,
            FactColumn::AskedAt => Self::AskedAt,
        }
    }
}

/// Maximum number of ignored columns that are shown.
const IGNORED_SHOWN_MAX: usize = 100;

/// Describes the columns, one per line, and then the ignored ones in one line.
pub(crate) fn write_columns(columns: &[ColumnUse], out: &mut dyn Write) -> io::Result<()> {
    let (ignored, used): (Vec<_>, Vec<_>) = columns.iter().partition(|it| it.is_unused());
    for column in used {
        writeln!(out, "{}", column.describe())?;
    }
    let shown = ignored.iter().take(IGNORED_SHOWN_MAX);
    let shown: Vec<_> = shown.map(|column| column.ignored_name()).collect();
    match ignored.len() - shown.len() {
        _ if shown.is_empty() => Ok(()),
        0 => writeln!(out, "ignored: {}", shown.join(", ")),
        more => writeln!(out, "ignored: {}, and {more} more", shown.join(", ")),
    }
}

impl ColumnUse {
    pub(super) fn new(name: &str, purpose: Purpose) -> Self {
        Self {
            name: name.to_owned(),
            purpose,
            values: None,
            date_order: None,
            preferred: None,
            is_unnamed: false,
        }
    }

    /// Whether the column is not used, and nothing in its name suggested a use.
    fn is_unused(&self) -> bool {
        self.purpose == Purpose::Ignored && self.values.is_none()
    }

    fn ignored_name(&self) -> String {
        if self.is_unnamed {
            format!("column {}", self.name)
        } else {
            quoted(&self.name)
        }
    }

    /// Describes the column in one line.
    fn describe(&self) -> String {
        let name = if self.is_unnamed {
            self.name.clone()
        } else {
            quoted(&self.name)
        };
        let order = match self.date_order {
            None => "",
            Some(DateOrder::DayFirst) => " (day/month/year)",
            Some(DateOrder::MonthFirst) => " (month/day/year)",
        };
        let purpose = match (self.purpose, &self.values) {
            (Purpose::Email, _) => "addresses".to_owned(),
            (Purpose::JoinedAt, _) => match &self.preferred {
                None => format!("sign-up times{order}"),
                Some(preferred) => {
                    format!("sign-up times{order} where {} is empty", quoted(preferred))
                }
            },
            (Purpose::Source, _) => "sources".to_owned(),
            (Purpose::ConfirmedAt, _) => "times of confirmations".to_owned(),
            (Purpose::AskedAt, _) => "times of the promise to ask for a confirmation".to_owned(),
            (Purpose::Ignored, Some(values)) if values.has_links => {
                "ignored: contains links".to_owned()
            }
            (Purpose::Ignored, _) => "ignored: contains no known status".to_owned(),
            (Purpose::Unsubscribed, values) => values
                .as_ref()
                .map_or_else(String::new, ColumnValues::describe),
        };
        format!("column {name}: {purpose}")
    }
}
