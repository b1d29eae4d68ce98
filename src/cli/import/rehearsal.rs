//! An import without a list: what it would do with each row of a file. Tests use it, because it needs no process.

use std::{io::Cursor, time::SystemTime};

use clap::{Args, FromArgMatches};

use super::{
    ask::check_asking,
    check::{Checked, check},
    input_file,
    options::PlanOptions,
    person,
    plan::Verdict,
    preview,
    row::Row,
    rows::Rows,
};
use crate::{cli::terminal::question::Terminal, waitlist::WaitlistEntry};

/// What an import would do with a row.
#[derive(Clone, Debug)]
pub struct RehearsedRow {
    /// The number of its first line.
    pub line: u64,
    /// What the file says about the person.
    pub verdict: Verdict,
    /// The entry of a person who would be added.
    pub entry: Option<WaitlistEntry>,
}

/// Does what `landing import` does with a file before it adds anybody. `args` are its options. Rows without a time get
/// the year 1970.
///
/// # Errors
/// Why nothing would be imported, with the preview.
pub fn rehearse(file: &[u8], args: &[&str]) -> anyhow::Result<Vec<RehearsedRow>> {
    Ok(rehearse_answers(file, args, "")?.0)
}

/// Like [`rehearse`], with the answers of somebody at a terminal. Also returns what the terminal shows.
///
/// # Errors
/// Like [`rehearse`].
pub fn rehearse_answers(
    file: &[u8],
    args: &[&str],
    answers: &str,
) -> anyhow::Result<(Vec<RehearsedRow>, String)> {
    let command = PlanOptions::augment_args(clap::Command::new("import")).no_binary_name(true);
    let mut options = PlanOptions::from_arg_matches(&command.try_get_matches_from(args)?)?;
    let text = input_file::decode(file)?;
    let (mut input, mut shown) = (Cursor::new(answers), Vec::new());
    let mut terminal = Terminal {
        input: &mut input,
        output: &mut shown,
    };
    let fixed = ["FILE".to_owned()];
    let check_file = |options: &PlanOptions| check(&text, options);
    let checked = match answers {
        "" => check_file(&options)?,
        _ => check_asking(&mut terminal, &fixed, &mut options, check_file)?,
    };
    let Checked { survey, plan, .. } = &checked;
    if !plan.questions.is_empty() {
        preview::write(&mut shown, survey, plan, &options, &fixed)?;
        anyhow::bail!(
            "{}\n{}",
            String::from_utf8_lossy(&shown),
            plan.questions.texts(survey).join("\n")
        );
    }
    if !checked.is_ready(&options) {
        let rows = checked
            .invalid
            .iter()
            .map(|(line, reason)| format!("{line}: {reason}\n"));
        anyhow::bail!("{}", rows.collect::<String>());
    }
    let mut rehearsed = Vec::new();
    for Row { line, cells } in Rows::open(&text)? {
        let read = |cells: Vec<_>| person::read(&cells, &checked.plan, SystemTime::UNIX_EPOCH).ok();
        if let Some(person) = cells.ok().and_then(read) {
            let verdict = checked.outsiders.verdict(&person);
            let entry = person.entry.filter(|_| verdict == Verdict::Stays);
            rehearsed.push(RehearsedRow {
                line,
                verdict,
                entry,
            });
        }
    }
    Ok((rehearsed, String::from_utf8_lossy(&shown).into_owned()))
}
