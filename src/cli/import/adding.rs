//! Adds the people of a checked file to the list. A dry run only counts them.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use indicatif::ProgressIterator;

use super::{
    check::Checked,
    person::{self, Person},
    plan::Verdict,
    report::ImportReport,
    row::Row,
    rows::Rows,
};
use crate::{
    cli::{
        open_list_error::OpenListError, store_location::StoreLocation,
        terminal::progress::entry_progress, waitlist_handle::WaitlistHandle,
    },
    waitlist::{CALL_MAX, Email, JoinOutcome, Selection, Suppressions, WaitlistEntry},
};

/// The number of entries that the list has acknowledged, once it may have got some. Another thread reads it when the program
/// is interrupted.
#[derive(Clone, Default)]
pub(super) struct Progress(Arc<Mutex<Option<usize>>>);

impl Progress {
    fn add(&self, entries: usize) {
        let mut added = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *added = Some(added.unwrap_or_default() + entries);
    }

    /// Describes how far the import is.
    pub(super) fn describe(&self) -> String {
        match *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            None => "nothing was imported".to_owned(),
            Some(added) => format!(
                "{added} added, and perhaps some more; import the file again: existing entries are not changed"
            ),
        }
    }
}

/// Where the people are added.
pub(super) enum Target {
    List {
        list: WaitlistHandle,
        progress: Progress,
    },
    DryRun {
        listed: HashSet<String>,
        /// `None` if there is no list.
        suppressions: Option<Suppressions>,
    },
}

impl Target {
    /// Opens the list, and creates it if it is missing. Also returns its location if it is new. A dry run creates none.
    pub(super) fn open(
        location: &StoreLocation,
        is_dry_run: bool,
        progress: &Progress,
    ) -> anyhow::Result<(Self, Option<String>)> {
        if !is_dry_run {
            let (list, is_new) = open_or_create(location)?;
            let progress = progress.clone();
            return Ok((
                Self::List { list, progress },
                is_new.then(|| location.to_string()),
            ));
        }
        let (mut listed, mut suppressions) = (HashSet::new(), None);
        let list = location.open_existing_to_read()?;
        if let Some(list) = &list {
            suppressions = Some(list.suppressions()?);
            for entry in list.entries(Selection::default())?.entries {
                listed.insert(entry?.email.key());
            }
        }
        let target = Self::DryRun {
            listed,
            suppressions,
        };
        Ok((target, list.is_none().then(|| location.to_string())))
    }

    /// Suppresses people who have left, unless they are on the list. Returns how many are suppressed.
    fn suppress(&self, leavers: &[Email]) -> anyhow::Result<usize> {
        match self {
            Self::List { list, progress } => {
                progress.add(0);
                let suppressed = list.call_in_parts(leavers, |list, part| list.suppress(part))?;
                let suppressed = suppressed.into_iter();
                Ok(suppressed.filter(|is_suppressed| *is_suppressed).count())
            }
            Self::DryRun { listed, .. } => {
                let unlisted = leavers.iter().filter(|it| !listed.contains(&it.key()));
                Ok(unlisted.count())
            }
        }
    }

    fn join(&mut self, entries: Vec<WaitlistEntry>) -> anyhow::Result<Vec<JoinOutcome>> {
        match self {
            Self::List { list, progress } => {
                let outcomes = list.join_all(entries)?;
                let new = outcomes.iter().filter(|it| **it == JoinOutcome::New);
                progress.add(new.count());
                Ok(outcomes)
            }
            Self::DryRun {
                listed,
                suppressions,
            } => {
                let outcome = |WaitlistEntry { email, .. }: &WaitlistEntry| {
                    if listed.contains(&email.key()) {
                        JoinOutcome::AlreadyListed
                    } else if suppressions.as_ref().is_some_and(|it| it.contains(email)) {
                        JoinOutcome::Suppressed
                    } else {
                        listed.insert(email.key());
                        JoinOutcome::New
                    }
                };
                Ok(entries.iter().map(outcome).collect())
            }
        }
    }
}

/// Opens the list, and creates it if it is missing. Returns whether it is new.
pub(in crate::cli) fn open_or_create(
    location: &StoreLocation,
) -> Result<(WaitlistHandle, bool), OpenListError> {
    match location.open_existing()? {
        Some(list) => Ok((list, false)),
        None => Ok((location.open_or_create()?, true)),
    }
}

/// Suppresses the people who have left, durably, and then adds the others in batches.
pub(super) fn add(
    text: &str,
    checked: &Checked,
    mut target: Target,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let suppressed = target.suppress(&checked.outsiders.leavers)?;
    report.suppressed_leavers = suppressed as u64;
    let now = SystemTime::now();
    let bar = entry_progress(checked.rows, "adding");
    let mut rows = Rows::open(text)?.progress_with(bar);
    loop {
        let batch = next_batch(&mut rows, checked, now, report);
        if batch.is_empty() {
            return Ok(());
        }
        let entries = batch.iter().filter_map(|person| person.entry.clone());
        let outcomes = target.join(entries.collect())?;
        for (person, outcome) in batch.iter().zip(outcomes) {
            report.add_joined(person, outcome);
        }
    }
}

/// Reads the next people who stay. Invalid rows were reported when the file was checked.
fn next_batch(
    rows: &mut impl Iterator<Item = Row>,
    checked: &Checked,
    now: SystemTime,
    report: &mut ImportReport,
) -> Vec<Person> {
    let mut batch = Vec::new();
    while batch.len() < CALL_MAX
        && let Some(Row { cells, .. }) = rows.next()
    {
        let Ok(cells) = cells else { continue };
        let Ok(person) = person::read(&cells, &checked.plan, now) else {
            continue;
        };
        match checked.outsiders.verdict(&person) {
            Verdict::Stays => batch.push(person),
            Verdict::Left => report.left += 1,
            Verdict::Undecided => {
                report.add_undecided(&checked.survey, &person, &cells);
            }
        }
    }
    batch
}
