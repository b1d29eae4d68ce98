//! The replies to the requests of a batch, and which of them are still awaited.

use std::collections::HashSet;

use super::{
    super::{error::StoreError, store::JoinOutcome},
    batch::Batch,
    request::Request,
};

impl Batch {
    /// Returns the positions in `sign_ups` of the addresses whose outcome at least one client still waits for, each that
    /// of the first sign-up with the address.
    pub(super) fn awaited_positions(&self) -> HashSet<usize> {
        let mut sign_ups = self.sign_ups.iter();
        let mut awaited = HashSet::new();
        for request in &self.requests {
            let count = request.entries().len();
            let firsts = sign_ups.by_ref().take(count).map(|it| it.first);
            if request.is_abandoned() {
                firsts.for_each(drop);
            } else {
                awaited.extend(firsts);
            }
        }
        awaited
    }

    /// Returns the outcome of a sign-up. If several have the same address, the first one adds it.
    fn outcome(&self, at: usize) -> Result<JoinOutcome, StoreError> {
        let first = self.sign_ups[at].first;
        let outcome = self.outcomes[first].clone();
        outcome.map(|joined| {
            if at == first || joined == JoinOutcome::Suppressed {
                joined
            } else {
                JoinOutcome::AlreadyListed
            }
        })
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
        let outcomes: Vec<_> = (0..self.sign_ups.len())
            .map(|at| self.outcome(at))
            .collect();
        let mut outcomes = outcomes.into_iter();
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
