//! The history of the clients, and the checker that compares it with the final list.
//!
//! For each address the checker looks for an order of the operations that explains every response and the final list. In it,
//! an operation takes effect between its request and its response. If the outcome of an operation is unknown, it may take
//! effect at any later time or never, but see [`Operation::is_fenced_by`]. An erasure may take effect several times.

use std::{
    collections::{BTreeMap, HashSet},
    iter::repeat_n,
    time::Duration,
};

/// Maximum number of operations on an address. The search keeps a bit for each.
const OPERATIONS_MAX: usize = 128;

/// How often one erasure may erase a person who signs up while it goes on, after the first time. It looks again until it finds
/// nobody, and begins again after a failure.
const REPEATED_ERASURES: usize = 4;

/// What is known about an operation: what a client reports, or [`ErasedAgain`](Self::ErasedAgain), which the checker adds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outcome {
    /// A sign-up got 201.
    Added,
    /// A sign-up got 409.
    AlreadyListed,
    /// A sign-up got 409 from a balancer that sends a request again if an instance does not respond. The first one may have
    /// added the address.
    AddedOrListed,
    /// A sign-up got another response, or none.
    MaybeAdded,
    /// `landing erase` erased the address.
    Erased,
    /// The same one erased somebody who had signed up in between.
    ErasedAgain,
    /// `landing erase` did not find the address.
    NotListed,
    /// `landing erase` failed.
    MaybeErased,
}

/// An operation of a client on an address.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) address: String,
    /// The time from the beginning of the history to the request.
    pub(super) invoked: Duration,
    /// The time from the beginning of the history to the response.
    pub(super) returned: Duration,
    pub(super) outcome: Outcome,
}

impl Operation {
    fn must_take_effect(&self) -> bool {
        !matches!(
            self.outcome,
            Outcome::MaybeAdded | Outcome::MaybeErased | Outcome::ErasedAgain
        )
    }

    /// Returns whether the address is listed after this operation, if it can take effect now. An operation with an
    /// unknown outcome is left out if it would change nothing.
    fn apply(&self, is_listed: bool) -> Option<bool> {
        match (self.outcome, is_listed) {
            (Outcome::Added | Outcome::MaybeAdded, false)
            | (Outcome::AlreadyListed, true)
            | (Outcome::AddedOrListed, _) => Some(true),
            (Outcome::Erased | Outcome::MaybeErased | Outcome::ErasedAgain, true)
            | (Outcome::NotListed, false) => Some(false),
            _ => None,
        }
    }

    /// Returns whether this operation can no longer take effect after `later` has. A statement may run after its client has
    /// given up. But a sign-up never adds a person who was erased since then, and an erasure never erases a person who has
    /// signed up since then. An erasure that finds nobody is no fence: it can wait for a sign-up that is being committed,
    /// and does not see its entry.
    fn is_fenced_by(&self, later: &Self) -> bool {
        let is_fence = matches!(
            (self.outcome, later.outcome),
            (Outcome::MaybeAdded, Outcome::Erased)
                | (Outcome::MaybeErased, Outcome::Added)
                // The erasure has returned, so it erases nobody any more.
                | (Outcome::ErasedAgain, _)
        );
        is_fence && self.returned < later.invoked
    }
}

/// A difference between the history and the final list.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Violation {
    /// The address must be listed, and is not.
    Lost(String),
    /// The address is listed more than once.
    Doubled(String),
    /// The address is listed, although it must have been erased.
    Resurrected(String),
    /// The address is listed, and nobody has signed up with it.
    NeverRequested(String),
    /// No order of the operations explains the responses, whether the address is listed or not.
    Contradiction(String),
    /// The count is not the number of entries.
    WrongCount {
        /// The number of entries.
        entries: u64,
        /// The count.
        count: u64,
    },
}

impl Violation {
    /// Returns the address, if the difference is about one.
    pub(super) fn address(&self) -> Option<&str> {
        match self {
            Self::Lost(address)
            | Self::Doubled(address)
            | Self::Resurrected(address)
            | Self::NeverRequested(address)
            | Self::Contradiction(address) => Some(address),
            Self::WrongCount { .. } => None,
        }
    }
}

/// Returns all differences between a history and the final list with its count.
pub(super) fn violations(history: &[Operation], list: &[String], count: u64) -> Vec<Violation> {
    let mut by_address: BTreeMap<&str, (Vec<&Operation>, usize)> = BTreeMap::new();
    for operation in history {
        let found = by_address.entry(&operation.address).or_default();
        found.0.push(operation);
    }
    for address in list {
        by_address.entry(address).or_default().1 += 1;
    }
    let mut found = Vec::new();
    for (address, (operations, entries)) in by_address {
        let is_listed = entries > 0;
        let address = address.to_owned();
        if entries > 1 {
            found.push(Violation::Doubled(address));
        } else if operations.is_empty() {
            found.push(Violation::NeverRequested(address));
        } else if !explains(&operations, is_listed) {
            found.push(match (explains(&operations, !is_listed), is_listed) {
                (false, _) => Violation::Contradiction(address),
                (true, false) => Violation::Lost(address),
                (true, true) => Violation::Resurrected(address),
            });
        }
    }
    let entries = list.len() as u64;
    if count != entries {
        found.push(Violation::WrongCount { entries, count });
    }
    found
}

