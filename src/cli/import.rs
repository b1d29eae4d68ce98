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
    control::TOGETHER,
    open_list::List,
    store_location::Place,
    terminal::output::{Output, progress},
    transfer::{
        column_report::{Use, Uses},
        export_format::Seal,
        import_reader::{self, Found, Reason, Row, Rows},
        scan::{Survey, survey},
        source::{open, seal},
        status_options::Answers,
    },
};
use crate::waitlist::{Entry, Selection};

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
pub(super) struct Import {
    /// What to read; standard input without it
    file: Option<PathBuf>,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// Take an export that was changed or cut off since
    #[arg(long)]
    changed: bool,
    #[command(flatten)]
    answers: Answers,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    output: Output,
}

/// What came of the rows.
#[derive(Default, Serialize)]
struct Report {
    columns: Vec<Use>,
    added: u64,
    already_listed: u64,
    /// The first of them, in the order of the file.
    rejected: Vec<Rejected>,
    /// How many more there are.
    #[serde(skip_serializing_if = "is_zero")]
    rejected_not_shown: u64,
    #[serde(skip)]
    left: u64,
    #[serde(skip)]
    wrong: u64,
    /// Of those who are not rejected.
    without_time: u64,
    /// Implausible times in an intact export.
    implausible_times: u64,
}

#[derive(Serialize)]
struct Rejected {
    line: u64,
    reason: Reason,
}

/// Maximum number of rejected lines that are shown, of those who have left and of the others.
const REJECTED_MAX: u64 = 10_000;

/// As serde wants it.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Report {
    fn reject(&mut self, line: u64, reason: Reason) {
        let count = if reason == Reason::Left {
            &mut self.left
        } else {
            &mut self.wrong
        };
        *count += 1;
        if *count <= REJECTED_MAX {
            self.rejected.push(Rejected { line, reason });
        } else {
            self.rejected_not_shown += 1;
        }
    }

    fn rejected(&self) -> u64 {
        self.left + self.wrong
    }
}

/// Puts entries somewhere and says whether each is new there.
type Join<'a> = dyn FnMut(Vec<Entry>) -> Result<Vec<bool>, String> + 'a;

pub(super) fn run(options: &Import) -> Result<(), String> {
    let from = options.file.as_deref().filter(|file| *file != "-");
    let name = from.map_or("standard input".into(), |file| file.display().to_string());
    let told = |error: io::Error| match error.get_ref() {
        Some(_) => format!("{name}: {error}; nothing was imported"),
        None => format!("{name} can't be read: {error}; nothing was imported"),
    };
    let file = open(from).map_err(told)?;
    let seal = if options.changed {
        None
    } else {
        seal(&file).map_err(told)?
    };
    let Survey {
        rules,
        columns,
        is_ours,
        question,
    } = look_through(&file, &options.answers, seal.as_ref()).map_err(told)?;
    let mut report = Report {
        columns,
        ..Report::default()
    };
    if let Some(question) = question {
        print(options, &report, true, is_ours)?;
        return Err(format!("{name}: nothing was imported: {question}"));
    }

    let length = file.metadata().map_err(told)?.len();
    let bar = progress(length, "reading");
    let opened = import_reader::open(bar.wrap_read(file), &options.answers.ignore).map_err(told)?;
    let rows = opened.read(rules, SystemTime::now());
    let imported = if options.dry_run {
        let list = options.place.store().find()?;
        import(rows, &mut pretend(list.as_ref())?, &mut report)
    } else {
        let list = options.place.store().open_or_make()?;
        import(rows, &mut |entries| list.join_all(entries), &mut report)
    };
    bar.finish_and_clear();
    print(options, &report, false, is_ours)?;
    imported?;

    let lines = report.added + report.already_listed + report.rejected();
    if let Some(seal) = seal
        && seal.entries != lines
    {
        return Err(format!(
            "{name} says that it has {} entries, and has {lines}",
            seal.entries
        ));
    }
    // There is nothing to correct about those who have left.
    let wrong = report.wrong;
    if wrong > 0 {
        return Err(format!(
            "{wrong} of {lines} lines are wrong, see above; correct them and import {name} again"
        ));
    }
    Ok(())
}

/// Reads a file once, before anybody is added, and rewinds it.
fn look_through(mut file: &File, answers: &Answers, seal: Option<&Seal>) -> io::Result<Survey> {
    let length = file.metadata()?.len();
    let bar = progress(length, "looking through");
    let opened = import_reader::open(bar.wrap_read(file.try_clone()?), &answers.ignore)?;
    let survey = survey(opened, answers, seal.is_some())?;
    bar.finish_and_clear();
    file.rewind()?;
    Ok(survey)
}

/// Puts everybody on the list, line by line read while those before are written.
fn import(rows: Rows, join: &mut Join<'_>, report: &mut Report) -> Result<(), String> {
    let (send, chunks) = mpsc::sync_channel(4);
    let reading = thread::spawn(move || {
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            let chunk: io::Result<Vec<Row>> = rows.by_ref().take(TOGETHER).collect();
            if send.send(chunk).is_err() {
                break;
            }
        }
    });
    for chunk in chunks {
        let mut entries = Vec::new();
        for Row { line, found } in chunk.map_err(|error| stopped(report, &error.to_string()))? {
            match found {
                Ok(Found {
                    entry,
                    has_time,
                    is_plausible,
                }) => {
                    entries.push(entry);
                    report.without_time += u64::from(!has_time);
                    report.implausible_times += u64::from(!is_plausible);
                }
                Err(reason) => report.reject(line, reason),
            }
        }
        let joined = join(entries).map_err(|why| stopped(report, &why))?;
        let added = joined.iter().filter(|is_new| **is_new).count();
        report.added += added as u64;
        report.already_listed += (joined.len() - added) as u64;
    }
    // It has ended, but perhaps not at the end.
    let read = reading.join();
    read.map_err(|_| stopped(report, "the rest can't be read: a fault of this program"))
}

fn stopped(report: &Report, why: &str) -> String {
    format!(
        "{why}. {} were added before that: import it again, whoever is on the list stays as they are",
        report.added
    )
}

/// A list that nobody is put on, of those who are on one, if there is one.
fn pretend(
    list: Option<&List>,
) -> Result<impl FnMut(Vec<Entry>) -> Result<Vec<bool>, String>, String> {
    // Two of a million share 64 bits once in 10^7 lists.
    let hasher = RandomState::new();
    let mut listed = HashSet::new();
    if let Some(list) = list {
        for entry in list.entries(Selection::default())?.entries {
            listed.insert(hasher.hash_one(entry?.email.key()));
        }
    }
    Ok(move |entries: Vec<Entry>| {
        let join = |entry: &Entry| listed.insert(hasher.hash_one(entry.email.key()));
        Ok(entries.iter().map(join).collect())
    })
}

/// Prints the report, or only the columns if there is a question.
fn print(
    options: &Import,
    report: &Report,
    is_question: bool,
    is_ours: bool,
) -> Result<(), String> {
    let would = if options.dry_run { "would be " } else { "" };
    options.output.print(report, |out| {
        // The columns of an export are not a guess.
        let columns = if is_ours { &[] } else { &*report.columns };
        for line in Uses::describe(columns) {
            writeln!(out, "{line}")?;
        }
        if is_question {
            return Ok(());
        }
        for Rejected { line, reason } in &report.rejected {
            writeln!(out, "line {line}: {reason}")?;
        }
        if report.rejected_not_shown > 0 {
            writeln!(out, "and {} more lines", report.rejected_not_shown)?;
        }
        let (added, already, rejected) = (report.added, report.already_listed, report.rejected());
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
