//! `landing backup`: writes everything that is stored, for `landing restore`.
//!
//! `lines` has the format, and `reader` reads it again.

mod lines;
mod reader;

use std::{
    io::{self, IsTerminal, Write},
    time::SystemTime,
};

use anyhow::bail;
use indicatif::ProgressBar;
use serde_json::json;

use self::lines::{FORMAT_VERSION, Frame, Header, Summary, Trailer, to_line};
use super::{
    output_file::OutputFileArgs, store_location::CommonArgs, terminal::progress::progress,
    waitlist_handle::WaitlistHandle,
};
use crate::waitlist::{BackupItem, Selection};

pub(super) use self::{lines::BackupCounts, reader::BackupReader};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing backup -o waitlist.backup

A backup has the people with everything that is known about them, the suppressed addresses, the messages with their \
deliveries, and the secret key of the list: keep it secret. The last line has the counts and a checksum, by which \
`landing restore` rejects a file that was changed or cut off.")]
pub(super) struct BackupArgs {
    #[command(flatten)]
    output: OutputFileArgs,
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) fn run(args: &BackupArgs) -> anyhow::Result<()> {
    let is_stdout = args.output.path().is_none();
    if is_stdout && io::stdout().is_terminal() {
        bail!("a backup has the secret key of the list; write it to a file with -o FILE");
    }
    if is_stdout && args.common.output.json {
        bail!("--json prints what the backup in a file has; name the file with -o FILE");
    }
    let list = args.common.store.announce_location()?.open()?;
    let bar = progress(0, "writing");
    let written = args
        .output
        .write(move |out| write_backup(out, &list, &bar))?;
    let Some((name, Trailer { counts, sha256 })) = written else {
        return Ok(());
    };
    let mut json = json!(counts);
    json["file"] = json!(name);
    json["sha256"] = json!(sha256);
    args.common
        .output
        .print(&json, |out| writeln!(out, "{counts} in {name}"))
}

/// Writes a list, and returns the last line. The people come first: somebody who leaves in between is listed and suppressed, so
/// that no message goes out and no import adds the address. The caller flushes the output.
pub(super) fn write_backup(
    mut out: impl Write,
    list: &WaitlistHandle,
    bar: &ProgressBar,
) -> io::Result<Trailer> {
    let first = to_line(&Frame::Backup(Header {
        format: FORMAT_VERSION,
        program: format!("landing {}", env!("LANDING_VERSION")),
        created_at: SystemTime::now(),
        key: list.list_key().map_err(io::Error::other)?,
    }))?;
    out.write_all(&first)?;
    let mut summary = Summary::new(&first);
    let mut write = |item: &BackupItem| {
        let line = to_line(item)?;
        summary.add(item, &line);
        out.write_all(&line)
    };
    let people = list.entries(Selection::default());
    let people = people.map_err(io::Error::other)?;
    bar.set_length(people.count);
    for entry in people.entries {
        write(&BackupItem::Person(entry.map_err(io::Error::other)?))?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let suppressions = list.suppressions().map_err(io::Error::other)?;
    for item in BackupItem::of_suppressions(&suppressions) {
        write(&item)?;
    }
    for message in list.messages().map_err(io::Error::other)? {
        let id = message.id.clone();
        let deliveries = list.deliveries(&id).map_err(io::Error::other)?;
        write(&BackupItem::Message(message))?;
        for delivery in deliveries {
            write(&BackupItem::Delivery(id.clone(), delivery))?;
        }
    }
    let trailer = summary.trailer();
    out.write_all(&to_line(&<Frame>::End(trailer.clone()))?)?;
    Ok(trailer)
}
