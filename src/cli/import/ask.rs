//! Asks the owner the open questions on a terminal, one by one. The answers are arguments of the command.

use std::io;

use anyhow::bail;

use super::{
    check::{Checked, Person, check},
    input_file,
    options::parse,
    preview,
    question::{Question, add_answer, command},
    table::Table,
};
use crate::cli::terminal::{output::counted, question::Terminal};

/// Checks a file. If there is a terminal, asks the first question until none is open, and whether to import. Adds the answers
/// to the arguments of the command: an answer may make other questions unnecessary. A question that only an option answers
/// stays open, and so do all at the end of the input.
///
/// # Errors
/// If an option is wrong, or the owner declines to import the file.
pub(super) fn check_asking<'a>(
    terminal: Option<Terminal<'_>>,
    table: &'a Table,
    args: &mut Vec<String>,
) -> anyhow::Result<Checked<'a>> {
    let mut checked = check(table, &parse(args)?.plan)?;
    let Some(mut terminal) = terminal.filter(|_| !checked.questions.is_empty()) else {
        return Ok(checked);
    };
    while let Some(question) = checked.questions.first() {
        let answer = ask(&mut terminal, question)?;
        if answer.is_empty() {
            break;
        }
        add_answer(args, &answer);
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

/// Asks a question. Returns the answer, or nothing if there is none.
fn ask(terminal: &mut Terminal<'_>, question: &Question) -> io::Result<Vec<String>> {
    if question.answers.is_empty() {
        return Ok(question.proposal.clone());
    }
    let keys: String = question.answers.iter().map(|(key, _)| key).collect();
    let key = match terminal.key(&question.asked, &keys) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Vec::new()),
        key => key?,
    };
    let answer = question.answers.iter().find(|(it, _)| *it == key);
    Ok(answer.map_or_else(Vec::new, |(_, arguments)| arguments.clone()))
}

/// For tests: reads a file, without a process and a list, as `landing import` does with these options, and with the answers of
/// somebody at a terminal, if there are any. Returns the people, and what the terminal shows.
///
/// # Errors
/// Why nothing would be imported, below the preview or the invalid rows.
pub fn import_dry_run(
    file: &[u8],
    options: &[&str],
    answers: &str,
) -> anyhow::Result<(Vec<Person>, String)> {
    let args = ["FILE"].iter().chain(options);
    let mut args = args.map(ToString::to_string).collect();
    let table = Table::read(&input_file::decode(file)?)?;
    let mut shown = Vec::new();
    let terminal = (!answers.is_empty()).then(|| Terminal {
        input: Box::new(answers.as_bytes()),
        output: Box::new(&mut shown),
    });
    let checked = check_asking(terminal, &table, &mut args)?;
    let obstacle = checked.obstacle();
    if obstacle.is_some() {
        preview::write(&mut shown, &checked, "FILE", &args)?;
    }
    let shown = String::from_utf8_lossy(&shown).into_owned();
    match obstacle {
        Some(obstacle) => bail!("{shown}{obstacle}"),
        None => Ok((checked.people, shown)),
    }
}
