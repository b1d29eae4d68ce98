//! An import up to the point where it would add anybody, without a process and a list. The tests use it.

use std::io::Cursor;

use anyhow::bail;

use super::{ask::check_asking, input_file, person::Person, preview, table::Table};
use crate::cli::terminal::question::Terminal;

/// Reads a file as `landing import` does with these options, and with the answers of somebody at a terminal, if there are any.
/// Returns the people, and what the terminal shows.
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
    let mut terminal = Terminal {
        input: &mut Cursor::new(answers),
        output: &mut shown,
    };
    let terminal = (!answers.is_empty()).then_some(&mut terminal);
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
