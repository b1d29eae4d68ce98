//! Counts how many people came from each source, for `stats` and `report`.

use std::collections::HashMap;

use serde::Serialize;

use crate::waitlist::Source;

/// Maximum number of sources that are counted apart. A flood of made-up sources needs no more memory than these.
const SOURCES_MAX: usize = 10_000;
/// Number of sources that are shown apart.
const SOURCES_SHOWN: usize = 20;

/// Counts the people of each source.
#[derive(Default)]
pub(super) struct SourceCounts {
    /// The first [`SOURCES_MAX`] different sources.
    counted: HashMap<Source, u64>,
    /// People with one of the other sources.
    other: u64,
    /// People without a source.
    none: u64,
}

/// The sources, the most frequent one first.
#[derive(Serialize)]
pub(super) struct SourceRanking {
    /// At most [`SOURCES_MAX`].
    sources: Vec<SourceCount>,
    /// People with one of the other sources.
    pub(super) other_sources: u64,
    /// People without a source.
    pub(super) no_source: u64,
}

#[derive(Serialize)]
struct SourceCount {
    source: String,
    count: u64,
    percent: f64,
}

/// A bar in a chart of the sources.
pub(super) struct SourceBar<'a> {
    /// A source, or words with a space, which no source has.
    pub(super) label: &'a str,
    pub(super) count: u64,
    /// Whether this is one source, instead of all others or none.
    pub(super) is_source: bool,
}

impl SourceCounts {
    /// Counts a person.
    pub(super) fn add(&mut self, source: Option<&Source>) {
        let Some(source) = source else {
            self.none += 1;
            return;
        };
        if let Some(count) = self.counted.get_mut(source) {
            *count += 1;
        } else if self.counted.len() < SOURCES_MAX {
            self.counted.insert(source.clone(), 1);
        } else {
            self.other += 1;
        }
    }

    /// Sorts the sources.
    pub(super) fn rank(self) -> SourceRanking {
        let Self {
            counted,
            other,
            none,
        } = self;
        let total = counted.values().sum::<u64>() + other + none;
        let sources = counted.into_iter().map(|(source, count)| SourceCount {
            source: source.to_string(),
            count,
            percent: percent(count, total),
        });
        let mut sources: Vec<_> = sources.collect();
        sources.sort_unstable_by(|a, b| {
            let by_count = b.count.cmp(&a.count);
            by_count.then_with(|| a.source.cmp(&b.source))
        });
        SourceRanking {
            sources,
            other_sources: other,
            no_source: none,
        }
    }
}

impl SourceRanking {
    /// Returns the number of sources that are counted apart.
    pub(super) fn distinct(&self) -> usize {
        self.sources.len()
    }

    /// Returns the number of people.
    pub(super) fn total(&self) -> u64 {
        let counts = self.sources.iter().map(|source| source.count);
        counts.sum::<u64>() + self.other_sources + self.no_source
    }

    /// Returns the most frequent sources, then the people with any other source and those without one. There is always
    /// at least one bar.
    pub(super) fn bars(&self) -> Vec<SourceBar<'_>> {
        let (shown, rest) = self.sources.split_at(SOURCES_SHOWN.min(self.distinct()));
        let shown = shown.iter().map(|source| SourceBar {
            label: &source.source,
            count: source.count,
            is_source: true,
        });
        let rest: u64 = rest.iter().map(|source| source.count).sum();
        let other = SourceBar {
            label: "other sources",
            count: rest + self.other_sources,
            is_source: false,
        };
        let none = SourceBar {
            label: "no source",
            count: self.no_source,
            is_source: false,
        };
        let other = Some(other).filter(|bar| bar.count > 0);
        let none = Some(none).filter(|bar| bar.count > 0 || self.distinct() == 0);
        shown.chain(other).chain(none).collect()
    }
}

/// Returns a share in percent, to one decimal place.
pub(super) fn percent(count: u64, total: u64) -> f64 {
    (count as f64 / total.max(1) as f64 * 1000.0).round() / 10.0
}
