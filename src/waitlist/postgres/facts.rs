//! The facts that a batch records.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use uuid::Uuid;

use super::{
    super::{entry::Fact, error::StoreError, queue::NewFact},
    batch::{Batch, column},
    error::Failure,
    sql,
    writer::{IdentifiedFact, Writer},
};

/// A fact that is not recorded yet.
pub(super) struct PendingFact {
    key: String,
    fact: Fact,
    id: Uuid,
    /// Whether its address is on the list, once that is known.
    outcome: Option<Result<bool, StoreError>>,
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

impl Batch {
    /// Records the facts. A repeated attempt keeps their ids.
    pub(super) async fn add_facts(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let keys = self.facts.iter().filter(|fact| fact.outcome.is_none());
        let keys: BTreeSet<_> = keys.map(|fact| fact.key.as_bytes()).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = keys.into_iter().collect();
        let rows = writer.query(sql::FIND_LISTED, &[&keys]).await?;
        let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
        let listed: HashMap<_, _> = keys.into_iter().zip(ids).collect();
        let listed_id = |fact: &PendingFact| listed.get(fact.key.as_bytes()).copied();
        let facts = self.facts.iter().filter(|fact| fact.outcome.is_none());
        let facts: Vec<_> = facts
            .filter_map(|fact| {
                Some(IdentifiedFact {
                    key: fact.key.as_bytes(),
                    entry: listed_id(fact)?,
                    id: fact.id,
                    fact: fact.fact,
                })
            })
            .collect();
        let recorded = if facts.is_empty() {
            Ok(())
        } else {
            match writer.add_facts(&facts).await {
                // A trigger or a constraint of the owner rejects a fact.
                Err(Failure::RowRejected(reason)) => Err(StoreError::Database(Arc::from(reason))),
                recorded => Ok(recorded?),
            }
        };
        for fact in self.facts.iter_mut().filter(|fact| fact.outcome.is_none()) {
            let is_listed = listed_id(fact).is_some();
            fact.outcome = Some(recorded.clone().map(|()| is_listed));
        }
        Ok(())
    }
}
