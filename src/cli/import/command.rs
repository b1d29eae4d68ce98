//! Runs `landing import`.

use std::{env, mem};

use anyhow::{Context, anyhow, bail};

use super::{
    adding::{self, ImportReport},
    check::{Person, check},
    input_file,
    options::{ImportArgs, parse},
    presets, preview,
    table::Table,
};
use crate::cli::{store_location::StoreLocation, terminal::output::OutputArgs};

pub(in crate::cli) fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let output = &args.common.output;
    if args.presets {
        return print_presets(output);
    }
    let path = args.file.as_deref().filter(|file| *file != "-");
    let name = input_file::display_name(path);
    // Before the first progress bar is drawn.
    let location = args.common.store.announce_location()?;
    let nothing = || format!("{name}: nothing was imported");
    let table = input_file::read(path).and_then(|text| Table::read(&text));
    let table = table.with_context(nothing)?;
    let checked = check(&table, &args.plan).with_context(nothing)?;
    let mut report = ImportReport::new(&checked);
    if let Some(obstacle) = checked.obstacle() {
        let typed = typed_args(&location);
        output.print(&report, |out| preview::write(out, &checked, &name, &typed))?;
        return Err(anyhow!(obstacle)).with_context(nothing);
    }
    let added = match args.dry_run {
        true => adding::count(location.open_if_exists()?.as_ref(), &checked, &mut report),
        false => adding::add(&location.open_or_create()?, &checked, &mut report),
    };
    output.print(&report, |out| report.write(out, &name, args.dry_run))?;
    added.with_context(|| format!("{name}: perhaps not everybody was added; import the file again"))
}

/// Returns the arguments that the owner has typed, with the location of the list as it is printed, without a password.
fn typed_args(location: &StoreLocation) -> Vec<String> {
    let args = env::args_os().skip(2);
    let args = args.map(|it| it.to_string_lossy().into_owned());
    let is_option = |arg: &str| ["--store", "--data"].contains(&arg);
    let mut is_location = false;
    args.map(|arg| match arg.split_once('=') {
        _ if mem::replace(&mut is_location, is_option(&arg)) => location.to_string(),
        Some((option, _)) if is_option(option) => format!("{option}={location}"),
        _ => arg,
    })
    .collect()
}

/// For tests: reads a file, without a process and a list, as `landing import` does with these options.
///
/// # Errors
/// Why nothing would be imported, below the preview or the invalid rows.
pub fn import_dry_run(file: &[u8], options: &[&str]) -> anyhow::Result<Vec<Person>> {
    let args = ["FILE"].iter().chain(options);
    let args: Vec<_> = args.map(ToString::to_string).collect();
    let table = Table::read(&input_file::decode(file)?)?;
    let checked = check(&table, &parse(&args)?.plan)?;
    let Some(obstacle) = checked.obstacle() else {
        return Ok(checked.people);
    };
    let mut shown = Vec::new();
    preview::write(&mut shown, &checked, "FILE", &args)?;
    bail!("{}{obstacle}", String::from_utf8_lossy(&shown))
}

fn print_presets(output: &OutputArgs) -> anyhow::Result<()> {
    let lines = presets::PRESETS.iter().map(|preset| {
        let text = format!("{}: {}\n  {}", preset.name, preset.program, preset.export);
        (preset, text)
    });
    output.print_lines(&lines.collect::<Vec<_>>())
}
