//! The options of `landing import`. Most say what the columns of a file mean; a preset says that in the same way.

use std::path::PathBuf;

use clap::{Args, FromArgMatches};
use serde::Deserialize;

use super::times;
use crate::cli::store_location::CommonArgs;

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing import list.csv
  landing import members.csv --preset ghost
  landing import list.csv --map email=Courriel --left Statut=Désabonné --stay Statut=Abonné --ignore-rest

Reads one address per line, CSV (with commas, semicolons or tabs), and JSON lines. A file that `landing export` wrote \
is imported as it is, and so is one with exactly the columns and values of a preset. For any other file, an option must \
say what each column means. Without it nothing is imported: a preview shows the columns with their values, and prints \
the command to complete.

The people in a list of bare addresses are added, whatever the name of the file. If they have left, add --everybody-left.

Only people are added of whom the file or an option says that they stay. People who have left are suppressed: no later \
import adds them, until `landing unsubscribe --undo`. Somebody who is on this list already stays on it unchanged, \
whatever the file says, so a file can be imported again.

With --confirm-signups, `send` writes only to people who have confirmed their address: map confirmed_at if the other \
program has it.")]
pub(in crate::cli) struct ImportArgs {
    /// File to read, instead of standard input
    pub(super) file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) plan: PlanOptions,
    /// List the presets, and how to export there
    #[arg(long)]
    pub(super) presets: bool,
    /// Report what would be imported, and change nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// What says what the columns mean, as given.
#[derive(clap::Args, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PlanOptions {
    /// The column that has a field: email, joined_at, source, confirmed_at or asked_at (when a confirmation was asked for)
    #[arg(long, value_name = "FIELD=COLUMN")]
    pub(super) map: Vec<String>,
    /// People with this value have left: they are suppressed. COLUMN= is an empty cell, COLUMN=* any value that no option names
    #[arg(long, value_name = "COLUMN=VALUE", allow_hyphen_values = true)]
    pub(super) left: Vec<String>,
    /// People with this value stay: they are added
    #[arg(long, value_name = "COLUMN=VALUE", allow_hyphen_values = true)]
    pub(super) stay: Vec<String>,
    /// People with this value are left out for now: a later import may add them
    #[arg(long, value_name = "COLUMN=VALUE", allow_hyphen_values = true)]
    pub(super) undecided: Vec<String>,
    /// Do not read this column
    #[arg(long, value_name = "COLUMN", allow_hyphen_values = true)]
    pub(super) ignore: Vec<String>,
    /// Do not read the columns that no other option names
    #[arg(long)]
    pub(super) ignore_rest: bool,
    /// Nobody in the file has left
    #[arg(long, conflicts_with = "everybody_left")]
    pub(super) nobody_left: bool,
    /// Everybody in the file has left, whatever the columns say
    #[arg(long, conflicts_with_all = ["left", "stay", "undecided"])]
    pub(super) everybody_left: bool,
    /// The program that wrote the file: see --presets
    #[arg(long, value_name = "NAME")]
    pub(super) preset: Option<String>,
    /// How the file writes its dates: %d.%m.%Y for 21.11.2026 (strftime). A time of day may follow the date
    #[arg(long, value_name = "FORMAT", value_parser = times::parse_format, overrides_with = "date_format")]
    pub(super) date_format: Option<String>,
    /// Report rows that cannot be read, and import the others. Otherwise they stop the import
    #[arg(long)]
    pub(super) skip_invalid: bool,
}

/// For tests: parses the arguments of the command.
pub(super) fn parse(args: &[String]) -> Result<ImportArgs, clap::Error> {
    let command = ImportArgs::augment_args(clap::Command::new("import")).no_binary_name(true);
    ImportArgs::from_arg_matches(&command.try_get_matches_from(args)?)
}
