//! The preview of a file whose plan lacks answers: its columns, their values, and the command to complete.

use std::io::{self, Write};

use super::{
    check::Checked,
    options::PlanOptions,
    plan::Use,
    question::command,
    survey::{Column, Survey},
    text::quoted,
};

/// Maximum number of different values that are shown of a column.
const VALUES_SHOWN_MAX: usize = 12;
/// Maximum number of values that are shown although each occurs once.
const EXAMPLES_MAX: usize = 3;

/// Writes the preview. `fixed` are the arguments of the command outside the plan.
pub(super) fn write(
    out: &mut dyn Write,
    checked: &Checked,
    options: &PlanOptions,
    fixed: &[String],
) -> io::Result<()> {
    let Checked { survey, plan, .. } = checked;
    writeln!(out, "rows: {}", survey.rows)?;
    if let Some(preset) = plan.preset {
        writeln!(out, "preset: {preset}")?;
    }
    for (column, used) in survey.columns.iter().zip(&plan.uses) {
        write!(out, "column {}", quoted(&column.name))?;
        if let Some(used) = used {
            write!(out, " ({})", describe(used))?;
        }
        writeln!(out, ": {}", describe_values(survey, column))?;
    }
    let command = command(fixed, options, &checked.questions);
    writeln!(out, "\ncomplete this command:\n  {command}")
}

/// Returns the different values of a column and how often each occurs, or an example. Addresses are never printed.
fn describe_values(survey: &Survey, column: &Column) -> String {
    let Column { values, filled, .. } = column;
    let is_repeated = (values.len() as u64) < *filled || values.len() <= EXAMPLES_MAX;
    let are_few = !column.has_more && values.len() <= VALUES_SHOWN_MAX && is_repeated;
    let has_addresses = values.iter().any(|it| it.text.contains(['@', '＠']));
    let mut parts = match &values[..] {
        _ if *filled == 0 => Vec::new(),
        _ if has_addresses => vec![format!("{filled} with an address")],
        [] => vec![format!("{filled} with a long text")],
        values if are_few => values
            .iter()
            .map(|it| format!("{} × {}", it.count, quoted(&it.text)))
            .collect(),
        [example, ..] => {
            let example = quoted(&example.text);
            vec![format!("{filled} with many values, such as {example}")]
        }
    };
    if survey.empty(column) > 0 {
        parts.push(format!("{} empty", survey.empty(column)));
    }
    parts.join("; ")
}

/// Returns what a column is for.
pub(super) fn describe(used: &Use) -> &'static str {
    match used {
        Use::Map(field) => field.name(),
        Use::Status(_) => "says who has left",
        Use::Ignored { .. } => "ignored",
    }
}
