//! The replies to the requests of a batch, and which of them are still awaited.

use std::{
    collections::{BTreeSet, HashSet},
    ops::Range,
};

use super::{
    super::{error::StoreError, store::JoinOutcome},
    batch::Batch,
    request::Request,
};

impl Batch {
    /// Returns the positions in a range of the sign-ups, in order, whose outcome at least one client still waits for.
    pub(super) fn awaited_positions(&self, range: Range<usize>) -> BTreeSet<usize> {
        let mut positions = self.positions.iter().copied();
        let mut awaited = BTreeSet::new();
        for request in &self.requests {
            let count = request.entries().len();
            let positions: Vec<_> = positions.by_ref().take(count).collect();
            if !request.is_abandoned() {
                awaited.extend(positions);
            }
        }
        awaited.retain(|at| range.contains(at));
        awaited
    }

    /// Returns the outcome of each entry. If several have the same address, the first one adds it.
    fn outcomes(&self) -> Vec<Result<JoinOutcome, StoreError>> {
        let mut seen = HashSet::new();
        let outcome = |at: &usize| {
            let is_first = seen.insert(*at);
            let outcome = self.sign_ups[*at].outcome.clone();
            outcome.map(|joined| match joined {
                JoinOutcome::New if !is_first => JoinOutcome::AlreadyListed,
                joined => joined,
            })
        };
        self.positions.iter().map(outcome).collect()
    }

    /// Fails the requests that need not wait until a lasting failure is fixed: readiness checks, and imports without
    /// visitors in the same batch. Visitors wait, because it may be fixed in time.
    pub(super) fn fail_all_but_sign_ups(&mut self, error: &StoreError) {
        let has_visitors = self
            .requests
            .iter()
            .any(|request| matches!(request, Request::Join(..)));
        let should_fail =
            |request: &mut Request| matches!(request, Request::Ready(_)) || !has_visitors;
        for request in self.requests.extract_if(.., should_fail) {
            request.fail(error.clone());
        }
    }

    /// Sends the replies to all requests.
    pub(super) fn send_replies(self) {
        let mut outcomes = self.outcomes().into_iter();
        for request in self.requests {
            // Sending fails if the client has gone.
            match request {
                Request::Join(_, reply) => {
                    if let Some(outcome) = outcomes.next() {
                        let _ = reply.send(outcome);
                    }
                }
                Request::JoinAll(entries, reply) => {
                    // Takes all outcomes of this request, also after an error, because the next outcome belongs to
                    // another request.
                    let outcomes: Vec<_> = outcomes.by_ref().take(entries.len()).collect();
                    let _ = reply.send(outcomes.into_iter().collect());
                }
                Request::Ready(reply) => {
                    let _ = reply.send(Ok(()));
                }
            }
        }
    }
}
