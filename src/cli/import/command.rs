//! Runs `landing import`.

use std::{env, mem};

use anyhow::{Context, anyhow};

use super::{
    adding::{self, ImportReport},
    ask::check_asking,
    input_file,
    options::ImportArgs,
    presets, preview,
    table::Table,
};
use crate::cli::{
    store_location::StoreLocation,
    terminal::{output::OutputArgs, question::Terminal},
};

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
    let mut typed = typed_args(&location);
    let terminal = Terminal::open().filter(|_| !output.json);
    let checked = check_asking(terminal, &table, &mut typed).with_context(nothing)?;
    let mut report = ImportReport::new(&checked);
    if let Some(obstacle) = checked.obstacle() {
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

fn print_presets(output: &OutputArgs) -> anyhow::Result<()> {
    let lines = presets::PRESETS.iter().map(|preset| {
        let text = format!("{}: {}\n  {}", preset.name, preset.program, preset.export);
        (preset, text)
    });
    output.print_lines(&lines.collect::<Vec<_>>())
}
