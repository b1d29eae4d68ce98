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

/// A difference between the history of an address and the final list.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Violation {
    /// The address must be listed, and is not.
    Lost,
    /// The address is listed more than once.
    Doubled,
    /// The address is listed, although it must have been erased.
    Resurrected,
    /// The address is listed, and nobody has signed up with it.
    NeverRequested,
    /// No order of the operations explains the responses, whether the address is listed or not.
    Contradiction,
}

/// Returns all differences between a history and the final list, with their addresses.
pub(super) fn violations(history: &[Operation], list: &[String]) -> Vec<(String, Violation)> {
    let mut by_address: BTreeMap<&str, (Vec<&Operation>, usize)> = BTreeMap::new();
    for operation in history {
        let found = by_address.entry(&operation.address).or_default();
        found.0.push(operation);
    }
    for address in list {
        by_address.entry(address).or_default().1 += 1;
    }
    let found = by_address
        .into_iter()
        .filter_map(|(address, (operations, entries))| {
            let violation = violation(&operations, entries)?;
            Some((address.to_owned(), violation))
        });
    found.collect()
}

/// Compares the operations on an address with its number of entries in the final list.
fn violation(operations: &[&Operation], entries: usize) -> Option<Violation> {
    let is_listed = entries > 0;
    if entries > 1 {
        Some(Violation::Doubled)
    } else if operations.is_empty() {
        Some(Violation::NeverRequested)
    } else if explains(operations, is_listed) {
        None
    } else if !explains(operations, !is_listed) {
        Some(Violation::Contradiction)
    } else if is_listed {
        Some(Violation::Resurrected)
    } else {
        Some(Violation::Lost)
    }
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
    use super::{Outcome::*, Violation::*, *};

    /// What is found in each history, if the address has this many entries in the end. An operation has the times of its
    /// request and its response in milliseconds, and its outcome.
    const CASES: [(&[usize], Option<Violation>, &[&str]); 8] = [
        (
            &[0],
            Some(Lost),
            &[
                "0-1 Added",
                "0-9 MaybeAdded, 1-2 AlreadyListed",
                "0-1 AddedOrListed",
                // Signed up again after an erasure.
                "0-1 Added, 2-3 Erased, 4-5 Added",
                // A failed erasure that runs later erases only entries from before it.
                "0-1 Added, 2-3 MaybeErased, 4-5 Erased, 6-7 Added",
            ],
        ),
        (
            &[1],
            Some(Resurrected),
            &[
                "0-1 Added, 2-3 Erased",
                // A sign-up that failed before the erasure began.
                "0-1 Added, 2-3 MaybeAdded, 4-5 Erased",
                "0-1 Added, 2-3 MaybeAdded, 2-4 MaybeAdded, 5-6 Erased",
            ],
        ),
        (&[2], Some(Doubled), &["0-1 Added", "0-1 Added, 2-3 Erased"]),
        (&[1], Some(NeverRequested), &[""]),
        (
            &[0, 1],
            Some(Contradiction),
            &[
                // Added twice, and nobody erased it.
                "0-1 Added, 2-3 Added",
                "0-3 Added, 1-2 Added",
                // Added twice after an erasure.
                "0-1 Added, 2-3 Erased, 4-5 Added, 6-7 Added",
                // Already listed, and nobody had signed up.
                "0-1 AlreadyListed",
                "0-1 AlreadyListed, 2-3 MaybeAdded",
                // Not found, although it was acknowledged.
                "0-1 Added, 2-3 NotListed",
            ],
        ),
        (
            &[0, 1],
            None,
            &[
                // One erasure that erases two people, one after another.
                "0-1 Added, 2-9 Erased, 3-4 Added, 5-6 Added",
                "0-1 Added, 2-5 MaybeAdded, 4-6 Erased",
                // An unknown outcome may take effect, also after its response.
                "0-1 MaybeAdded",
                "0-1 Added, 2-3 MaybeErased",
                "0-1 MaybeAdded, 2-3 NotListed",
            ],
        ),
        (&[0], None, &["0-5 Added, 1-6 AlreadyListed, 2-4 Erased"]),
        (
            &[1],
            None,
            &[
                "0-1 Added, 2-9 Erased, 3-8 Added",
                "0-1 MaybeAdded, 2-3 Added",
                "0-1 Added, 2-3 AddedOrListed",
                "0-1 MaybeAdded, 2-3 AddedOrListed",
                "0-1 AddedOrListed",
                "0-1 MaybeAdded, 2-3 AlreadyListed",
            ],
        ),
    ];

    const OUTCOMES: [Outcome; 7] = [
        Added,
        AlreadyListed,
        AddedOrListed,
        MaybeAdded,
        Erased,
        NotListed,
        MaybeErased,
    ];

    /// Returns an operation on an address.
    fn operation(invoked: u64, returned: u64, outcome: Outcome) -> Operation {
        Operation {
            address: String::new(),
            invoked: Duration::from_millis(invoked),
            returned: Duration::from_millis(returned),
            outcome,
        }
    }

    /// Reads the operations of a case.
    fn parse(history: &str) -> Vec<Operation> {
        let operations = history.split(", ").filter(|it| !it.is_empty());
        let operations = operations.map(|text| {
            let (times, name) = text.split_once(' ').expect("times and an outcome");
            let (invoked, returned) = times.split_once('-').expect("two times");
            let [invoked, returned] = [invoked, returned].map(|it| it.parse().expect("a number"));
            let outcome = OUTCOMES.into_iter().find(|it| format!("{it:?}") == name);
            operation(invoked, returned, outcome.expect("an outcome"))
        });
        operations.collect()
    }

    fn found(operations: &[Operation], entries: usize) -> Option<Violation> {
        violation(&operations.iter().collect::<Vec<_>>(), entries)
    }

    #[test]
    fn finds_each_violation_and_accepts_every_order() {
        for (numbers, expected, histories) in CASES {
            for history in histories {
                for entries in numbers {
                    let found = found(&parse(history), *entries);
                    assert_eq!(found, expected, "{history}, then {entries} entries");
                }
            }
        }
    }

    #[test]
    fn decides_about_many_unknown_outcomes() {
        let sign_ups = (0..60).map(|at| operation(at, 1_000 + at, MaybeAdded));
        let erasures = (0..5).map(|at| operation(10 * at, 900, Erased));
        let mut operations: Vec<_> = sign_ups.chain(erasures).collect();
        assert_eq!(found(&operations, 0), None);
        assert_eq!(found(&operations, 1), None);
        operations.push(operation(2_000, 2_001, Erased));
        assert_eq!(found(&operations, 1), Some(Resurrected));
    }
}
