//! What the owner changes, and people by their links: erasures, corrections, facts, suppressions and the count.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, SystemTime},
};

use tokio::time::sleep;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        entry::Fact,
        error::StoreError,
        store::{CALL_MAX, CorrectOutcome, Erasure},
    },
    error::Failure,
    pool::{Pool, change},
    rows::{column, get, truncate_to_millis},
    sql,
    writer::Writer,
};

/// Maximum number of rounds of an erasure, because a person may sign up again while they are erased.
const ERASE_ROUNDS_MAX: usize = 3;

/// Pause after a full call, of which a long erasure makes many. Each raises the epoch, which sends the sign-ups under way back to
/// read it: without a pause between, they would wait until the last one.
const BULK_PAUSE: Duration = Duration::from_millis(50);

/// Erases addresses. Returns, for each, whether it was listed.
pub(super) async fn erase(
    pool: &Pool,
    emails: Vec<Email>,
    erasure: Erasure,
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let sought: Vec<_> = keys.iter().map(String::as_bytes).collect();
    let rounds = match erasure {
        // A person who stays, or signs up again in between, is not to be erased.
        Erasure::Unconfirmed { .. } => 1,
        _ => ERASE_ROUNDS_MAX,
    };
    // The sign-ups that an attempt named, with their addresses, until their fate is known.
    let mut named = HashMap::new();
    // The addresses that were listed.
    let mut erased = HashSet::new();
    let erasing = change!(pool, |writer| {
        for round in 0..rounds {
            let listed = writer.find_listed(&sought).await?;
            // Even if nobody is listed, an erasure stops earlier sign-ups that are still on their way. An entry that is
            // found afterwards is a new sign-up.
            if round > 0 && listed.is_empty() {
                break;
            }
            let listed = listed.into_iter().map(|(key, found)| (found.id, key));
            let listed: Vec<_> = listed.collect();
            named.extend(listed.iter().cloned());
            for id in erase_listed(writer, &sought, &listed, erasure).await? {
                erased.extend(named.remove(&id));
            }
        }
        if !named.is_empty() {
            // An attempt that failed does not report which entries it has erased. Another client may have corrected some,
            // which are still listed, under another address.
            let ids: Vec<_> = named.keys().copied().collect();
            let rows = writer.connection.query(sql::FIND_IDS, &[&ids]).await?;
            for id in column::<Uuid>(&rows, 0)? {
                named.remove(&id);
            }
            erased.extend(named.drain().map(|(_, key)| key));
        }
        Ok(())
    });
    erasing?;
    if keys.len() == CALL_MAX {
        sleep(BULK_PAUSE).await;
    }
    let keys = keys.into_iter();
    Ok(keys.map(|key| erased.remove(key.as_bytes())).collect())
}

/// Erases those of the sought addresses that are `listed`. Returns the ids of the sign-ups that are erased.
async fn erase_listed(
    writer: &mut Writer,
    sought: &[&[u8]],
    listed: &[(Uuid, Vec<u8>)],
    erasure: Erasure,
) -> Result<Vec<Uuid>, Failure> {
    let (ids, keys): (Vec<Uuid>, Vec<&[u8]>) = listed.iter().map(|(id, key)| (*id, &**key)).unzip();
    let before = match erasure {
        Erasure::Unconfirmed { before } => Some(before),
        _ => None,
    };
    // Each round suppresses, because a person who has signed up since the last one has lifted the suppression.
    let (suppressed, departures): (_, Vec<_>) = match erasure {
        Erasure::Suppress => (sought, keys.iter().map(|_| Uuid::new_v4()).collect()),
        _ => (&[][..], Vec::new()),
    };
    let hashes: Vec<_> = suppressed.iter().map(|it| writer.hash(it)).collect();
    let params: [&(dyn ToSql + Sync); 6] =
        [&keys, &ids, &before, &suppressed, &hashes, &departures];
    get(&writer.change(sql::ERASE, &params).await?, 3)
}

