//! `landing import`: adds the entries of a file to the list.

use std::{
    fs::File,
    io::{self, Seek},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    thread,
    time::SystemTime,
};

use anyhow::{Context, anyhow, bail};

use super::{
    list_extras,
    open_list_error::OpenListError,
    store_location::{StoreArgs, StoreLocation},
    terminal::{output::OutputArgs, progress::byte_progress, signals},
    transfer::{
        email_hashes::EmailHashes,
        error::ImportError,
        import_progress::ImportProgress,
        import_reader::{self, ImportRow, ImportRows},
        import_report::ImportReport,
        input_file::{display_name, open},
        reject_reason::RejectReason,
        scan::{Scan, scan},
        sign_up_time::DateFormat,
        status_options::StatusOptions,
    },
    waitlist_handle::WaitlistHandle,
};
use crate::exit::set_exit_note;
use crate::waitlist::{
    CALL_MAX, Email, JoinOutcome, PostgresOpenError, Selection, Suppressions, WaitlistEntry,
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing import mailchimp.csv --dry-run

Reads the files that `landing export` writes, and any CSV file whose header row names a column of e-mail addresses, \
such as those of Mailchimp, getwaitlist and spreadsheets. Entries that are on the list already are not changed, so a \
file can be imported again. Sign-up times are kept; rows without a time get the current time. If dates such as \
11/01/2026 may begin with the day or with the month, nothing is imported without --date-format.

People who have unsubscribed from the other list are skipped. Columns such as \"status\", \"unsubscribed_at\" and \
\"subscribed\" show who has; the report names the columns that were used. If a value in them is unknown, or \
everybody would be skipped, nothing is imported, and a message names the options that decide: \
--keep, --skip, --ignore or --skip-all.

These people are also suppressed, unless they are on this list: no later import adds them. People who have left this \
list (`landing erase --suppress`) are not added either. Only they can join again, on the page.")]
pub(super) struct ImportArgs {
    /// File to read, instead of standard input
    file: Option<PathBuf>,
    /// Report what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// How the file writes its dates: %d.%m.%Y for 21.11.2026, %m/%d/%y for 11/21/26 (strftime). A time of day after
    /// the date is recognized, and a time without a zone is in UTC
    #[arg(long, value_name = "FORMAT")]
    date_format: Option<DateFormat>,
    #[command(flatten)]
    status_options: StatusOptions,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Adds entries, and returns the outcome of each.
type JoinFn<'a> = dyn FnMut(Vec<WaitlistEntry>) -> anyhow::Result<Vec<JoinOutcome>> + 'a;

pub(super) fn run(args: &ImportArgs) -> anyhow::Result<()> {
    let path = args.file.as_deref().filter(|file| *file != "-");
    let name = display_name(path);
    let nothing_imported = || format!("{name}: nothing was imported");
    let nothing_imported_at = |line: Option<u64>| match line {
        Some(line) => format!("{name}:{line}: nothing was imported"),
        None => nothing_imported(),
    };
    let progress = Arc::new(ImportProgress::default());
    let interrupted = Arc::clone(&progress);
    signals::on_interrupt(move || interrupted.interrupt()).context("cannot handle signals")?;
    let (file_name, exiting) = (name.clone(), Arc::clone(&progress));
    set_exit_note(move || format!("{file_name}: {}", exiting.describe()));
    // Before the first progress bar is drawn.
    let location = args.store.announce_location()?;
    let file = open(path).map_err(|error| match path {
        // Somebody wants to add one person.
        Some(path) if is_address(path) => ImportError::AddressAsFile,
        _ => error.into(),
    });
    let file = file.with_context(nothing_imported)?;
    let Scan {
        rules,
        columns,
        is_own_export,
        header_line,
        question,
    } = scan_file(&file, args, &progress).map_err(|error| {
        let at = error.line();
        anyhow::Error::from(error).context(nothing_imported_at(at))
    })?;
    let mut report = ImportReport::new(columns, header_line);
    let print = |report: &ImportReport, is_finished: bool| {
        args.output.print(report, |out| {
            // The columns of an export are known, so they are reported only if the owner wants to know first.
            if args.dry_run || !is_own_export {
                report.write_columns(out)?;
            }
            if is_finished {
                report.write_result(out, &name, args.dry_run)?;
            }
            Ok(())
        })
    };
    if let Some(question) = question {
        print(&report, false)?;
        let at = question.line();
        return Err(question).with_context(|| nothing_imported_at(at));
    }

    let length = file.metadata().with_context(nothing_imported)?.len();
    let bar = byte_progress(length, "reading");
    progress.set_bar(&bar);
    let reader = import_reader::open(bar.wrap_read(file), &args.status_options.ignore)
        .with_context(nothing_imported)?;
    let rows = reader.into_rows(rules, SystemTime::now());
    let imported = if args.dry_run {
        let list = location.open_existing_to_read()?;
        if list.is_none() {
            report.new_list = Some(location.to_string());
        }
        let mut listed = listed_emails(list.as_ref())?;
        let suppressions = match &list {
            Some(list) => list.suppressions()?,
            None => Suppressions::default(),
        };
        let mut join = |entries: Vec<WaitlistEntry>| {
            let outcome = |WaitlistEntry { email, .. }: &WaitlistEntry| {
                if listed.contains(&email.key()) {
                    JoinOutcome::AlreadyListed
                } else if suppressions.contains(email) {
                    JoinOutcome::Suppressed
                } else {
                    listed.insert(&email.key());
                    JoinOutcome::New
                }
            };
            Ok(entries.iter().map(outcome).collect())
        };
        import(rows, &mut join, &mut report).map(|unsubscribed| {
            let unlisted = unsubscribed.iter().filter(|it| !listed.contains(&it.key()));
            report.unsubscribed_suppressed = unlisted.count() as u64;
        })
    } else {
        let (list, is_new) = open_or_create(&location)?;
        report.new_list = is_new.then(|| location.to_string());
        let mut join = |entries: Vec<WaitlistEntry>| {
            let count = entries.len();
            Ok(progress.track(count, || list.join_all(entries))?)
        };
        import(rows, &mut join, &mut report).and_then(|unsubscribed| {
            let suppressed = list_extras::suppress_unlisted(&list, &unsubscribed)?;
            report.unsubscribed_suppressed = suppressed as u64;
            Ok(())
        })
    };
    bar.finish_and_clear();
    print(&report, true)?;
    imported.map_err(|error| {
        anyhow!(
            "{name}: {error:#}; at least {} {} added before that; import the file again: existing entries are not \
             changed",
            report.added,
            if report.added == 1 { "entry was" } else { "entries were" }
        )
    })?;

    let line_count = report.line_count();
    // Lines of unsubscribed people need no correction.
    let invalid = report.invalid;
    if invalid > 0 {
        let lines = if line_count == 1 { "line" } else { "lines" };
        let (are, them) = if invalid == 1 {
            ("is", "it")
        } else {
            ("are", "them")
        };
        bail!(
            "{name}: {invalid} of {line_count} {lines} {are} invalid, see above; correct {them} and import the file again"
        );
    }
    Ok(())
}

/// Scans a file before anybody is added, and rewinds it.
fn scan_file(
    mut file: &File,
    args: &ImportArgs,
    progress: &ImportProgress,
) -> Result<Scan, ImportError> {
    let length = file.metadata()?.len();
    let bar = byte_progress(length, "scanning");
    progress.set_bar(&bar);
    let options = &args.status_options;
    let reader = import_reader::open(bar.wrap_read(file.try_clone()?), &options.ignore)?;
    let scan = scan(reader, options, args.date_format.clone())?;
    bar.finish_and_clear();
    file.rewind()?;
    Ok(scan)
}

/// Returns whether the name of a file is an e-mail address.
fn is_address(path: &Path) -> bool {
    path.to_str().is_some_and(|name| Email::parse(name).is_ok())
}

/// Opens the list, and creates it if it is missing. Returns whether it is new.
fn open_or_create(location: &StoreLocation) -> Result<(WaitlistHandle, bool), OpenListError> {
    match location.open_existing() {
        Ok(Some(list)) => Ok((list, false)),
        Ok(None) => Ok((location.open_or_create()?, true)),
        // Only `open_or_create` updates a list of an earlier format.
        Err(OpenListError::Postgres(PostgresOpenError::OlderFormat { .. })) => {
            Ok((location.open_or_create()?, false))
        }
        Err(error) => Err(error),
    }
}

/// Adds the entries in batches. Another thread reads the next lines while a batch is written. Returns the people who
/// have unsubscribed, each once.
fn import(
    rows: ImportRows,
    join: &mut JoinFn<'_>,
    report: &mut ImportReport,
) -> anyhow::Result<Vec<Email>> {
    let mut unsubscribed = Vec::new();
    let mut seen = EmailHashes::default();
    let (sender, batches) = mpsc::sync_channel(4);
    let reader = thread::spawn(move || {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let batch: io::Result<Vec<ImportRow>> = rows.by_ref().take(CALL_MAX).collect();
            if sender.send(batch).is_err() {
                break;
            }
        }
    });
    for batch in batches {
        let (mut entries, mut warnings) = (Vec::new(), Vec::new());
        for ImportRow { line, result } in batch.map_err(ImportError::from)? {
            match result {
                Ok(parsed) => {
                    entries.push(parsed.entry);
                    warnings.push(parsed.warnings);
                }
                Err(reason) => {
                    if let RejectReason::Unsubscribed(Some(email)) = &reason
                        && seen.insert(&email.key())
                    {
                        unsubscribed.push(email.clone());
                    }
                    report.reject(line, reason);
                }
            }
        }
        report.add_joined(&join(entries)?, &warnings);
    }
    // The channel also closes when the reader panics.
    reader
        .join()
        .map_err(|_| anyhow!("the rest of the file was not read because of an internal error"))?;
    Ok(unsubscribed)
}

/// Returns the addresses on a list, if there is one.
fn listed_emails(list: Option<&WaitlistHandle>) -> anyhow::Result<EmailHashes> {
    let mut listed = EmailHashes::default();
    if let Some(list) = list {
        for entry in list.entries(Selection::default())?.entries {
            listed.insert(&entry?.email.key());
        }
    }
    Ok(listed)
}
