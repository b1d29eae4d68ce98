//! The preview of a file whose plan lacks answers: its columns, their values, and the command to complete.

use std::io::{self, Write};

use super::{
    check::Checked,
    column::Column,
    person::InvalidRow,
    plan::Use,
    question::command,
    text::{is_showable, quoted},
};

/// Maximum number of different values that are shown of a column.
const VALUES_SHOWN_MAX: usize = 12;
/// Maximum number of values that are shown although each occurs once.
const EXAMPLES_MAX: usize = 3;

/// Writes the preview, or the rows that cannot be read if nothing else is unknown. `args` are the arguments of the command.
pub(super) fn write(
    out: &mut dyn Write,
    checked: &Checked<'_>,
    file: &str,
    args: &[String],
) -> io::Result<()> {
    if checked.questions.is_empty() {
        return write_invalid(out, file, &checked.invalid);
    }
    let Checked { table, plan, .. } = checked;
    writeln!(out, "rows: {}", table.rows.len())?;
    if let Some(preset) = plan.preset {
        writeln!(out, "preset: {preset}")?;
    }
    for (column, used) in table.columns.iter().zip(&plan.uses) {
        write!(out, "column {}", quoted(&column.name))?;
        if let Some(used) = used {
            write!(out, " ({})", describe(used))?;
        }
        writeln!(out, ": {}", describe_values(column))?;
    }
    let command = command(args, &checked.questions);
    writeln!(out, "\ncomplete this command:\n  {command}")
}

/// Writes the rows that cannot be read.
pub(super) fn write_invalid(
    out: &mut dyn Write,
    file: &str,
    rows: &[(u64, InvalidRow)],
) -> io::Result<()> {
    rows.iter()
        .try_for_each(|(line, reason)| writeln!(out, "{file}:{line}: {reason}"))
}

/// Returns the different values of a column and how often each occurs, or an example. Addresses and long texts are never
/// printed.
fn describe_values(column: &Column) -> String {
    let Column {
        values,
        filled,
        empty,
        ..
    } = column;
    let is_repeated = (values.len() as u64) < *filled || values.len() <= EXAMPLES_MAX;
    let are_few = !column.has_more && values.len() <= VALUES_SHOWN_MAX && is_repeated;
    let has_addresses = values.iter().any(|it| it.text.contains(['@', '＠']));
    let mut parts = match &values[..] {
        [] => Vec::new(),
        _ if has_addresses => vec![format!("{filled} with an address")],
        values if !values.iter().all(|it| is_showable(&it.text)) => {
            vec![format!("{filled} with a long text")]
        }
        values if are_few => values
            .iter()
            .map(|it| format!("{} × {}", it.count, quoted(&it.text)))
            .collect(),
        [example, ..] => {
            let example = quoted(&example.text);
            vec![format!("{filled} with many values, such as {example}")]
        }
    };
    if *empty > 0 {
        parts.push(format!("{empty} empty"));
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
