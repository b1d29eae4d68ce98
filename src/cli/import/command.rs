//! The command line of `landing import`.

use std::{
    io,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow};

use super::{
    adding,
    ask::check_asking,
    check::{Checked, check},
    input_file,
    options::PlanOptions,
    presets, preview,
    report::ImportReport,
    table::Table,
};
use crate::cli::{
    store_location::{StoreArgs, StoreLocation},
    terminal::{
        output::{OutputArgs, print_to_stdout},
        question::{Terminal, can_ask},
    },
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing import list.csv
  landing import members.csv --preset ghost
  landing import list.csv --map email=Courriel --left Statut=Désabonné --stay Statut=Abonné --ignore-rest

Reads one address per line, CSV (with commas, semicolons or tabs), and JSON lines. A file that `landing export` wrote \
is imported as it is, and so is one with exactly the columns and values of a preset. For any other file, an option must \
say what each column means. Without it nothing is imported: a preview shows the columns with their values, and prints \
the command to complete. On a terminal, the questions are asked one by one.

The people in a list of bare addresses are added, whatever the name of the file. If they have left, add --everybody-left.

Only people are added of whom the file or an option says that they stay. People who have left are suppressed: no later \
import adds them, until `landing unsubscribe --undo`. Somebody who is on this list already stays on it unchanged, \
whatever the file says, so a file can be imported again.

With --confirm-signups, `send` writes only to people who have confirmed their address: map confirmed_at if the other \
program has it.")]
pub(in crate::cli) struct ImportArgs {
    /// File to read, instead of standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    plan: PlanOptions,
    /// List the presets, and how to export there
    #[arg(long)]
    presets: bool,
    /// Report what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(in crate::cli) fn run(args: &ImportArgs) -> anyhow::Result<()> {
    if args.presets {
        return print_presets(&args.output);
    }
    let path = args.file.as_deref().filter(|file| *file != "-");
    let name = input_file::display_name(path);
    // Before the first progress bar is drawn.
    let location = args.store.announce_location()?;
    let nothing = || format!("{name}: nothing was imported");
    let fixed = fixed_args(args, path, &location);
    let mut options = args.plan.clone();
    let table = input_file::read(path).and_then(|text| Table::read(&text));
    let table = table.with_context(nothing)?;
    let checked = check_or_ask(args, &table, &fixed, &mut options).with_context(nothing)?;
    let mut report = ImportReport::new(&checked);
    if let Some(obstacle) = checked.obstacle(&options) {
        let printed = match checked.questions.is_empty() {
            true => args
                .output
                .print(&report, |out| report.write_invalid(out, &name)),
            false if args.output.json => Ok(()),
            false => print_to_stdout(|out| preview::write(out, &checked, &options, &fixed)),
        };
        return printed
            .and_then(|()| Err(anyhow!(obstacle)))
            .with_context(nothing);
    }
    let added = match args.dry_run {
        true => adding::count(location.open_if_exists()?.as_ref(), &checked, &mut report),
        false => adding::add(&location.open_or_create()?, &checked, &mut report),
    };
    args.output
        .print(&report, |out| report.write(out, &name, args.dry_run))?;
    added.with_context(|| format!("{name}: perhaps not everybody was added; import the file again"))
}

/// Checks the file. On a terminal, asks the open questions, and adds the answers to the options.
fn check_or_ask<'a>(
    args: &ImportArgs,
    table: &'a Table,
    fixed: &[String],
    options: &mut PlanOptions,
) -> anyhow::Result<Checked<'a>> {
    if !can_ask() || args.output.json {
        return check(table, options);
    }
    let mut terminal = Terminal {
        input: &mut io::stdin().lock(),
        output: &mut io::stderr().lock(),
    };
    check_asking(&mut terminal, table, fixed, options)
}

/// Returns the arguments of the command outside the plan: the file, and where the list is.
fn fixed_args(args: &ImportArgs, path: Option<&Path>, location: &StoreLocation) -> Vec<String> {
    let file = path.map_or("-".to_owned(), |path| path.display().to_string());
    let mut fixed = vec![file];
    if args.store.is_in_command_line() {
        // Without the password of a database.
        fixed.extend(["--store".to_owned(), location.to_string()]);
    }
    fixed
}

fn print_presets(output: &OutputArgs) -> anyhow::Result<()> {
    let lines = presets::all().iter().map(|preset| {
        let text = format!("{}: {}\n  {}", preset.name, preset.program, preset.export);
        (preset, text)
    });
    output.print_lines(&lines.collect::<Vec<_>>())
}
