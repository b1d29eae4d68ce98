//! The line in which people wait, as `list`, `show`, `stats` and `send` count it.

use super::waitlist_handle::WaitlistHandle;
use crate::waitlist::{Selection, StandingsReader, WaitlistEntry};

/// The order in which a command takes people.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub(super) enum Order {
    /// By the time of the sign-up
    #[default]
    Time,
    /// By the number of people invited, then by the time of the sign-up
    Invites,
}

/// A person in line.
pub(super) struct Waiting {
    pub(super) entry: WaitlistEntry,
    /// The number of people invited.
    pub(super) invitations: u64,
}

/// Returns everybody on the list, in the order of the line.
pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Vec<Waiting>> {
    let mut reader = StandingsReader::new(list.list_key()?);
    let mut entries = Vec::new();
    for entry in list.entries(Selection::default())?.entries {
        let entry = entry?;
        reader.add(&entry);
        entries.push(entry);
    }
    let standings = reader.finish();
    let waiting = |entry: WaitlistEntry| Waiting {
        invitations: standings.invitations(&entry.email),
        entry,
    };
    let mut line: Vec<_> = entries.into_iter().map(waiting).collect();
    line.sort_by_cached_key(|it| standings.place(&it.entry.email));
    Ok(line)
}
