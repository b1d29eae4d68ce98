//! The command line of `landing import`.

use std::{
    io::{self, IsTerminal},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};

use super::{
    adding::{self, Progress, Target},
    ask::check_asking,
    check::{Checked, check},
    error::FileError,
    input_file,
    options::PlanOptions,
    presets, preview,
    report::ImportReport,
};
use crate::{
    cli::{
        store_location::{StoreArgs, StoreLocation},
        terminal::{
            output::{OutputArgs, print_to_stdout},
            question::{Terminal, can_ask},
            signals,
        },
    },
    exit::{print_stderr, set_exit_note},
    waitlist::Email,
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
    let path = args.file.as_deref().filter(|_| !is_stdin(args));
    let name = input_file::display_name(path);
    let progress = Progress::default();
    let interrupted = progress.clone();
    signals::on_interrupt(move || Some(format!("interrupted; {}", interrupted.describe())))
        .context("cannot handle signals")?;
    let (file_name, exiting) = (name.clone(), progress.clone());
    set_exit_note(move || format!("{file_name}: {}", exiting.describe()));
    // Before the first progress bar is drawn.
    let location = args.store.announce_location()?;
    let nothing = || format!("{name}: nothing was imported");
    let text = read(path).with_context(nothing)?;
    let check_file = |options: &PlanOptions| check(&text, options);
    let (fixed, mut options) = (fixed_args(args, &name, &location), args.plan.clone());
    let checked = check_or_ask(args, &fixed, &mut options, check_file).with_context(nothing)?;
    if !checked.is_ready(&options) {
        return explain(args, &name, &fixed, &options, &checked).with_context(nothing);
    }
    let mut report = ImportReport::new(&checked);
    let (target, new_list) = Target::open(&location, args.dry_run, &progress)?;
    report.new_list = new_list;
    let added = adding::add(&text, &checked, target, &mut report);
    args.output
        .print(&report, |out| report.write(out, &name, args.dry_run))?;
    added.map_err(|error| anyhow!("{name}: {error:#}; {}", progress.describe()))
}

fn is_stdin(args: &ImportArgs) -> bool {
    args.file.as_deref().is_none_or(|file| file == "-")
}

fn read(path: Option<&Path>) -> Result<String, FileError> {
    if path.is_none() && io::stdin().is_terminal() {
        print_stderr("type one address per line, and finish with Ctrl-D");
    }
    input_file::read(path).map_err(|error| match (error, path.and_then(Path::to_str)) {
        // Somebody wants to add one person.
        (FileError::Io(_), Some(path)) if Email::parse(path).is_ok() => FileError::AddressAsFile,
        (error, _) => error,
    })
}

/// Checks the file. On a terminal, asks the questions of the plan, and adds the answers to the options.
fn check_or_ask(
    args: &ImportArgs,
    fixed: &[String],
    options: &mut PlanOptions,
    check_file: impl Fn(&PlanOptions) -> Result<Checked, FileError>,
) -> anyhow::Result<Checked> {
    if !can_ask() || is_stdin(args) || args.output.json {
        return Ok(check_file(options)?);
    }
    let mut terminal = Terminal {
        input: &mut io::stdin().lock(),
        output: &mut io::stderr().lock(),
    };
    check_asking(&mut terminal, fixed, options, check_file)
}

/// Returns the arguments of the command outside the plan: the file, and where the list is.
fn fixed_args(args: &ImportArgs, name: &str, location: &StoreLocation) -> Vec<String> {
    let file = if is_stdin(args) { "-" } else { name };
    let mut fixed = vec![file.to_owned()];
    if args.store.is_in_command_line() {
        // Without the password of a database.
        fixed.extend(["--store".to_owned(), location.to_string()]);
    }
    fixed
}

/// Prints why nothing is imported, and returns the error.
fn explain(
    args: &ImportArgs,
    name: &str,
    fixed: &[String],
    options: &PlanOptions,
    checked: &Checked,
) -> anyhow::Result<()> {
    let Checked { survey, plan, .. } = checked;
    if !plan.questions.is_empty() {
        if !args.output.json {
            print_to_stdout(|out| preview::write(out, survey, plan, options, fixed))?;
        }
        bail!("{}", plan.questions.texts(survey).join("\n  "));
    }
    let report = ImportReport::new(checked);
    args.output
        .print(&report, |out| report.write_invalid(out, name))?;
    bail!(
        "{} of {} rows cannot be read, see above; correct the file, or leave them out with --skip-invalid",
        checked.invalid_count,
        checked.rows
    )
}

fn print_presets(output: &OutputArgs) -> anyhow::Result<()> {
    output.print_list(presets::all(), |out| {
        for preset in presets::all() {
            writeln!(
                out,
                "{}: {}\n  {}",
                preset.name, preset.program, preset.export
            )?;
        }
        Ok(())
    })
}
