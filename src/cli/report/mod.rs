//! `landing report`: writes a page with the numbers of `stats`, drawn. `page` renders it.

mod page;

use std::time::SystemTime;

use super::{
    numbers::Numbers,
    output_file::OutputFileArgs,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::output::{counted, print_to_stdout},
};
use crate::{config::parse_product_name, copy};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing report -o report.html

The page is one file that loads nothing else. It contains counts and the names of sources, but no addresses. \
`landing stats --json` prints the same numbers for programs.")]
pub(super) struct ReportArgs {
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    output: OutputFileArgs,
    /// Name of the product, in the title
    #[arg(long, env = "LANDING_PRODUCT", value_name = "NAME", default_value = copy::PRODUCT,
          value_parser = parse_product_name)]
    product: String,
    #[command(flatten)]
    store: StoreArgs,
}

pub(super) fn run(args: &ReportArgs) -> anyhow::Result<()> {
    let selection = args.selection.selection()?;
    let now = SystemTime::now();
    let list = args.store.announce_location()?.open()?;
    let numbers = Numbers::count(list, &selection, now)?;
    let page = page::render(&args.product, &selection, &numbers, now);
    let written = args.output.write(|out| out.write_all(page.as_bytes()))?;
    let Some((name, ())) = written else {
        return Ok(());
    };
    let entries = counted(numbers.total.people, "entry", "entries");
    print_to_stdout(|out| writeln!(out, "{entries} in {name}"))
}
