//! The line in which people wait, as `list`, `stats` and `send` count it.

use super::waitlist_handle::WaitlistHandle;
use crate::waitlist::{Selection, Standings, WaitlistEntry};

/// The order in which a command takes people.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum Order {
    /// By the time of the sign-up
    #[default]
    Time,
    /// By the number of people invited, then by the time of the sign-up, the earliest first
    Invites,
}

/// Returns how many people each selected person has invited, and the person, in the order of the line.
pub(super) fn read_ranked(
    list: &WaitlistHandle,
    selection: &Selection,
) -> anyhow::Result<impl Iterator<Item = (u64, WaitlistEntry)> + use<>> {
    let entries = list.entries(Selection::default())?.entries;
    let mut entries: Vec<_> = entries.collect::<anyhow::Result<_>>()?;
    let standings = Standings::read(list.list_key()?, entries.iter().cloned().map(anyhow::Ok))?;
    entries.retain(|entry| selection.selects(entry));
    entries.sort_by_cached_key(|entry| standings.place(&entry.email));
    let ranked = entries.into_iter();
    Ok(ranked.map(move |entry| (standings.invitations(&entry.email), entry)))
}
