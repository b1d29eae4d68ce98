//! What the owner changes, and people by their links: erasures, corrections and facts.
//!
//! Each attempt reads the epoch of the list first, see [`Change`]. What it reads afterwards is as new.

use std::collections::{BTreeSet, HashMap, HashSet};

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        entry::Fact,
        error::StoreError,
        store::{CorrectOutcome, Erasure},
    },
    change::Change,
    error::Failure,
    pool::{Operation, Pool},
    rows::{column, get},
    sql, suppression_sql,
    writer::{hash_bytes, kind_and_time},
};

/// Maximum number of rounds of an erasure, because a person may sign up again while they are erased.
const ERASE_ROUNDS_MAX: usize = 3;

/// How often the database may reject a correction before that is reported.
const REJECTIONS_MAX: usize = 2;

/// Erases addresses. Returns, for each, whether it was listed.
pub(super) async fn erase(
    pool: &Pool,
    emails: &[Email],
    erasure: Erasure,
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let erasing = Erase {
        // The order prevents deadlocks between instances.
        keys: keys.iter().map(String::as_bytes).collect(),
        erasure,
        named: HashMap::new(),
        erased: HashSet::new(),
    };
    let mut erased = pool.change(erasing).await?;
    Ok(keys
        .iter()
        .map(|key| erased.remove(key.as_bytes()))
        .collect())
}

struct Erase<'a> {
    keys: BTreeSet<&'a [u8]>,
    erasure: Erasure,
    /// The sign-ups that an attempt named, with their addresses, until their fate is known.
    named: HashMap<Uuid, Vec<u8>>,
    /// The addresses that were listed.
    erased: HashSet<Vec<u8>>,
}

impl Operation for Erase<'_> {
    type Output = HashSet<Vec<u8>>;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<Self::Output, Failure> {
        let sought: Vec<_> = self.keys.iter().copied().collect();
        let rounds = match self.erasure {
            // A person who stays, or signs up again in between, is not to be erased.
            Erasure::Unconfirmed { .. } => 1,
            _ => ERASE_ROUNDS_MAX,
        };
        for round in 0..rounds {
            let listed = change.find_listed(&sought).await?;
            // Even if nobody is listed, an erasure stops earlier sign-ups that are still on their way. An entry that is
            // found afterwards is a new sign-up.
            if round > 0 && listed.is_empty() {
                break;
            }
            let named = listed.iter().map(|(key, id)| (*id, key.clone()));
            self.named.extend(named);
            let (keys, ids): (Vec<&[u8]>, Vec<Uuid>) =
                listed.iter().map(|(key, id)| (&**key, *id)).unzip();
            let slot = change.slot;
            let row = match self.erasure {
                Erasure::Complete => {
                    let params: [&(dyn ToSql + Sync); 3] = [&keys, &ids, &slot];
                    change.raise_epoch(sql::ERASE, &params).await?
                }
                // Each round suppresses, because a person who has signed up since the last one has lifted the
                // suppression.
                Erasure::Suppress => {
                    let epoch = change.epoch;
                    let departures: Vec<_> = keys.iter().map(|_| Uuid::new_v4()).collect();
                    let hashes = sought.iter().map(|it| hash_bytes(&change.list_key, it));
                    let hashes: Vec<_> = hashes.collect();
                    let params: [&(dyn ToSql + Sync); 7] =
                        [&keys, &ids, &slot, &epoch, &sought, &hashes, &departures];
                    let statement = suppression_sql::ERASE_AND_SUPPRESS;
                    change
                        .raise_epoch_of_locked_list(statement, &params)
                        .await?
                }
                Erasure::Unconfirmed { before } => {
                    let params: [&(dyn ToSql + Sync); 4] = [&keys, &ids, &slot, &before];
                    change
                        .raise_epoch_of_locked_list(sql::ERASE_UNCONFIRMED, &params)
                        .await?
                }
            };
            let gone: Vec<Uuid> = get(&row, 2)?;
            for id in gone {
                self.erased.extend(self.named.remove(&id));
            }
        }
        if !self.named.is_empty() {
            self.find_erased(change).await?;
        }
        Ok(std::mem::take(&mut self.erased))
    }
}

impl Erase<'_> {
    /// Finds out which of the named entries are erased: an attempt that failed does not report that. Another client may have
    /// corrected some, which are still listed, under another address.
    async fn find_erased(&mut self, change: &mut Change<'_>) -> Result<(), Failure> {
        let ids: Vec<_> = self.named.keys().copied().collect();
        let rows = change.connection.query(sql::FIND_IDS, &[&ids]).await?;
        for id in column::<Uuid>(&rows, 0)? {
            self.named.remove(&id);
        }
        self.erased.extend(self.named.drain().map(|(_, key)| key));
        Ok(())
    }
}

