//! Adds the people of a checked file to the list. A dry run only counts them.

use std::time::SystemTime;

use super::{
    check::Checked,
    error::FileError,
    person::{self, Person},
    plan::Verdict,
    progress::ImportProgress,
    report::ImportReport,
    row::Row,
    rows::{Rows, Source},
};
use crate::{
    cli::{
        open_list_error::OpenListError, store_location::StoreLocation,
        transfer::email_hashes::EmailHashes, waitlist_handle::WaitlistHandle,
    },
    waitlist::{CALL_MAX, Email, JoinOutcome, Selection, Suppressions, WaitlistEntry},
};

/// Where the people are added.
pub(super) enum Target<'a> {
    List {
        list: WaitlistHandle,
        progress: &'a ImportProgress,
    },
    DryRun {
        listed: EmailHashes,
        /// `None` if there is no list.
        suppressions: Option<Suppressions>,
    },
}

impl<'a> Target<'a> {
    /// Opens the list, and creates it if it is missing. Also returns its location if it is new. A dry run creates none.
    pub(super) fn open(
        location: &StoreLocation,
        is_dry_run: bool,
        progress: &'a ImportProgress,
    ) -> anyhow::Result<(Self, Option<String>)> {
        if !is_dry_run {
            let (list, is_new) = open_or_create(location)?;
            return Ok((
                Self::List { list, progress },
                is_new.then(|| location.to_string()),
            ));
        }
        let (mut listed, mut suppressions) = (EmailHashes::default(), None);
        let list = location.open_existing_to_read()?;
        if let Some(list) = &list {
            suppressions = Some(list.suppressions()?);
            for entry in list.entries(Selection::default())?.entries {
                listed.insert(&entry?.email.key());
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
            Self::List { list, .. } => {
                let suppressed = list.suppress(leavers)?.into_iter();
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
                Ok(progress.track(entries.len(), || list.join_all(entries))?)
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
                        listed.insert(&email.key());
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
    source: Source,
    checked: &Checked,
    mut target: Target,
    report: &mut ImportReport,
) -> anyhow::Result<()> {
    let suppressed = target.suppress(&checked.outsiders.leavers)?;
    report.suppressed_leavers = suppressed as u64;
    let now = SystemTime::now();
    let mut rows = Rows::open(source)?;
    loop {
        let batch = next_batch(&mut rows, checked, now, report)?;
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
    rows: &mut Rows,
    checked: &Checked,
    now: SystemTime,
    report: &mut ImportReport,
) -> Result<Vec<Person>, FileError> {
    let mut batch = Vec::new();
    while batch.len() < CALL_MAX
        && let Some(Row { cells, .. }) = rows.next_row()?
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
    Ok(batch)
}
