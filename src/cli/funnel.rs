//! How far the people of each source have come, for `stats --by source`: from the sign-up to the confirmation and to a
//! message of the owner, and how many have left.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use serde::Serialize;

use super::waitlist_handle::WaitlistHandle;
use crate::waitlist::{AddressHash, DeliveryState, Departure, ListKey, Source, WaitlistEntry};

/// Maximum number of sources that are counted apart. A flood of made-up sources needs no more memory than these.
const SOURCES_MAX: usize = 10_000;
/// Number of sources that are printed.
const SOURCES_SHOWN: usize = 20;

/// Counts people.
pub(super) struct FunnelCounter {
    key: ListKey,
    /// The people who have had a message, except for those that ask to confirm the address.
    invited: HashSet<AddressHash>,
    departures: Vec<Departure>,
    sources: HashMap<Source, Stages>,
    other: Stages,
    none: Stages,
}

/// How many people have come how far.
#[derive(Clone, Copy, Default, Serialize)]
struct Stages {
    sign_ups: u64,
    confirmed: u64,
    invited: u64,
    /// People who have left. The other counts do not include them, because they are erased.
    unsubscribed: u64,
}

/// The stages of each source.
#[derive(Serialize)]
pub(super) struct Funnel {
    /// The most frequent one first, at most [`SOURCES_MAX`].
    by_source: Vec<SourceStages>,
    /// People with one of the other sources.
    other_sources: Stages,
    /// People without a source.
    no_source: Stages,
}

#[derive(Serialize)]
struct SourceStages {
    source: String,
    #[serde(flatten)]
    stages: Stages,
}

impl FunnelCounter {
    /// Reads the people who were invited, and those who have unsubscribed.
    pub(super) fn read(list: &WaitlistHandle) -> anyhow::Result<Self> {
        let mut invited = HashSet::new();
        for message in list.messages()? {
            if message.id.is_confirmation() {
                continue;
            }
            let deliveries = list.deliveries(&message.id)?.into_iter();
            let accepted = deliveries.filter(|it| it.status.state == DeliveryState::Accepted);
            invited.extend(accepted.map(|it| it.recipient));
        }
        Ok(Self {
            key: list.key()?,
            invited,
            departures: list.suppressions()?.departures().collect(),
            sources: HashMap::new(),
            other: Stages::default(),
            none: Stages::default(),
        })
    }

    /// Counts a person.
    pub(super) fn add(&mut self, entry: &WaitlistEntry) {
        let is_invited =
            !self.invited.is_empty() && self.invited.contains(&self.key.hash(entry.email.key()));
        let stages = self.stages(entry.source.as_ref());
        stages.sign_ups += 1;
        stages.confirmed += u64::from(entry.confirmed_at.is_some());
        stages.invited += u64::from(is_invited);
    }

    /// Returns the stages of a source.
    fn stages(&mut self, source: Option<&Source>) -> &mut Stages {
        let is_full = self.sources.len() >= SOURCES_MAX;
        match source {
            None => &mut self.none,
            Some(source) if is_full && !self.sources.contains_key(source) => &mut self.other,
            Some(source) => self.sources.entry(source.clone()).or_default(),
        }
    }

    /// Returns the stages, or `None` if everybody has only signed up.
    pub(super) fn finish(mut self) -> Option<Funnel> {
        // Last, so that the sources of people on the list are counted apart first.
        for departure in std::mem::take(&mut self.departures) {
            self.stages(departure.source.as_ref()).unsubscribed += 1;
        }
        let sources = self
            .sources
            .into_iter()
            .map(|(source, stages)| SourceStages {
                source: source.to_string(),
                stages,
            });
        let mut by_source: Vec<_> = sources.collect();
        by_source.sort_unstable_by(|a, b| {
            let by_count = b.stages.sign_ups.cmp(&a.stages.sign_ups);
            by_count.then_with(|| a.source.cmp(&b.source))
        });
        let funnel = Funnel {
            by_source,
            other_sources: self.other,
            no_source: self.none,
        };
        let total = funnel.total();
        (total.confirmed + total.invited + total.unsubscribed > 0).then_some(funnel)
    }
}

impl Funnel {
    fn total(&self) -> Stages {
        let sources = self.by_source.iter().map(|it| it.stages);
        sum(sources.chain([self.other_sources, self.no_source]))
    }

    /// Writes a table.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let shown = SOURCES_SHOWN.min(self.by_source.len());
        let (shown, rest) = self.by_source.split_at(shown);
        let rest = sum(rest.iter().map(|it| it.stages).chain([self.other_sources]));
        let mut rows: Vec<_> = shown
            .iter()
            .map(|it| (it.source.as_str(), it.stages))
            .collect();
        let others = [("other sources", rest), ("no source", self.no_source)];
        rows.extend(others.into_iter().filter(|(_, it)| !it.is_empty()));
        rows.push(("total", self.total()));
        let width = rows.iter().map(|(label, _)| label.chars().count()).max();
        let width = width.unwrap_or_default();
        writeln!(
            out,
            "\n{:<width$}  {:>9}  {:>9}  {:>9}  {:>12}",
            "", "sign-ups", "confirmed", "invited", "unsubscribed"
        )?;
        for (label, stages) in rows {
            let Stages {
                sign_ups,
                confirmed,
                invited,
                unsubscribed,
            } = stages;
            writeln!(
                out,
                "{label:<width$}  {sign_ups:>9}  {confirmed:>9}  {invited:>9}  {unsubscribed:>12}"
            )?;
        }
        if self.total().unsubscribed > 0 {
            writeln!(
                out,
                "people who have unsubscribed are erased; the other columns do not count them, and no option selects among them"
            )?;
        }
        Ok(())
    }
}

impl Stages {
    fn is_empty(self) -> bool {
        self.sign_ups + self.unsubscribed == 0
    }
}

fn sum(stages: impl Iterator<Item = Stages>) -> Stages {
    stages.fold(Stages::default(), |sum, it| Stages {
        sign_ups: sum.sign_ups + it.sign_ups,
        confirmed: sum.confirmed + it.confirmed,
        invited: sum.invited + it.invited,
        unsubscribed: sum.unsubscribed + it.unsubscribed,
    })
}
