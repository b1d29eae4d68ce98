//! `landing list`: who is on the list, the newest first.

use std::io;

use serde::Serialize;

use super::{
    store_location::Place,
    terminal::output::{Output, is_terminal, printing},
    time::{Period, rfc3339},
};

#[derive(clap::Args)]
#[command(after_help = "Example: landing list --since 7d --limit 20")]
pub(super) struct List {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    period: Period,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    output: Output,
}

/// Not as `export` has it, which has a checksum behind it.
#[derive(Serialize)]
struct Line<'a> {
    joined_at: String,
    email: &'a str,
}

pub(super) fn run(options: &List) -> Result<(), String> {
    let list = options.place.store().open()?;
    let entries = list.entries(options.period.select(true))?.entries;
    let limit = usize::try_from(options.limit.unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    let is_terminal = is_terminal();
    printing(move |out| {
        let _list = list;
        if is_terminal && !options.output.json {
            writeln!(out, "{:<24}  EMAIL", "JOINED AT")?;
        }
        for entry in entries.take(limit) {
            let entry = entry.map_err(io::Error::other)?;
            let (email, joined_at) = (entry.email.as_typed(), rfc3339(entry.joined_at));
            if options.output.json {
                serde_json::to_writer(&mut *out, &Line { joined_at, email })?;
                writeln!(out)?;
            } else if is_terminal {
                writeln!(out, "{joined_at}  {email}")?;
            } else {
                writeln!(out, "{joined_at}\t{email}")?;
            }
        }
        Ok(())
    })
}
