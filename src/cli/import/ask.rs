//! Asks the owner the open questions on a terminal, one by one. The answers are options.

use std::io;

use anyhow::bail;

use super::{
    check::Checked,
    field::Mapping,
    options::PlanOptions,
    question::{Question, Status, StatusReason, command},
    text::quoted,
    times::DateFormat,
};
use crate::cli::terminal::question::Terminal;

/// Checks a file, asks the questions until none is open, and whether to import. Adds the answers to the options. Without an
/// answer, questions stay open. `fixed` are the other arguments of the command.
///
/// # Errors
/// If the owner declines to import the file, or the terminal cannot be read or written.
pub(super) fn check_asking(
    terminal: &mut Terminal,
    fixed: &[String],
    options: &mut PlanOptions,
    check_file: impl Fn(&PlanOptions) -> Checked,
) -> anyhow::Result<Checked> {
    let mut checked = check_file(options);
    if checked.questions.is_empty() {
        return Ok(checked);
    }
    while let questions = &checked.questions
        && !questions.is_empty()
    {
        // An answer may make other questions unnecessary, except those about columns that say who has left.
        let statuses = questions
            .iter()
            .take_while(|it| matches!(it, Question::Status(_)));
        let count = statuses.count().max(1);
        for question in &questions[..count] {
            let Some(()) = ask(terminal, question, options)? else {
                return Ok(checked);
            };
        }
        checked = check_file(options);
    }
    if !checked.is_ready(options) {
        return Ok(checked);
    }
    let (staying, left) = (checked.staying().len(), checked.leavers().len());
    let question = format!(
        "{staying} of {} rows are of people who stay, and {left} people have left. Import?",
        checked.rows
    );
    if terminal.key(&question, "yn")? != Some('y') {
        bail!("the answer was no");
    }
    let command = command(fixed, options, &[]);
    writeln!(terminal.output, "landing: next time, run: {command}")?;
    Ok(checked)
}

/// Asks a question, and adds the answer to the options. Returns `None` if there is no answer.
fn ask(
    terminal: &mut Terminal,
    question: &Question,
    options: &mut PlanOptions,
) -> io::Result<Option<()>> {
    match question {
        Question::Mistake(_) | Question::Field { column: None, .. } => return Ok(None),
        Question::Field {
            field,
            column: Some(column),
        } => {
            let (shown, name) = (quoted(column), field.name());
            let question = format!("Does column {shown} have the field {name}?");
            match terminal.key(&question, "yn")? {
                Some('y') => options.map.push(Mapping {
                    field: *field,
                    column: column.clone(),
                }),
                Some(_) if field.is_time() => options.ignore.push(column.clone()),
                _ => return Ok(None),
            }
        }
        Question::DateFormat { example, formats } => {
            options.date_format = ask_date_format(terminal, example, formats)?;
            return Ok(options.date_format.as_ref().map(drop));
        }
        Question::Status(status) => return ask_status(terminal, status, options),
        Question::WhoHasLeft => {
            let question = "Who in the file has left, or said no to mail? (n)obody, (e)verybody";
            match terminal.key(question, "ne")? {
                Some('n') => options.nobody_left = true,
                Some(_) => options.everybody_left = true,
                None => return Ok(None),
            }
        }
        Question::Unused { .. } => options.ignore_rest = true,
    }
    Ok(Some(()))
}

fn ask_date_format(
    terminal: &mut Terminal,
    example: &str,
    formats: &[DateFormat],
) -> io::Result<Option<DateFormat>> {
    for format in formats {
        let day = format.day(example).unwrap_or_default();
        let question = format!("Does {} mean {day}?", quoted(example));
        match terminal.key(&question, "yn")? {
            Some('y') => return Ok(Some(format.clone())),
            Some(_) => {}
            None => return Ok(None),
        }
    }
    let question = "How are the dates written, such as %d.%m.%Y for 21.11.2026?";
    while let Some(answer) = terminal.line(question)? {
        match answer.parse() {
            Ok(format) => return Ok(Some(format)),
            Err(error) => writeln!(terminal.output, "{error}")?,
        }
    }
    Ok(None)
}

/// Asks whether a column says who has left, unless that is known, and what its values mean.
fn ask_status(
    terminal: &mut Terminal,
    status: &Status,
    options: &mut PlanOptions,
) -> io::Result<Option<()>> {
    let (column, name) = (&status.column, quoted(&status.column));
    if !matches!(status.reason, StatusReason::Unlisted) {
        let values: Vec<_> = status
            .values
            .iter()
            .map(|it| shown(it, "many values"))
            .collect();
        let values = values.join(", ");
        let question =
            format!("Column {name} has {values}. Does it say who wants mail, and who does not?");
        match terminal.key(&question, "yn")? {
            Some('y') => options.nobody_left = false,
            Some(_) => {
                options.ignore.push(column.clone());
                return Ok(Some(()));
            }
            None => return Ok(None),
        }
    }
    for value in &status.values {
        let question = format!(
            "{name} = {}: (l)eft, (s)tays, (u)ndecided?",
            shown(value, "any value")
        );
        let answers = match terminal.key(&question, "lsu")? {
            Some('l') => &mut options.left,
            Some('s') => &mut options.stay,
            Some(_) => &mut options.undecided,
            None => return Ok(None),
        };
        answers.push(format!("{column}={value}"));
    }
    Ok(Some(()))
}

fn shown(value: &str, other: &str) -> String {
    match value {
        "*" => other.to_owned(),
        value => quoted(value),
    }
}
