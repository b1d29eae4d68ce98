//! People by source, and how far they have come: from the sign-up to the confirmation and to a message of the owner, and
//! how many have left.

use std::{
    collections::{HashMap, HashSet},
    iter::Sum,
};

use serde::Serialize;

use crate::{
    cli::waitlist_handle::WaitlistHandle,
    waitlist::{AddressHash, DeliveryState, ListKey, MessageId, Source, WaitlistEntry},
};

/// Number of sources that are shown apart.
const SOURCES_SHOWN: usize = 20;

/// How many people have come how far.
#[derive(Clone, Copy, Default, Serialize)]
pub(in crate::cli) struct Stages {
    /// People on the list.
    pub(in crate::cli) people: u64,
    /// People who have confirmed their address.
    pub(in crate::cli) confirmed: u64,
    /// People who have had a message, except for those that ask to confirm the address.
    pub(in crate::cli) mailed: u64,
    /// People who have left. The other counts do not include them, because they are erased.
    pub(in crate::cli) unsubscribed: u64,
}

/// The people of each source.
#[derive(Serialize)]
pub(in crate::cli) struct Sources {
    /// The most frequent one first.
    sources: Vec<SourceStages>,
    /// People without a source.
    no_source: Stages,
}

#[derive(Serialize)]
struct SourceStages {
    source: String,
    percent: f64,
    #[serde(flatten)]
    stages: Stages,
}

/// Counts people by source.
pub(super) struct SourceCounter {
    key: ListKey,
    /// The people who have had a message.
    mailed: HashSet<AddressHash>,
    sources: HashMap<Option<Source>, Stages>,
}

impl SourceCounter {
    /// Reads the people who were mailed, and counts those who have left.
    pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Self> {
        let mut mailed = HashSet::new();
        for message in list.messages()? {
            if [MessageId::confirmation(), MessageId::confirmation_days()].contains(&message.id) {
                continue;
            }
            let deliveries = list.deliveries(&message.id)?.into_iter();
            let accepted = deliveries.filter(|it| it.status.state == DeliveryState::Accepted);
            mailed.extend(accepted.map(|it| it.recipient));
        }
        let mut sources = HashMap::<_, Stages>::new();
        for departure in list.suppressions()?.departures() {
            let source = label(departure.source);
            sources.entry(source).or_default().unsubscribed += 1;
        }
        Ok(Self {
            key: list.list_key()?,
            mailed,
            sources,
        })
    }

    /// Counts a person.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        let is_mailed =
            !self.mailed.is_empty() && self.mailed.contains(&self.key.hash(entry.email.key()));
        let stages = self.sources.entry(label(entry.source.clone())).or_default();
        stages.people += 1;
        stages.confirmed += u64::from(entry.confirmed_at.is_some());
        stages.mailed += u64::from(is_mailed);
    }

    /// Sorts the sources.
    pub(super) fn finish(self) -> Sources {
        let total = self.sources.values().map(|stages| stages.people).sum();
        let (mut sources, mut no_source) = (Vec::new(), Stages::default());
        for (source, stages) in self.sources {
            match source {
                None => no_source = stages,
                Some(source) => sources.push(SourceStages {
                    source: source.to_string(),
                    percent: percent(stages.people, total),
                    stages,
                }),
            }
        }
        sources.sort_unstable_by(|a, b| {
            (b.stages.people, &a.source).cmp(&(a.stages.people, &b.source))
        });
        Sources { sources, no_source }
    }
}

/// Returns the source under which a person is counted: all invitations are one, which no link can name.
fn label(source: Option<Source>) -> Option<Source> {
    source.map(|source| match source.is_invitation() {
        true => Source::from_stored("by invitation"),
        false => source,
    })
}

impl Sources {
    /// Returns whether anybody has a source.
    pub(in crate::cli) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Returns the sum of all rows.
    pub(super) fn total(&self) -> Stages {
        let sources = self.sources.iter().map(|it| it.stages);
        sources.chain([self.no_source]).sum()
    }

    /// Returns the most frequent sources, all others together, and the people without one. The other labels have a
    /// space, which no source has.
    pub(in crate::cli) fn rows(&self) -> Vec<(&str, Stages)> {
        let shown = SOURCES_SHOWN.min(self.sources.len());
        let (shown, rest) = self.sources.split_at(shown);
        let rest = rest.iter().map(|it| it.stages);
        let others = [("other sources", rest.sum()), ("no source", self.no_source)];
        let others = others.into_iter();
        let others = others.filter(|(_, it): &(_, Stages)| it.people + it.unsubscribed > 0);
        let shown = shown.iter().map(|it| (it.source.as_str(), it.stages));
        shown.chain(others).collect()
    }
}

impl Sum for Stages {
    fn sum<I: Iterator<Item = Self>>(stages: I) -> Self {
        stages.fold(Self::default(), |sum, it| Self {
            people: sum.people + it.people,
            confirmed: sum.confirmed + it.confirmed,
            mailed: sum.mailed + it.mailed,
            unsubscribed: sum.unsubscribed + it.unsubscribed,
        })
    }
}

/// Returns a share in percent, to one decimal place.
pub(in crate::cli) fn percent(count: u64, total: u64) -> f64 {
    (count as f64 / total.max(1) as f64 * 1000.0).round() / 10.0
}
