//! `landing import`: puts the people of a file on the list.

use std::{
    collections::HashSet,
    fs::File,
    hash::{BuildHasher, RandomState},
    io::{self, Seek},
    path::PathBuf,
    sync::mpsc,
    thread,
    time::SystemTime,
};

use serde::Serialize;

use super::{
    control::BATCH_SIZE,
    open_list::WaitlistHandle,
    store_location::StoreArgs,
    terminal::output::{OutputArgs, progress_bar},
    transfer::{
        column_report::{ColumnReport, ColumnUse},
        export_format::Trailer,
        import_reader::{self, ImportRow, ImportRows, ParsedEntry, Reason},
        scan::{Scan, scan},
        source::{open, verify_trailer},
        status_options::StatusOptions,
    },
};
use crate::waitlist::{Selection, WaitlistEntry};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing import mailchimp.csv --dry-run

Reads what `landing export` writes, and any CSV with a header that names a column of e-mail addresses, \
such as those of Mailchimp, getwaitlist and spreadsheets. Who is on the list already stays as they are, \
so it can be run again. Times are kept; who has none joins now.

People who have left the other list are skipped. Columns such as \"status\", \"unsubscribed_at\" and \
\"subscribed\" say who has; the report names the columns that were used. If a value in them is unknown, or \
everybody would be skipped, nothing is imported, and a message names the options that answer the question: \
--keep, --skip, --ignore or --skip-all.")]
pub(super) struct ImportArgs {
    /// What to read; standard input without it
    file: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Take an export that was changed or cut off since
    #[arg(long)]
    changed: bool,
    #[command(flatten)]
    status_options: StatusOptions,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What came of the rows.
#[derive(Default, Serialize)]
struct ImportReport {
    columns: Vec<ColumnUse>,
    added: u64,
    already_listed: u64,
    /// The first of them, in the order of the file.
    rejected: Vec<RejectedLine>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    rejected_not_shown: u64,
    #[serde(skip)]
    unsubscribed: u64,
    #[serde(skip)]
    invalid: u64,
    /// Of those who are not rejected.
    without_time: u64,
    /// Implausible times in an intact export.
    implausible_times: u64,
}

#[derive(Serialize)]
struct RejectedLine {
    line: u64,
    reason: Reason,
}

/// Maximum number of rejected lines that are shown, of those who have left and of the others.
const REJECTED_SHOWN_MAX: u64 = 10_000;

/// As serde wants it.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl ImportReport {
    fn reject(&mut self, line: u64, reason: Reason) {
        let count = if reason == Reason::Unsubscribed {
            &mut self.unsubscribed
        } else {
            &mut self.invalid
        };
        *count += 1;
        if *count <= REJECTED_SHOWN_MAX {
            self.rejected.push(RejectedLine { line, reason });
        } else {
            self.rejected_not_shown += 1;
        }
    }

    fn rejected_count(&self) -> u64 {
        self.unsubscribed + self.invalid
    }
}

/// Puts entries somewhere and says whether each is new there.
type JoinFn<'a> = dyn FnMut(Vec<WaitlistEntry>) -> Result<Vec<bool>, String> + 'a;

pub(super) fn run(args: &ImportArgs) -> Result<(), String> {
    let from = args.file.as_deref().filter(|file| *file != "-");
    let name = from.map_or("standard input".into(), |file| file.display().to_string());
    let read_error = |error: io::Error| match error.get_ref() {
        Some(_) => format!("{name}: {error}; nothing was imported"),
        None => format!("{name} can't be read: {error}; nothing was imported"),
    };
    let file = open(from).map_err(read_error)?;
    let trailer = if args.changed {
        None
    } else {
        verify_trailer(&file).map_err(read_error)?
    };
    let Scan {
        rules,
        columns,
        is_own_export,
        question,
    } = scan_file(&file, &args.status_options, trailer.as_ref()).map_err(read_error)?;
    let mut report = ImportReport {
        columns,
        ..ImportReport::default()
    };
    if let Some(question) = question {
        print(args, &report, true, is_own_export)?;
        return Err(format!("{name}: nothing was imported: {question}"));
    }

    let length = file.metadata().map_err(read_error)?.len();
    let bar = progress_bar(length, "reading");
    let reader = import_reader::open(bar.wrap_read(file), &args.status_options.ignore)
        .map_err(read_error)?;
    let rows = reader.into_rows(rules, SystemTime::now());
    let imported = if args.dry_run {
        let list = args.store.location().open_existing()?;
        import(rows, &mut dry_run_join(list.as_ref())?, &mut report)
    } else {
        let list = args.store.location().open_or_create()?;
        import(rows, &mut |entries| list.join_all(entries), &mut report)
    };
    bar.finish_and_clear();
    print(args, &report, false, is_own_export)?;
    imported?;

    let line_count = report.added + report.already_listed + report.rejected_count();
    if let Some(trailer) = trailer
        && trailer.entries != line_count
    {
        return Err(format!(
            "{name} says that it has {} entries, and has {line_count}",
            trailer.entries
        ));
    }
    // There is nothing to correct about those who have left.
    let invalid = report.invalid;
    if invalid > 0 {
        return Err(format!(
            "{invalid} of {line_count} lines are wrong, see above; correct them and import {name} again"
        ));
    }
    Ok(())
}

