//! The preview of a file whose plan lacks answers: its columns, their values, and the command to complete.

use std::io::{self, Write};

use super::{
    check::Checked,
    column::{Column, Value},
    plan::{Use, Verdict},
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
    writeln!(out, "rows: {}", checked.table.rows.len())?;
    write_columns(out, checked.plan.preset, &describe_columns(checked))?;
    let command = command(args, &checked.questions);
    writeln!(out, "\ncomplete this command:\n  {command}")
}

/// Writes what each column is for, and what it has.
pub(super) fn write_columns(
    out: &mut dyn Write,
    preset: Option<&str>,
    columns: &[(String, String)],
) -> io::Result<()> {
    if let Some(preset) = preset {
        writeln!(out, "preset: {preset}")?;
    }
    columns
        .iter()
        .try_for_each(|(name, text)| writeln!(out, "column {}: {text}", quoted(name)))
}

/// Writes the rows that cannot be read.
pub(super) fn write_invalid(
    out: &mut dyn Write,
    file: &str,
    rows: &[(u64, String)],
) -> io::Result<()> {
    rows.iter()
        .try_for_each(|(line, reason)| writeln!(out, "{file}:{line}: {reason}"))
}

/// Returns what each column is for, its different values and how often each occurs, or an example. Once every question is
/// answered, only the values that say who has left matter. Addresses and long texts are never printed.
pub(super) fn describe_columns(checked: &Checked<'_>) -> Vec<(String, String)> {
    let columns = checked.table.columns.iter().zip(&checked.plan.uses);
    let columns = columns.map(|(column, used)| {
        let mut parts = Vec::from_iter(used.as_ref().map(|used| match used {
            Use::Map(field) => field.name(),
            Use::Status(_) => "says who has left".to_owned(),
            Use::Ignored | Use::Unnamed => "ignored".to_owned(),
        }));
        if !checked.questions.is_empty() || matches!(used, Some(Use::Status(_))) {
            parts.extend(describe_values(column, used));
        }
        (column.name.clone(), parts.join("; "))
    });
    columns.collect()
}

fn describe_values(column: &Column, used: &Option<Use>) -> Vec<String> {
    let (values, filled) = (&column.values, column.filled);
    let meaning = |value: &str| match used {
        Some(Use::Status(listed)) => match listed.verdict(value) {
            Some(Verdict::Stays) => " (stays)",
            Some(Verdict::Undecided) => " (undecided)",
            Some(Verdict::Left) => " (left)",
            None => "",
        },
        _ => "",
    };
    let is_repeated = (values.len() as u64) < filled || values.len() <= EXAMPLES_MAX;
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
            .map(|Value { text, count }| format!("{count} × {}{}", quoted(text), meaning(text)))
            .collect(),
        [example, ..] => {
            let example = quoted(&example.text);
            vec![format!("{filled} with many values, such as {example}")]
        }
    };
    if column.empty > 0 {
        parts.push(format!("{} empty{}", column.empty, meaning("")));
    }
    parts
}
