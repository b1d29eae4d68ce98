//! The numbers of a list: `stats` prints them, and `report` draws them, except for the best inviters. Unless somebody
//! was invited, the memory depends only on the number of days, sources and deliveries.
//!
//! - `days`: sign-ups by day, week, month or year.
//! - `sources`: people by source, and how far they have come.

mod days;
mod sources;

use std::time::{Duration, SystemTime};

use indicatif::ProgressIterator;
use serde::Serialize;

use self::{days::DailyCounts, sources::SourceCounter};
pub(super) use self::{
    days::{Interval, SignUps, utc},
    sources::{Sources, Stages, percent},
};
use super::{
    standings::read_ranked, terminal::progress::progress, waitlist_handle::WaitlistHandle,
};
use crate::waitlist::Selection;

/// Maximum number of bars. A list that spans more years than this exceeds it, with one bar per year.
const BARS_MAX: usize = 31;
/// Maximum number of people in the table of inviters.
const INVITERS_MAX: usize = 10;

/// The numbers of the selected people.
#[derive(Serialize)]
pub(super) struct Numbers {
    #[serde(flatten)]
    pub(super) total: Stages,
    pub(super) last_24_hours: u64,
    pub(super) last_7_days: u64,
    pub(super) last_30_days: u64,
    /// Length of the interval of each bar.
    pub(super) per: Interval,
    pub(super) sign_ups: Vec<SignUps>,
    #[serde(flatten)]
    pub(super) sources: Sources,
    /// At most [`INVITERS_MAX`] people.
    pub(super) best_inviters: Vec<Inviter>,
}

/// A person who has invited others.
#[derive(Serialize)]
pub(super) struct Inviter {
    /// The address, masked: people show these numbers around.
    pub(super) person: String,
    pub(super) invitations: u64,
}

impl Numbers {
    /// Counts the selected people. Closes the list: the reader of the output may be slow, and must not keep it open.
    pub(super) fn count(
        list: WaitlistHandle,
        selection: &Selection,
        now: SystemTime,
    ) -> anyhow::Result<Self> {
        let mut sources = SourceCounter::read(&list)?;
        let best_inviters = best_inviters(&list, selection)?;
        let mut days = DailyCounts::default();
        let [mut last_24_hours, mut last_7_days, mut last_30_days] = [0; 3];
        let entries = list.entries(selection.clone())?;
        let bar = progress(entries.count, "reading");
        for entry in entries.entries.progress_with(bar) {
            let entry = entry?;
            // A time in the future has an age of zero.
            let age = now.duration_since(entry.joined_at).unwrap_or_default();
            for (count, days) in [
                (&mut last_24_hours, 1),
                (&mut last_7_days, 7),
                (&mut last_30_days, 30),
            ] {
                *count += u64::from(age < Duration::from_hours(24 * days));
            }
            // A clock was wrong. The bars end today, and otherwise could be thousands.
            if entry.joined_at <= now {
                days.add(utc(entry.joined_at).date());
            }
            sources.add(&entry);
        }
        let (per, sign_ups) = days.sign_ups(BARS_MAX, days::last_day(selection, now));
        let sources = sources.finish();
        Ok(Self {
            total: sources.total(),
            last_24_hours,
            last_7_days,
            last_30_days,
            per,
            sign_ups,
            sources,
            best_inviters,
        })
    }

    /// Returns the totals with their labels, as both commands show them.
    pub(super) fn totals(&self, selection: &Selection) -> Vec<(&'static str, u64)> {
        let total = if selection.is_everything() {
            "on the list"
        } else {
            "selected"
        };
        let mut totals = vec![
            (total, self.total.people),
            ("last 24 hours", self.last_24_hours),
            ("last 7 days", self.last_7_days),
            ("last 30 days", self.last_30_days),
        ];
        if self.total.confirmed > 0 {
            totals.push(("confirmed", self.total.confirmed));
        }
        totals
    }
}

/// Returns the selected people who have invited most. That takes memory for each person on the list, if anybody was invited.
fn best_inviters(list: &WaitlistHandle, selection: &Selection) -> anyhow::Result<Vec<Inviter>> {
    for entry in list.entries(Selection::default())?.entries {
        if entry?.source.is_some_and(|it| it.is_invitation()) {
            let ranked = read_ranked(list, selection)?.take(INVITERS_MAX);
            let inviters = ranked.filter(|(invitations, _)| *invitations > 0);
            let masked = inviters.map(|(invitations, entry)| Inviter {
                person: entry.email.masked(),
                invitations,
            });
            return Ok(masked.collect());
        }
    }
    Ok(Vec::new())
}
