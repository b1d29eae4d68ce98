//! Asks the owner the open questions on a terminal, one by one. The answers are options.

use std::io;

use anyhow::bail;

use super::{
    check::{Checked, check},
    field::Mapping,
    options::PlanOptions,
    question::{Question, StatusReason, command},
    table::Table,
    text::quoted,
    times,
};
use crate::cli::terminal::{output::counted, question::Terminal};

/// Checks a file, asks the questions until none is open, and whether to import. Adds the answers to the options. A question
/// that only an option answers stays open, and so do all at the end of the input. `fixed` are the other arguments of the
/// command.
///
/// # Errors
/// If an option is wrong, or the owner declines to import the file.
pub(super) fn check_asking<'a>(
    terminal: &mut Terminal,
    table: &'a Table,
    fixed: &[String],
    options: &mut PlanOptions,
) -> anyhow::Result<Checked<'a>> {
    let mut checked = check(table, options)?;
    if checked.questions.is_empty() {
        return Ok(checked);
    }
    let mut is_answered = true;
    while let questions = &checked.questions
        && is_answered
        && !questions.is_empty()
    {
        // An answer may make other questions unnecessary, except those about columns that say who has left.
        let statuses = questions
            .iter()
            .take_while(|it| matches!(it, Question::Status { .. }));
        let count = statuses.count().max(1);
        for question in &questions[..count] {
            is_answered = match ask(terminal, question, options) {
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
                answered => answered?,
            };
            if !is_answered {
                break;
            }
        }
        checked = check(table, options)?;
    }
    if checked.obstacle(options).is_some() {
        return Ok(checked);
    }
    let (staying, left) = (checked.staying().len(), checked.leavers().len());
    let question = format!(
        "{staying} of {} rows are of people who stay, and {} left. Import?",
        table.rows.len(),
        counted(left as u64, "person has", "people have")
    );
    if terminal.key(&question, "yn")? != 'y' {
        bail!("the answer was no");
    }
    let command = command(fixed, options, &[]);
    writeln!(terminal.output, "landing: next time, run: {command}")?;
    Ok(checked)
}

/// Asks a question, and adds the answer to the options. Returns whether there is one.
fn ask(
    terminal: &mut Terminal,
    question: &Question,
    options: &mut PlanOptions,
) -> io::Result<bool> {
    match question {
        Question::Field { column: None, .. } => return Ok(false),
        Question::Field {
            field,
            column: Some(column),
        } => {
            let (shown, name) = (quoted(column), field.name());
            let question = format!("Does column {shown} have the field {name}?");
            match terminal.key(&question, "yn")? {
                'y' => options.map.push(Mapping {
                    field: *field,
                    column: column.clone(),
                }),
                _ if field.is_time() => options.ignore.push(column.clone()),
                _ => return Ok(false),
            }
        }
        Question::DateFormat { example, formats } => {
            options.date_format = Some(ask_date_format(terminal, example, formats)?);
        }
        Question::Status {
            column,
            values,
            reason,
        } => ask_status(terminal, column, values, reason, options)?,
        Question::WhoHasLeft => {
            let question = "Who in the file has left, or said no to mail? (n)obody, (e)verybody";
            let is_nobody = terminal.key(question, "ne")? == 'n';
            (options.nobody_left, options.everybody_left) = (is_nobody, !is_nobody);
        }
        Question::Unused { .. } => options.ignore_rest = true,
    }
    Ok(true)
}

/// If times cannot be read by the answer, the question stays open.
fn ask_date_format(
    terminal: &mut Terminal,
    example: &str,
    formats: &[String],
) -> io::Result<String> {
    for format in formats {
        let day = times::day(format, example).unwrap_or_default();
        let question = format!("Does {} mean {day}?", quoted(example));
        if terminal.key(&question, "yn")? == 'y' {
            return Ok(format.clone());
        }
    }
    let example = quoted(example);
    let question = format!("How is {example} written, such as %d.%m.%Y for 21.11.2026?");
    loop {
        match times::parse_format(&terminal.line(&question)?) {
            Ok(format) => return Ok(format),
            Err(error) => writeln!(terminal.output, "{error}")?,
        }
    }
}

/// Asks whether a column says who has left, unless that is known, and what its values mean.
fn ask_status(
    terminal: &mut Terminal,
    column: &str,
    values: &[String],
    reason: &StatusReason,
    options: &mut PlanOptions,
) -> io::Result<()> {
    let name = quoted(column);
    if !matches!(reason, StatusReason::Unlisted) {
        let values: Vec<_> = values.iter().map(|it| shown(it, "many values")).collect();
        let values = values.join(", ");
        let question =
            format!("Column {name} has {values}. Does it say who wants mail, and who does not?");
        if terminal.key(&question, "yn")? == 'n' {
            options.ignore.push(column.to_owned());
            return Ok(());
        }
        options.nobody_left = false;
    }
    for value in values {
        let value_shown = shown(value, "any value");
        let question = format!("{name} = {value_shown}: (l)eft, (s)tays, (u)ndecided?");
        let answers = match terminal.key(&question, "lsu")? {
            'l' => &mut options.left,
            's' => &mut options.stay,
            _ => &mut options.undecided,
        };
        answers.push(format!("{column}={value}"));
    }
    Ok(())
}

fn shown(value: &str, other: &str) -> String {
    match value {
        "*" => other.to_owned(),
        value => quoted(value),
    }
}