/// Gives the entry of an address another address.
pub(super) async fn correct(
    pool: &Pool,
    old: Email,
    new: Email,
) -> Result<CorrectOutcome, StoreError> {
    let (old_key, new_key) = (old.key().into_bytes(), new.key().into_bytes());
    // The sign-up that the first attempt named, and its epoch. It takes effect in that epoch, and raises it, or not at all.
    let mut first = None;
    change!(pool, |writer| {
        let listed = writer.find_listed(&[&old_key, &new_key]).await?;
        let id = |key: &Vec<u8>| listed.get(key).map(|found| found.id);
        let new_id = id(&new_key).filter(|_| new_key != old_key);
        let is_corrected = |named| {
            let found = listed.get(&new_key).filter(|found| found.id == named);
            found.is_some_and(|found| found.entry.email.as_typed() == new.as_typed())
        };
        match first {
            Some((named, _)) if is_corrected(named) => return Ok(CorrectOutcome::Corrected),
            // What other clients have changed since must stay.
            Some((_, epoch)) if epoch != writer.epoch => return Err(Failure::changed_meanwhile()),
            _ => {}
        }
        let Some(id) = id(&old_key) else {
            return Ok(CorrectOutcome::NotListed);
        };
        if new_id.is_some() {
            return Ok(CorrectOutcome::NewAddressListed);
        }
        let is_first = first.is_none();
        first.get_or_insert((id, writer.epoch));
        let typed = new.as_typed();
        let params: [&(dyn ToSql + Sync); 4] = [&new_key, &typed, &old_key, &id];
        // If somebody has signed up with the new address since it was looked up, the database rejects it as a duplicate.
        let done = writer.change(sql::CORRECT, &params).await;
        // A later attempt may fail because the first one took effect.
        if is_first && done.as_ref().is_err_and(|it| it.kind.is_without_effect()) {
            first = None;
        }
        if get::<Vec<Uuid>>(&done?, 3)?.is_empty() {
            // Another client has changed the entry since it was looked up, so no attempt has taken effect.
            first = None;
            return Err(Failure::conflict());
        }
        Ok(CorrectOutcome::Corrected)
    })
}

/// Records a fact about the sign-up of an address at a time. Returns whether it is on the list.
pub(super) async fn add_fact(
    pool: &Pool,
    email: Email,
    joined_at: SystemTime,
    fact: Fact,
) -> Result<bool, StoreError> {
    let key = email.key();
    let key = key.as_bytes();
    // The sign-up that the first attempt found. A later one with the same time is perhaps another person's.
    let mut first = None;
    change!(pool, |writer| {
        let listed = writer.find_listed(&[key]).await?.remove(key);
        let of_sign_up = listed.filter(|found| found.entry.is_of_sign_up(joined_at));
        let Some(found) = of_sign_up.filter(|found| *first.get_or_insert(found.id) == found.id)
        else {
            return Ok(false);
        };
        let mut with_fact = found.entry.clone();
        with_fact.apply(fact);
        let times = [&with_fact, &found.entry].map(|it| [it.asked_at, it.confirmed_at]);
        let [[asked, confirmed], [known_asked, known_confirmed]] =
            times.map(|it| it.map(|time| time.map(truncate_to_millis)));
        let lifted = matches!(fact, Fact::ConfirmedAt(_)).then(|| writer.hash(key));
        let params: [&(dyn ToSql + Sync); 7] = [
            &key,
            &found.id,
            &asked,
            &confirmed,
            &known_asked,
            &known_confirmed,
            &lifted,
        ];
        let row = writer.run(sql::ADD_FACT, &params).await?;
        // Another client has changed the person since.
        match get::<Option<Uuid>>(&row, 1)? {
            Some(_) => Ok(true),
            None => Err(Failure::conflict()),
        }
    })
}

/// Suppresses those addresses that are not listed, or await a confirmation. Returns, for each, whether it is suppressed.
pub(super) async fn suppress(pool: &Pool, emails: Vec<Email>) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(|it| it.key().into_bytes()).collect();
    change!(pool, |writer| {
        let hashes: Vec<_> = keys.iter().map(|key| writer.hash(key)).collect();
        let row = writer.change(sql::SUPPRESS, &[&keys, &hashes]).await?;
        let listed: Vec<Vec<u8>> = get(&row, 3)?;
        Ok(keys.iter().map(|key| !listed.contains(key)).collect())
    })
}

/// Lifts the suppressions of addresses. Returns, for each, whether it is listed.
pub(super) async fn lift(pool: &Pool, emails: Vec<Email>) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys: Vec<_> = keys.iter().map(String::as_bytes).collect();
    change!(pool, |writer| {
        let hashes: Vec<_> = keys.iter().map(|key| writer.hash(key)).collect();
        writer.change(sql::LIFT, &[&hashes]).await?;
        let listed = writer.find_listed(&keys).await?;
        Ok(keys.iter().map(|key| listed.contains_key(*key)).collect())
    })
}

/// Returns whether an address is suppressed. Like a change, this waits until all earlier commits are durable: a person is
/// told so.
pub(super) async fn is_suppressed(pool: &Pool, email: Email) -> Result<bool, StoreError> {
    let key = email.key();
    change!(pool, |writer| {
        let hash = writer.hash(key.as_bytes());
        let statement = sql::IS_SUPPRESSED;
        let row = writer.connection.query_one(statement, &[&hash]).await?;
        get(&row, 0)
    })
}

/// Sets the count to the number of entries, and returns the difference. It is wrong after somebody changed it by hand or
/// restored only some of the tables.
pub(super) async fn recount(pool: &Pool) -> Result<i64, StoreError> {
    change!(pool, |writer| {
        get(&writer.change(sql::RECOUNT, &[]).await?, 3)
    })
}