/// Returns whether an order of the operations on one address explains their outcomes, and that the address is listed at
/// the end or not.
fn explains(operations: &[&Operation], is_listed: bool) -> bool {
    let erasures = operations.iter().filter(|it| it.outcome == Outcome::Erased);
    let repeated: Vec<_> = erasures
        .flat_map(|it| repeat_n(*it, REPEATED_ERASURES))
        .map(|it| Operation {
            outcome: Outcome::ErasedAgain,
            ..it.clone()
        })
        .collect();
    let operations: Vec<_> = operations.iter().copied().chain(&repeated).collect();
    assert!(
        operations.len() <= OPERATIONS_MAX,
        "too many operations on one address"
    );
    let mask = |condition: &dyn Fn(&Operation) -> bool| {
        let matching = operations.iter().enumerate();
        let matching = matching.filter(|(_, it)| it.must_take_effect() && condition(it));
        matching.fold(0_u128, |mask, (at, _)| mask | 1 << at)
    };
    let known = mask(&|_| true);
    let before: Vec<_> = operations
        .iter()
        .map(|it| mask(&|other| other.returned < it.invoked))
        .collect();
    let fences: Vec<_> = operations
        .iter()
        .map(|it| mask(&|other| it.is_fenced_by(other)))
        .collect();
    let mut seen = HashSet::new();
    let mut open = vec![(0_u128, false)];
    while let Some((done, is_now_listed)) = open.pop() {
        if done & known == known && is_now_listed == is_listed {
            return true;
        }
        if !seen.insert((done, is_now_listed)) {
            continue;
        }
        let possible = (0..operations.len()).filter(|at| {
            done & (1 << at) == 0 && before[*at] & !done == 0 && fences[*at] & done == 0
        });
        // Of several unknown operations with the same fences, only the one that returned first is tried. What fences another
        // one later fences it too, so using it first leaves the most choices.
        let mut first_unknown: BTreeMap<bool, usize> = BTreeMap::new();
        for at in possible {
            let Some(next) = operations[at].apply(is_now_listed) else {
                continue;
            };
            if operations[at].must_take_effect() {
                open.push((done | 1 << at, next));
                continue;
            }
            let is_repeated = operations[at].outcome == Outcome::ErasedAgain;
            let first = first_unknown.entry(is_repeated).or_insert(at);
            if operations[at].returned < operations[*first].returned {
                *first = at;
            }
        }
        for at in first_unknown.into_values() {
            open.push((done | 1 << at, !is_now_listed));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Outcome::*, *};

    const ANN: &str = "ann@example.com";

    /// Returns operations on one address from their times in milliseconds.
    fn history(operations: &[(u64, u64, Outcome)]) -> Vec<Operation> {
        let operation = |(invoked, returned, outcome): &(u64, u64, Outcome)| Operation {
            address: ANN.into(),
            invoked: Duration::from_millis(*invoked),
            returned: Duration::from_millis(*returned),
            outcome: *outcome,
        };
        operations.iter().map(operation).collect()
    }

    /// Returns the violations if the list has the address this many times, and a right count.
    fn found(operations: &[(u64, u64, Outcome)], entries: usize) -> Vec<Violation> {
        let list = vec![ANN.to_owned(); entries];
        violations(&history(operations), &list, entries as u64)
    }

    #[test]
    fn finds_a_lost_entry() {
        let lost = [Violation::Lost(ANN.into())];
        assert_eq!(found(&[(0, 1, Added)], 0), lost);
        assert_eq!(found(&[(0, 9, MaybeAdded), (1, 2, AlreadyListed)], 0), lost);
        assert_eq!(found(&[(0, 1, AddedOrListed)], 0), lost);
        // Signed up again after an erasure.
        let again = [(0, 1, Added), (2, 3, Erased), (4, 5, Added)];
        assert_eq!(found(&again, 0), lost);
        // A failed erasure that runs later erases only entries from before it.
        let since = [
            (0, 1, Added),
            (2, 3, MaybeErased),
            (4, 5, Erased),
            (6, 7, Added),
        ];
        assert_eq!(found(&since, 0), lost);
    }

    #[test]
    fn finds_a_doubled_entry() {
        let doubled = [Violation::Doubled(ANN.into())];
        assert_eq!(found(&[(0, 1, Added)], 2), doubled);
        assert_eq!(found(&[(0, 1, Added), (2, 3, Erased)], 2), doubled);
    }

    #[test]
    fn finds_a_resurrected_entry() {
        let resurrected = [Violation::Resurrected(ANN.into())];
        assert_eq!(found(&[(0, 1, Added), (2, 3, Erased)], 1), resurrected);
        // A sign-up that failed before the erasure began.
        let late = [(0, 1, Added), (2, 3, MaybeAdded), (4, 5, Erased)];
        assert_eq!(found(&late, 1), resurrected);
        let many = [
            (0, 1, Added),
            (2, 3, MaybeAdded),
            (2, 4, MaybeAdded),
            (5, 6, Erased),
        ];
        assert_eq!(found(&many, 1), resurrected);
    }

    #[test]
    fn finds_a_wrong_count() {
        let list = [ANN.to_owned()];
        for count in [0, 2] {
            let wrong = Violation::WrongCount { entries: 1, count };
            assert_eq!(
                violations(&history(&[(0, 1, Added)]), &list, count),
                [wrong]
            );
        }
    }

    #[test]
    fn finds_an_entry_that_nobody_requested() {
        let list = ["bob@example.com".to_owned()];
        let unknown = Violation::NeverRequested("bob@example.com".into());
        assert_eq!(violations(&[], &list, 1), [unknown]);
    }

    #[test]
    fn finds_contradictory_responses() {
        let contradiction = [Violation::Contradiction(ANN.into())];
        for entries in [0, 1] {
            // Added twice, and nobody erased it.
            assert_eq!(
                found(&[(0, 1, Added), (2, 3, Added)], entries),
                contradiction
            );
            assert_eq!(
                found(&[(0, 3, Added), (1, 2, Added)], entries),
                contradiction
            );
            // Added twice after an erasure.
            let after = [(0, 1, Added), (2, 3, Erased), (4, 5, Added), (6, 7, Added)];
            assert_eq!(found(&after, entries), contradiction);
            // Already listed, and nobody had signed up.
            assert_eq!(found(&[(0, 1, AlreadyListed)], entries), contradiction);
            assert_eq!(
                found(&[(0, 1, AlreadyListed), (2, 3, MaybeAdded)], entries),
                contradiction
            );
            // Not found, although it was acknowledged.
            assert_eq!(
                found(&[(0, 1, Added), (2, 3, NotListed)], entries),
                contradiction
            );
        }
    }

    #[test]
    fn accepts_every_order_of_concurrent_operations() {
        let race = [(0, 5, Added), (1, 6, AlreadyListed), (2, 4, Erased)];
        assert_eq!(found(&race, 0), []);
        let raced_erasure = [(0, 1, Added), (2, 9, Erased), (3, 8, Added)];
        assert_eq!(found(&raced_erasure, 1), []);
        // One erasure that erases two people, one after another.
        let twice = [(0, 1, Added), (2, 9, Erased), (3, 4, Added), (5, 6, Added)];
        for entries in [0, 1] {
            assert_eq!(found(&twice, entries), []);
        }
        let raced_by_failure = [(0, 1, Added), (2, 5, MaybeAdded), (4, 6, Erased)];
        assert_eq!(found(&raced_by_failure, 0), []);
        assert_eq!(found(&raced_by_failure, 1), []);
    }

    #[test]
    fn accepts_every_effect_of_an_unknown_outcome() {
        for entries in [0, 1] {
            assert_eq!(found(&[(0, 1, MaybeAdded)], entries), []);
            assert_eq!(found(&[(0, 1, Added), (2, 3, MaybeErased)], entries), []);
            // It takes effect after its response.
            assert_eq!(found(&[(0, 1, MaybeAdded), (2, 3, NotListed)], entries), []);
        }
        assert_eq!(found(&[(0, 1, MaybeAdded), (2, 3, Added)], 1), []);
        for first in [Added, MaybeAdded] {
            assert_eq!(found(&[(0, 1, first), (2, 3, AddedOrListed)], 1), []);
        }
        assert_eq!(found(&[(0, 1, AddedOrListed)], 1), []);
        assert_eq!(found(&[(0, 1, MaybeAdded), (2, 3, AlreadyListed)], 1), []);
    }

    #[test]
    fn decides_about_many_unknown_outcomes() {
        let mut operations: Vec<_> = (0..60).map(|at| (at, 1_000 + at, MaybeAdded)).collect();
        operations.extend((0..5).map(|at| (10 * at, 900, Erased)));
        assert_eq!(found(&operations, 0), []);
        assert_eq!(found(&operations, 1), []);
        operations.push((2_000, 2_001, Erased));
        assert_eq!(found(&operations, 1), [Violation::Resurrected(ANN.into())]);
    }
}
