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

/// An entry with its number of people invited.
pub(super) struct RankedEntry {
    pub(super) entry: WaitlistEntry,
    pub(super) invitations: u64,
}

/// Returns all entries in the order of the line.
pub(super) fn read_ranked(list: &WaitlistHandle) -> anyhow::Result<Vec<RankedEntry>> {
    let entries = list.entries(Selection::default())?.entries;
    let entries: Vec<_> = entries.collect::<anyhow::Result<_>>()?;
    let standings = Standings::read(list.list_key()?, entries.iter().cloned().map(anyhow::Ok))?;
    let ranked = entries.into_iter().map(|entry| RankedEntry {
        invitations: standings.invitations(&entry.email),
        entry,
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_by_cached_key(|it| standings.place(&it.entry.email));
    Ok(ranked)
}