/// Reads a file once, before anybody is added, and rewinds it.
fn scan_file(
    mut file: &File,
    status_options: &StatusOptions,
    trailer: Option<&Trailer>,
) -> io::Result<Scan> {
    let length = file.metadata()?.len();
    let bar = progress_bar(length, "looking through");
    let reader = import_reader::open(bar.wrap_read(file.try_clone()?), &status_options.ignore)?;
    let scan = scan(reader, status_options, trailer.is_some())?;
    bar.finish_and_clear();
    file.rewind()?;
    Ok(scan)
}

/// Puts everybody on the list, line by line read while those before are written.
fn import(
    rows: ImportRows,
    join: &mut JoinFn<'_>,
    report: &mut ImportReport,
) -> Result<(), String> {
    let (send, batches) = mpsc::sync_channel(4);
    let reading = thread::spawn(move || {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let batch: io::Result<Vec<ImportRow>> = rows.by_ref().take(BATCH_SIZE).collect();
            if send.send(batch).is_err() {
                break;
            }
        }
    });
    for batch in batches {
        let mut entries = Vec::new();
        for ImportRow { line, result } in
            batch.map_err(|error| interrupted_message(report, &error.to_string()))?
        {
            match result {
                Ok(ParsedEntry {
                    entry,
                    has_time,
                    is_time_valid,
                }) => {
                    entries.push(entry);
                    report.without_time += u64::from(!has_time);
                    report.implausible_times += u64::from(!is_time_valid);
                }
                Err(reason) => report.reject(line, reason),
            }
        }
        let joined = join(entries).map_err(|why| interrupted_message(report, &why))?;
        let added = joined.iter().filter(|is_new| **is_new).count();
        report.added += added as u64;
        report.already_listed += (joined.len() - added) as u64;
    }
    // It has ended, but perhaps not at the end.
    let read = reading.join();
    read.map_err(|_| interrupted_message(report, "the rest can't be read: a fault of this program"))
}

fn interrupted_message(report: &ImportReport, why: &str) -> String {
    format!(
        "{why}. {} were added before that: import it again, whoever is on the list stays as they are",
        report.added
    )
}

/// A list that nobody is put on, of those who are on one, if there is one.
fn dry_run_join(
    list: Option<&WaitlistHandle>,
) -> Result<impl FnMut(Vec<WaitlistEntry>) -> Result<Vec<bool>, String>, String> {
    // Two of a million share 64 bits once in 10^7 lists.
    let hasher = RandomState::new();
    let mut listed = HashSet::new();
    if let Some(list) = list {
        for entry in list.entries(Selection::default())?.entries {
            listed.insert(hasher.hash_one(entry?.email.key()));
        }
    }
    Ok(move |entries: Vec<WaitlistEntry>| {
        let join = |entry: &WaitlistEntry| listed.insert(hasher.hash_one(entry.email.key()));
        Ok(entries.iter().map(join).collect())
    })
}

/// Prints the report, or only the columns if there is a question.
fn print(
    args: &ImportArgs,
    report: &ImportReport,
    is_question: bool,
    is_own_export: bool,
) -> Result<(), String> {
    let would = if args.dry_run { "would be " } else { "" };
    args.output.print(report, |out| {
        // The columns of an export are not a guess.
        let columns = if is_own_export { &[] } else { &*report.columns };
        for line in ColumnReport::describe(columns) {
            writeln!(out, "{line}")?;
        }
        if is_question {
            return Ok(());
        }
        for RejectedLine { line, reason } in &report.rejected {
            writeln!(out, "line {line}: {reason}")?;
        }
        if report.rejected_not_shown > 0 {
            writeln!(out, "and {} more lines", report.rejected_not_shown)?;
        }
        let (added, already, rejected) = (report.added, report.already_listed, report.rejected_count());
        writeln!(
            out,
            "{added} {would}added, {already} already there, {rejected} rejected"
        )?;
        if report.without_time > 0 {
            writeln!(
                out,
                "{} have no time there: theirs is now",
                report.without_time
            )?;
        }
        if report.implausible_times > 0 {
            writeln!(
                out,
                "{} have an implausible time (before 1971 or in the future), kept as it is because the \
                 export is intact",
                report.implausible_times
            )?;
        }
        Ok(())
    })
}
