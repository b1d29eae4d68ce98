//! Asks the owner the open questions on a terminal, one by one. The answers are arguments of the command.

use std::io;

use anyhow::bail;

use super::{
    check::{Checked, check},
    options::parse,
    question::{Question, add_answer, command},
    table::Table,
};
use crate::cli::terminal::{output::counted, question::Terminal};

/// Checks a file. If there is a terminal, asks the questions until none is open, and whether to import. Adds the answers to
/// the arguments of the command. A question that only an option answers stays open, and so do all at the end of the input.
///
/// # Errors
/// If an option is wrong, or the owner declines to import the file.
pub(super) fn check_asking<'a>(
    terminal: Option<&mut Terminal>,
    table: &'a Table,
    args: &mut Vec<String>,
) -> anyhow::Result<Checked<'a>> {
    let mut checked = check(table, &parse(args)?.plan)?;
    let Some(terminal) = terminal.filter(|_| !checked.questions.is_empty()) else {
        return Ok(checked);
    };
    let mut is_answered = true;
    while is_answered && !checked.questions.is_empty() {
        // An answer may make other questions unnecessary, except those about columns that say who has left.
        let statuses = checked.questions.iter().take_while(|it| it.is_status);
        let together = &checked.questions[..statuses.count().max(1)];
        for question in together {
            is_answered = is_answered && ask(terminal, question, args)?;
        }
        checked = check(table, &parse(args)?.plan)?;
    }
    if checked.obstacle().is_some() {
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
    let command = command(args, &[]);
    writeln!(terminal.output, "landing: next time, run: {command}")?;
    Ok(checked)
}

/// Asks a question, and adds the answer to the arguments. Returns whether there is one.
fn ask(terminal: &mut Terminal, question: &Question, args: &mut Vec<String>) -> io::Result<bool> {
    let before = args.len();
    if question.steps.is_empty() {
        add_answer(args, &question.proposal);
    }
    for step in &question.steps {
        let keys: String = step.answers.iter().map(|(key, _)| key).collect();
        let key = match terminal.key(&step.question, &keys) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            key => key?,
        };
        let answer = step.answers.iter().find(|(it, _)| *it == key);
        let answer = answer.map_or(&[][..], |(_, arguments)| arguments);
        add_answer(args, answer);
        if step.is_whole && !answer.is_empty() {
            break;
        }
    }
    Ok(args.len() > before)
}
