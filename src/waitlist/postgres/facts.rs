//! The facts that a batch records.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use uuid::Uuid;

use super::{
    super::error::StoreError,
    batch::Batch,
    error::Failure,
    pending_fact::PendingFact,
    rows::column,
    sql,
    writer::{IdentifiedFact, Writer},
};

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
