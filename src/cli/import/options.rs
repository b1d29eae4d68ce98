//! What says what the columns of a file mean: the owner's options. A preset says the same in the same way.

use serde::Deserialize;

use super::{field::Mapping, times};

/// The options, as given.
#[derive(clap::Args, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PlanOptions {
    /// The column that has a field: email, joined_at, source, confirmed_at or asked_at (when a confirmation was asked for)
    #[arg(long, value_name = "FIELD=COLUMN")]
    pub(super) map: Vec<Mapping>,
    /// People with this value have left: they are suppressed. COLUMN= is an empty cell, COLUMN=* any value that no option names
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub(super) left: Vec<String>,
    /// People with this value stay: they are added
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub(super) stay: Vec<String>,
    /// People with this value are left out for now: a later import may add them
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub(super) undecided: Vec<String>,
    /// Do not read this column
    #[arg(long, value_name = "COLUMN")]
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
    #[arg(long, value_name = "FORMAT", value_parser = times::parse_format)]
    pub(super) date_format: Option<String>,
    /// Report rows that cannot be read, and import the others. Otherwise they stop the import
    #[arg(long)]
    pub(super) skip_invalid: bool,
}

impl PlanOptions {
    /// Returns the options as arguments of a command line, before the shell's quoting.
    pub(super) fn to_args(&self) -> Vec<String> {
        let mut args = Vec::new();
        let mut add = |option: &str, value: &str| args.extend([option.into(), value.into()]);
        if let Some(preset) = &self.preset {
            add("--preset", preset);
        }
        for Mapping { field, column } in &self.map {
            add("--map", &format!("{}={column}", field.name()));
        }
        if let Some(format) = &self.date_format {
            add("--date-format", format);
        }
        for (option, values) in [
            ("--left", &self.left),
            ("--stay", &self.stay),
            ("--undecided", &self.undecided),
            ("--ignore", &self.ignore),
        ] {
            values.iter().for_each(|value| add(option, value));
        }
        let flags = [
            ("--ignore-rest", self.ignore_rest),
            ("--nobody-left", self.nobody_left),
            ("--everybody-left", self.everybody_left),
            ("--skip-invalid", self.skip_invalid),
        ];
        let set = flags.iter().filter(|(_, is_set)| *is_set);
        args.extend(set.map(|(flag, _)| (*flag).to_owned()));
        args
    }
}
