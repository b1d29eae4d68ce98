//! An import up to the point where it would add anybody, without a process and a list. The tests use it.

use std::io::Cursor;

use anyhow::bail;
use clap::{Args, FromArgMatches};

use super::{
    ask::check_asking, check::check, input_file, options::PlanOptions, person::Person, preview,
    report::ImportReport, table::Table,
};
use crate::cli::terminal::question::Terminal;

/// Reads a file as `landing import` does with these options, and with the answers of somebody at a terminal, if there are any.
/// Returns the people, and what the terminal shows.
///
/// # Errors
/// Why nothing would be imported, below the preview or the invalid rows.
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
    let checked = match answers {
        "" => check(&table, &options),
        _ => check_asking(&mut terminal, &table, &fixed, &mut options),
    }?;
    let obstacle = checked.obstacle(&options);
    if obstacle.is_some() {
        match checked.questions.is_empty() {
            true => ImportReport::new(&checked).write_invalid(&mut shown, "FILE")?,
            false => preview::write(&mut shown, &checked, &options, &fixed)?,
        }
    }
    let shown = String::from_utf8_lossy(&shown).into_owned();
    match obstacle {
        Some(obstacle) => bail!("{shown}{obstacle}"),
        None => Ok((checked.people, shown)),
    }
}
