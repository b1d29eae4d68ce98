//! Asks the owner the questions of a plan on a terminal, one by one. The answers are options.

use std::io;

use anyhow::bail;

use super::{
    check::Checked,
    error::FileError,
    field::Field,
    options::PlanOptions,
    plan::Plan,
    proposal::{Proposal, Status},
    survey::Survey,
    text::quoted,
};
use crate::cli::terminal::question::Terminal;

/// Checks a file, asks the questions of its plan until none is open, and whether to import. Adds the answers to the
/// options. Without an answer, questions stay open. `fixed` are the other arguments of the command.
///
/// # Errors
/// If the file cannot be read, or the owner declines to import it.
pub(super) fn check_asking(
    terminal: &mut Terminal,
    fixed: &[String],
    options: &mut PlanOptions,
    check_file: impl Fn(&PlanOptions) -> Result<Checked, FileError>,
) -> anyhow::Result<Checked> {
    let mut checked = check_file(options)?;
    if checked.plan.questions.is_empty() {
        return Ok(checked);
    }
    while !checked.plan.questions.is_empty() {
        let Some(()) = ask(terminal, &checked.survey, &checked.plan, options)? else {
            return Ok(checked);
        };
        checked = check_file(options)?;
    }
    if !checked.is_ready(options) {
        return Ok(checked);
    }
    let (rows, staying, left) = (
        checked.rows,
        checked.staying,
        checked.outsiders.leavers.len(),
    );
    let question = format!(
        "{staying} of {rows} rows are of people who stay, and {left} people have left. Import?"
    );
    if terminal.key(&question, "yn")? != Some('y') {
        bail!("the answer was no");
    }
    let command = Proposal::default().command(fixed, options);
    writeln!(terminal.output, "landing: next time, run: {command}")?;
    Ok(checked)
}

/// Asks the questions of a plan, and adds the answers to the options. Returns `None` if there is no answer to one.
///
/// # Errors
/// If the terminal cannot be read or written.
fn ask(
    terminal: &mut Terminal,
    survey: &Survey,
    plan: &Plan,
    options: &mut PlanOptions,
) -> io::Result<Option<()>> {
    let mut proposal = Proposal::new(survey, plan);
    let has_addresses = proposal.fields.iter().any(|it| it.field == Field::Email);
    let is_hopeless = plan.questions.lacks_addresses && !has_addresses;
    if is_hopeless || !plan.questions.mistakes.is_empty() {
        return Ok(None);
    }
    for mapping in &proposal.fields {
        let (column, field) = (quoted(&mapping.column), mapping.field.name());
        let question = format!("Does column {column} have the field {field}?");
        match terminal.key(&question, "yn")? {
            Some('y') => options.map.push(mapping.clone()),
            Some(_) if mapping.field.is_time() => {
                proposal.date_formats.clear();
                options.ignore.push(mapping.column.clone());
            }
            _ => return Ok(None),
        }
    }
    if !proposal.date_formats.is_empty() || !plan.questions.times.is_empty() {
        let Some(()) = ask_date_format(terminal, &proposal, options)? else {
            return Ok(None);
        };
    }
    let Some(()) = ask_statuses(terminal, &proposal, options)? else {
        return Ok(None);
    };
    options.ignore_rest |= proposal.has_rest;
    Ok(Some(()))
}

fn ask_date_format(
    terminal: &mut Terminal,
    proposal: &Proposal,
    options: &mut PlanOptions,
) -> io::Result<Option<()>> {
    for format in &proposal.date_formats {
        let example = quoted(&proposal.date_example);
        let day = format.day(&proposal.date_example).unwrap_or_default();
        let question = format!("Does {example} mean {day}?");
        match terminal.key(&question, "yn")? {
            Some('y') => {
                options.date_format = Some(format.clone());
                return Ok(Some(()));
            }
            Some(_) => {}
            None => return Ok(None),
        }
    }
    let question = "How are the dates written, such as %d.%m.%Y for 21.11.2026?";
    while let Some(answer) = terminal.line(question)? {
        match answer.parse() {
            Ok(format) => {
                options.date_format = Some(format);
                return Ok(Some(()));
            }
            Err(error) => writeln!(terminal.output, "{error}")?,
        }
    }
    Ok(None)
}

/// Asks which columns say who has left, and what their values mean.
fn ask_statuses(
    terminal: &mut Terminal,
    proposal: &Proposal,
    options: &mut PlanOptions,
) -> io::Result<Option<()>> {
    let mut has_status = !proposal.asks_who_has_left;
    for Status {
        column,
        values,
        is_guess,
    } in &proposal.statuses
    {
        if *is_guess {
            match ask_whether_status(terminal, column, values)? {
                Some('y') => {
                    has_status = true;
                    options.nobody_left = false;
                }
                Some(_) => {
                    options.ignore.push(column.clone());
                    continue;
                }
                None => return Ok(None),
            }
        }
        let name = quoted(column);
        for value in values {
            let shown = match value.as_str() {
                "*" => "any value".to_owned(),
                value => quoted(value),
            };
            let question = format!("{name} = {shown}: (l)eft, (s)tays, (u)ndecided?");
            let answers = match terminal.key(&question, "lsu")? {
                Some('l') => &mut options.left,
                Some('s') => &mut options.stay,
                Some(_) => &mut options.undecided,
                None => return Ok(None),
            };
            answers.push(format!("{column}={value}"));
        }
    }
    if !has_status {
        match terminal.key(
            "Who in the file has left, or said no to mail? (n)obody, (e)verybody",
            "ne",
        )? {
            Some('n') => options.nobody_left = true,
            Some(_) => options.everybody_left = true,
            None => return Ok(None),
        }
    }
    Ok(Some(()))
}

/// Asks whether a column says who has left.
fn ask_whether_status(
    terminal: &mut Terminal,
    column: &str,
    values: &[String],
) -> io::Result<Option<char>> {
    let shown = match values {
        [any] if any == "*" => "many values".to_owned(),
        values => {
            let shown: Vec<_> = values.iter().map(|it| quoted(it)).collect();
            shown.join(", ")
        }
    };
    let question = format!(
        "Column {} has {shown}. Does it say who wants mail, and who does not?",
        quoted(column)
    );
    terminal.key(&question, "yn")
}
