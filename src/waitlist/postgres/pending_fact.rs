//! A fact that a batch is to record.

use uuid::Uuid;

use super::super::{entry::Fact, error::StoreError, queue::NewFact};

/// A fact that is not recorded yet.
pub(super) struct PendingFact {
    pub(super) key: String,
    pub(super) fact: Fact,
    pub(super) id: Uuid,
    /// Whether its address is on the list, once that is known.
    pub(super) outcome: Option<Result<bool, StoreError>>,
}

impl From<&NewFact> for PendingFact {
    fn from(fact: &NewFact) -> Self {
        Self {
            key: fact.key.clone(),
            fact: fact.fact,
            id: Uuid::now_v7(),
            outcome: None,
        }
    }
}

impl PendingFact {
    pub(super) fn into_outcome(self) -> Result<bool, StoreError> {
        self.outcome.unwrap_or(Err(StoreError::TimedOut))
    }
}
