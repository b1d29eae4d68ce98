//! The preview of a file whose plan lacks answers: its columns, their values, and the command to complete.

use std::io::{self, Write};

use serde::Serialize;

use super::{
    options::PlanOptions,
    plan::{Plan, Use},
    proposal::Proposal,
    survey::{Column, Survey},
    text::quoted,
};

/// Maximum number of different values that are shown of a column.
const VALUES_SHOWN_MAX: usize = 12;
/// Maximum number of values that are shown although each occurs once.
const EXAMPLES_MAX: usize = 3;

/// The columns of a file, and the open questions.
#[derive(Serialize)]
pub(super) struct Preview {
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<&'static str>,
    columns: Vec<ColumnPreview>,
    pub(super) questions: Vec<String>,
    command: String,
}

#[derive(Serialize)]
struct ColumnPreview {
    name: String,
    #[serde(rename = "use")]
    used: Option<&'static str>,
    /// Whether the values are addresses, which are never printed.
    has_addresses: bool,
    /// The different values and how often each occurs, or an example.
    values: Vec<(String, u64)>,
    are_all: bool,
    filled: u64,
    empty: u64,
}

impl Preview {
    /// `fixed` are the arguments of the command that are no options of the plan.
    pub(super) fn new(
        survey: &Survey,
        plan: &Plan,
        options: &PlanOptions,
        fixed: &[String],
    ) -> Self {
        let columns = survey.columns.iter().zip(&plan.uses);
        let columns = columns.map(|(column, used)| preview_column(survey, column, used.as_ref()));
        Self {
            rows: survey.rows,
            preset: plan.preset,
            columns: columns.collect(),
            questions: plan.questions.iter().map(ToString::to_string).collect(),
            command: Proposal::new(survey, plan).command(fixed, options),
        }
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "rows: {}", self.rows)?;
        if let Some(preset) = self.preset {
            writeln!(out, "preset: {preset}")?;
        }
        for column in &self.columns {
            write!(out, "column {}", quoted(&column.name))?;
            if let Some(used) = column.used {
                write!(out, " ({used})")?;
            }
            writeln!(out, ": {}", column.describe())?;
        }
        writeln!(out, "\ncomplete this command:\n  {}", self.command)
    }
}

fn preview_column(survey: &Survey, column: &Column, used: Option<&Use>) -> ColumnPreview {
    let has_addresses = column.values.iter().any(|it| it.text.contains(['@', '＠']));
    let different = column.values.len();
    let is_repeated = (different as u64) < column.filled || different <= EXAMPLES_MAX;
    let are_all = !column.has_more && different <= VALUES_SHOWN_MAX && is_repeated;
    let count = match (has_addresses, are_all) {
        (true, _) => 0,
        (false, true) => different,
        (false, false) => 1,
    };
    let shown = column.values.iter().take(count);
    ColumnPreview {
        name: column.name.clone(),
        used: used.map(describe),
        has_addresses,
        values: shown.map(|it| (it.text.clone(), it.count)).collect(),
        are_all,
        filled: column.filled,
        empty: survey.empty(column),
    }
}

impl ColumnPreview {
    fn describe(&self) -> String {
        let mut parts = Vec::new();
        match self.values.first() {
            _ if self.filled == 0 => {}
            None if self.has_addresses => parts.push(format!("{} with an address", self.filled)),
            None => parts.push(format!("{} with a long text", self.filled)),
            Some((example, _)) if !self.are_all => {
                let example = quoted(example);
                parts.push(format!(
                    "{} with many values, such as {example}",
                    self.filled
                ));
            }
            Some(_) => {
                let values = self.values.iter();
                parts.extend(values.map(|(text, count)| format!("{count} × {}", quoted(text))));
            }
        }
        if self.empty > 0 {
            parts.push(format!("{} empty", self.empty));
        }
        parts.join("; ")
    }
}

/// Returns what a column is for.
pub(super) fn describe(used: &Use) -> &'static str {
    match used {
        Use::Map(field) => field.name(),
        Use::Decides(_) => "says who has left",
        Use::Ignored { .. } => "ignored",
    }
}
