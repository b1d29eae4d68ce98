//! `landing report`: writes a page with charts of the list.
//!
//! - `data`: counts the entries, in one pass.
//! - `sections`: what the page says about each count, with its chart and its table.
//! - `charts`: draws the charts.
//! - `format`: numbers and dates as text.
//! - `page`: puts the page together.

mod charts;
mod data;
mod format;
mod page;
mod sections;

use std::{io::Write, path::PathBuf, time::SystemTime};

use indicatif::ProgressIterator;
use serde_json::json;

use self::{data::ReportData, page::render_page};
use super::{
    output_file::write_file,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::{
        output::{OutputArgs, is_stdout_name, print_all_to_stdout},
        progress::entry_progress,
    },
};
use crate::copy;

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing report -o report.html

The page is one file that loads nothing else. It contains counts and the names of sources, but no addresses. With --json, \
these counts are written instead of the page.")]
pub(super) struct ReportArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    /// File to write, instead of standard output. It appears under this name once it is complete
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Name of the product, in the title
    #[arg(long, env = "LANDING_PRODUCT", value_name = "NAME", default_value = copy::PRODUCT)]
    product: String,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let file = args.file.as_deref();
    let file = file.filter(|file| !is_stdout_name(file));
    let selection = args.selection.selection()?;
    let mut data = ReportData::new(&selection, SystemTime::now());
    let list = args.store.announce_location()?.open_to_read()?;
    let entries = list.entries(selection.clone())?;
    let bar = entry_progress(entries.count, "reading");
    for entry in entries.entries.progress_with(bar) {
        data.add(&entry?);
    }
    // The reader of the output may be slow, and must not keep the list open.
    drop(list);
    let counts = data.finish();
    let report = if args.output.json {
        serde_json::to_string(&counts)? + "\n"
    } else {
        render_page(&args.product, &selection, &counts)
    };
    let Some(file) = file else {
        return print_all_to_stdout(|out| out.write_all(report.as_bytes()));
    };
    let name = file.display().to_string();
    write_file(file, |out| out.write_all(report.as_bytes()))?;
    let json = json!({ "entries": counts.total, "file": name });
    args.output.print(&json, |out| {
        writeln!(out, "{} entries in {name}", counts.total)
    })
}
