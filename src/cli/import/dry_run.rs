//! An import up to the point where it would add anybody, without a process and a list. The tests use it.

use std::{io::Cursor, time::SystemTime};

use anyhow::bail;
use clap::{Args, FromArgMatches};

use super::{
    ask::check_asking, check::check, input_file, options::PlanOptions, person::Person, preview,
    table::Table,
};
use crate::cli::terminal::question::Terminal;

/// Reads a file as `landing import` does with these options, and with the answers of somebody at a terminal, if there are any.
/// Rows without a time get the year 1970. Returns the people, and what the terminal shows.
///
/// # Errors
/// Why nothing would be imported, with the preview.
pub fn import_dry_run(
    file: &[u8],
    args: &[&str],
    answers: &str,
) -> anyhow::Result<(Vec<Person>, String)> {
    let command = PlanOptions::augment_args(clap::Command::new("import")).no_binary_name(true);
    let mut options = PlanOptions::from_arg_matches(&command.try_get_matches_from(args)?)?;
    let table = Table::read(&input_file::decode(file)?)?;
    let mut shown = Vec::new();
    let mut terminal = Terminal {
        input: &mut Cursor::new(answers),
        output: &mut shown,
    };
    let fixed = ["FILE".to_owned()];
    let check_file = |options: &PlanOptions| check(&table, options, SystemTime::UNIX_EPOCH);
    let checked = match answers {
        "" => check_file(&options),
        _ => check_asking(&mut terminal, &fixed, &mut options, check_file),
    }?;
    if !checked.questions.is_empty() {
        preview::write(&mut shown, &checked, &options, &fixed)?;
        let questions = checked.question_texts().join("\n");
        bail!("{}\n{questions}", String::from_utf8_lossy(&shown));
    }
    if !checked.is_ready(&options) {
        let rows = checked.invalid.iter();
        let rows = rows.map(|(line, reason)| format!("{line}: {reason}\n"));
        bail!("{}", rows.collect::<String>());
    }
    Ok((checked.people, String::from_utf8_lossy(&shown).into_owned()))
}