/// Gives the entry of an address another address.
pub(super) async fn correct(
    pool: &Pool,
    old: &Email,
    new: &Email,
) -> Result<CorrectOutcome, StoreError> {
    let correction = Correct {
        old_key: &old.key(),
        new_key: &new.key(),
        new,
        correcting: None,
        rejections: 0,
    };
    pool.change(correction).await
}

struct Correct<'a> {
    old_key: &'a str,
    new_key: &'a str,
    new: &'a Email,
    /// The sign-up that an attempt named. It may have corrected it.
    correcting: Option<Uuid>,
    /// How often the database has rejected the new address.
    rejections: usize,
}

impl Operation for Correct<'_> {
    type Output = CorrectOutcome;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<CorrectOutcome, Failure> {
        let (old_key, new_key) = (self.old_key.as_bytes(), self.new_key.as_bytes());
        let listed = change.find_listed(&[old_key, new_key]).await?;
        let new_id = listed.get(new_key).filter(|_| new_key != old_key);
        if new_id.is_some() && new_id == self.correcting.as_ref() {
            return Ok(CorrectOutcome::Corrected);
        }
        let Some(id) = listed.get(old_key).copied() else {
            return Ok(CorrectOutcome::NotListed);
        };
        if new_id.is_some() {
            return Ok(CorrectOutcome::NewAddressListed);
        }
        self.correcting = Some(id);
        let (slot, epoch, typed) = (change.slot, change.epoch, self.new.as_typed());
        let params: [&(dyn ToSql + Sync); 6] = [&new_key, &typed, &old_key, &id, &slot, &epoch];
        match change.raise_epoch(sql::CORRECT, &params).await {
            // Somebody may have signed up with the new address since it was looked up.
            Err(Failure::RowRejected(_)) if self.rejections < REJECTIONS_MAX => {
                self.rejections += 1;
                Err(Failure::Conflict)
            }
            // If it is empty, another client has changed the entry since it was looked up.
            row => match get::<Vec<Uuid>>(&row?, 2)?.is_empty() {
                true => Err(Failure::Conflict),
                false => Ok(CorrectOutcome::Corrected),
            },
        }
    }
}

/// Records facts. Returns, for each, whether its address is listed.
pub(super) async fn add_facts(
    pool: &Pool,
    facts: Vec<(Email, Fact)>,
) -> Result<Vec<bool>, StoreError> {
    let facts = facts.into_iter();
    let facts: Vec<_> = facts
        .map(|(email, fact)| (email.key(), Uuid::now_v7(), fact))
        .collect();
    let facts = &facts;
    pool.change(AddFacts { facts }).await
}

struct AddFacts<'a> {
    /// The addresses, the ids of the facts, and the facts.
    facts: &'a [(String, Uuid, Fact)],
}

impl Operation for AddFacts<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<Vec<bool>, Failure> {
        let sought: Vec<_> = self.facts.iter().map(|(key, ..)| key.as_bytes()).collect();
        let listed = change.find_listed(&sought).await?;
        let recorded = self.facts.iter().filter_map(|(key, id, fact)| {
            let entry = listed.get(key.as_bytes())?;
            Some((key.as_bytes(), *entry, *id, kind_and_time(*fact)))
        });
        // Facts about the same entry keep their order.
        let recorded: Vec<_> = recorded.collect();
        if !recorded.is_empty() {
            let keys: Vec<_> = recorded.iter().map(|(key, ..)| *key).collect();
            let entries: Vec<_> = recorded.iter().map(|(_, entry, ..)| *entry).collect();
            let ids: Vec<_> = recorded.iter().map(|(_, _, id, _)| *id).collect();
            let (kinds, times): (Vec<_>, Vec<_>) = recorded.iter().map(|(.., fact)| *fact).unzip();
            let confirmed = recorded
                .iter()
                .filter(|(.., (kind, _))| *kind == sql::CONFIRMED);
            let lifted = confirmed.map(|(address, ..)| hash_bytes(&change.list_key, address));
            let lifted: Vec<_> = lifted.collect();
            let (slot, epoch) = (change.slot, change.epoch);
            let params: [&(dyn ToSql + Sync); 8] = [
                &keys, &entries, &ids, &kinds, &times, &slot, &epoch, &lifted,
            ];
            change.run(sql::ADD_FACTS, &params).await?;
        }
        let is_listed = |(key, ..): &(String, _, _)| listed.contains_key(key.as_bytes());
        Ok(self.facts.iter().map(is_listed).collect())
    }
}
