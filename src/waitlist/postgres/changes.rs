//! The erasures and the correction of a batch.

use std::collections::BTreeSet;

use uuid::Uuid;

use super::{
    super::{
        error::StoreError,
        queue::{Correction, Request},
        store::CorrectOutcome,
    },
    batch::Batch,
    error::Failure,
    rows::column,
    sql,
    writer::Writer,
};

/// Maximum number of attempts to erase, because a person may sign up again while they are erased.
const ERASE_ROUNDS_MAX: usize = 3;

/// Maximum number of attempts to correct an address, because a person may sign up with it in between.
const CORRECT_ATTEMPTS_MAX: usize = 3;

impl Batch {
    /// Erases the addresses of all erasures.
    pub(super) async fn erase(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let keys = self.requests.iter().filter_map(|request| match request {
            Request::Erase(erasure, _) => Some(&erasure.addresses.keys),
            _ => None,
        });
        let sought: BTreeSet<_> = keys.flatten().map(String::as_bytes).collect();
        if sought.is_empty() {
            return Ok(());
        }
        // A batch has at most one erasure.
        let suppress_with = self.requests.iter().find_map(|request| match request {
            Request::Erase(erasure, _) => erasure.suppress_with,
            _ => None,
        });
        let unconfirmed_before = self.requests.iter().find_map(|request| match request {
            Request::Erase(erasure, _) => erasure.unconfirmed_before,
            _ => None,
        });
        // A person who stays, or signs up again in between, is not to be erased.
        let rounds = match unconfirmed_before {
            Some(_) => 1,
            None => ERASE_ROUNDS_MAX,
        };
        let sought: Vec<_> = sought.into_iter().collect();
        for _ in 0..rounds {
            let rows = writer.query(sql::FIND_LISTED, &[&sought]).await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            let is_last = ids.is_empty() && self.has_erased;
            if is_last {
                break;
            }
            let addresses = keys.iter().map(|key| String::from_utf8_lossy(key).into());
            self.erasing.extend(ids.iter().copied().zip(addresses));
            // Each round suppresses, because a person who has signed up since the last one has lifted the suppression.
            let erasing = async {
                match (suppress_with, unconfirmed_before) {
                    (Some(new_key), _) => {
                        let suppress = (&sought[..], new_key);
                        writer.erase_and_suppress(&keys, &ids, suppress).await
                    }
                    (None, Some(before)) => writer.erase_unconfirmed(&keys, &ids, before).await,
                    (None, None) => writer.erase(&keys, &ids).await,
                }
            };
            // Even if no entry is listed, an erasure stops earlier sign-ups that are still on their way. An entry that
            // is found afterwards is a new sign-up.
            for id in erasing.await? {
                self.erased_keys.extend(self.erasing.remove(&id));
            }
            self.has_erased = true;
        }
        if !self.erasing.is_empty() {
            // An interrupted attempt does not report which entries it erased. Another client may have corrected some:
            // these are still listed, under another address.
            let ids: Vec<_> = self.erasing.keys().copied().collect();
            let rows = writer.query(sql::FIND_IDS, &[&ids]).await?;
            for id in column::<Uuid>(&rows, 0)? {
                self.erasing.remove(&id);
            }
            self.erased_keys
                .extend(self.erasing.drain().map(|(_, address)| address));
        }
        Ok(())
    }

    /// Corrects the address of the correction, if the batch has one. It has at most one.
    pub(super) async fn correct(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let correction = self.requests.iter().find_map(|request| match request {
            Request::Correct(Correction { old, new }, _) => {
                Some((old.keys.first()?.clone(), new.clone()))
            }
            _ => None,
        });
        let Some((old_key, new)) = correction else {
            return Ok(());
        };
        let (old_key, new_key) = (old_key.as_bytes(), new.key());
        let new_key = new_key.as_bytes();
        for _ in 0..CORRECT_ATTEMPTS_MAX {
            let rows = writer
                .query(sql::FIND_LISTED, &[&vec![old_key, new_key]])
                .await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            let id_of = |key: &[u8]| {
                ids.iter()
                    .zip(&keys)
                    .find(|(_, it)| *it == key)
                    .map(|(id, _)| *id)
            };
            let (old_id, new_id) = (id_of(old_key), id_of(new_key));
            self.corrected = match (old_id, new_id) {
                _ if self.correcting.is_some()
                    && self.correcting == new_id
                    && old_key != new_key =>
                {
                    Some(Ok(CorrectOutcome::Corrected))
                }
                (None, _) => Some(Ok(CorrectOutcome::NotListed)),
                (Some(_), Some(_)) if old_key != new_key => {
                    Some(Ok(CorrectOutcome::NewAddressListed))
                }
                (Some(_), _) => None,
            };
            let (None, Some(id)) = (&self.corrected, old_id) else {
                return Ok(());
            };
            self.correcting = Some(id);
            let new_address = (new_key, new.as_typed());
            match writer.correct((old_key, id), new_address).await {
                // Somebody may have signed up with the new address since it was looked up.
                Err(Failure::RowRejected(reason)) => {
                    self.corrected = Some(Err(StoreError::Database(reason.into())));
                }
                // Another client has changed the entry since it was looked up.
                Ok(false) => {
                    let reason = "other clients change the same entry";
                    self.corrected = Some(Err(StoreError::Database(reason.into())));
                }
                Ok(true) => {
                    self.corrected = Some(Ok(CorrectOutcome::Corrected));
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok(())
    }
}
