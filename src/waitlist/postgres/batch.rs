//! What those want who wait at the same time, in as few statements as it takes.
//!
//! People join by one statement, which is a transaction of its own: in one round trip it inserts them and
//! counts them, so that nothing is locked while the database waits for a copy.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use deadpool_postgres::Client;
use tokio_postgres::{Error, Row, types::FromSql};
use uuid::Uuid;

use super::super::{Joined, queue::Request};

/// Whose keys are there stays as they are. The count is changed last, and only when there is a change. Where
/// the row of the slot is missing, the statement divides by zero and does nothing: else people would be kept
/// and never counted ([`Failure::NoSlot`](super::pool::Failure)).
const JOIN: &str = "
    WITH fresh AS (
        INSERT INTO waitlist_entries (key, email, joined_at, id)
        SELECT * FROM unnest($1::bytea[], $2::text[], $3::timestamptz[], $4::uuid[])
        ON CONFLICT (key) DO NOTHING
        RETURNING id
    ), counted AS (
        UPDATE waitlist_count SET entries = entries + (SELECT count(*) FROM fresh)
        WHERE slot = $5 AND EXISTS (SELECT 1 FROM fresh)
        RETURNING entries
    )
    SELECT id, (SELECT entries FROM counted), 1 / (SELECT count(*) FROM counted) FROM fresh";

/// By the ids too: when it comes late, after it was given up and done by another connection, who has joined
/// again meanwhile stays.
const ERASE: &str = "
    WITH gone AS (
        DELETE FROM waitlist_entries
        WHERE key = ANY($1::bytea[]) AND id = ANY($3::uuid[])
        RETURNING id
    ), counted AS (
        UPDATE waitlist_count SET entries = entries - (SELECT count(*) FROM gone)
        WHERE slot = $2 AND EXISTS (SELECT 1 FROM gone)
        RETURNING entries
    )
    SELECT (SELECT entries FROM counted), 1 / (SELECT count(*) FROM counted) FROM gone LIMIT 1";

/// Which of these sign-ups are the ones on the list.
const OURS: &str =
    "SELECT id FROM waitlist_entries WHERE key = ANY($1::bytea[]) AND id = ANY($2::uuid[])";

const COUNTED: &str = "SELECT entries FROM waitlist_count WHERE slot = $1";

const PRESENT: &str = "SELECT key, id FROM waitlist_entries WHERE key = ANY($1::bytea[])";

/// Requests, and what has become of them so far.
pub(super) struct Batch {
    requests: Vec<Request>,
    /// Who wants to join, in the order of the requests.
    people: Vec<Person>,
    /// Addresses to be erased that were there when they were looked for.
    present: HashSet<String>,
    /// Whether it was tried before, and what came of it is not known.
    is_again: bool,
}

struct Person {
    key: String,
    email: String,
    joined_at: SystemTime,
    id: Uuid,
}

/// What was done.
pub(super) struct Done {
    joined: Vec<Joined>,
    /// What the slot counts, if that has changed.
    pub(super) counted: Option<i64>,
}

impl Batch {
    pub(super) fn new(requests: impl Iterator<Item = Request>) -> Self {
        let requests: Vec<_> = requests.collect();
        let mut people = Vec::new();
        for request in &requests {
            let entries = match request {
                Request::Join(entry, _) => std::slice::from_ref(entry),
                Request::JoinAll(entries, _) => entries,
                Request::Erase(..) | Request::Ready(_) => &[],
            };
            people.extend(entries.iter().map(|entry| Person {
                key: entry.email.key(),
                email: entry.email.as_typed().to_owned(),
                joined_at: to_the_millisecond(entry.joined_at),
                id: Uuid::now_v7(),
            }));
        }
        Self {
            requests,
            people,
            present: HashSet::new(),
            is_again: false,
        }
    }

    /// Nobody waits for it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.requests.iter().all(Request::is_abandoned)
    }

    /// Whether somebody wants more than to know that it could be done.
    pub(super) fn changes(&self) -> bool {
        let is_question = |request: &Request| matches!(request, Request::Ready(_));
        !self.requests.iter().all(is_question)
    }

    /// Does all of it, and counts it in a slot. What fails may be done all the same, so it is done again
    /// with the same ids.
    pub(super) async fn commit(&mut self, client: &Client, slot: i64) -> Result<Done, Error> {
        let is_again = std::mem::replace(&mut self.is_again, true);
        let mut done = self.join(client, slot, is_again).await?;
        done.counted = self.erase(client, slot).await?.or(done.counted);
        Ok(done)
    }

    async fn join(&self, client: &Client, slot: i64, is_again: bool) -> Result<Done, Error> {
        let (mut joined, mut counted) = (Vec::new(), None);
        if self.people.is_empty() {
            return Ok(Done { joined, counted });
        }
        // Each address once, the first who has it. Sorted, so that copies with the same ones wait for each
        // other, and not in a circle.
        let mut firsts = BTreeMap::new();
        for person in &self.people {
            firsts.entry(person.key.as_bytes()).or_insert(person);
        }
        let keys: Vec<_> = firsts.keys().copied().collect();
        let emails: Vec<_> = firsts.values().map(|it| it.email.as_str()).collect();
        let times: Vec<_> = firsts.values().map(|it| it.joined_at).collect();
        let ids: Vec<_> = firsts.values().map(|it| it.id).collect();
        let statement = client.prepare_cached(JOIN).await?;
        let fresh = client
            .query(&statement, &[&keys, &emails, &times, &ids, &slot])
            .await?;
        let mut ours = HashSet::new();
        for row in fresh {
            ours.insert(row.try_get(0)?);
            counted = row.try_get(1)?;
        }
        if is_again {
            // An earlier try that was cut off has them on the list. By now it is over: the insertion waits
            // for one that has the same keys.
            let statement = client.prepare_cached(OURS).await?;
            let rows = client.query(&statement, &[&keys, &ids]).await?;
            ours.extend(column::<Uuid>(&rows, 0)?);
        }
        joined.extend(self.people.iter().map(|person| {
            if ours.contains(&person.id) {
                Joined::New
            } else {
                Joined::AlreadyListed
            }
        }));
        Ok(Done { joined, counted })
    }

    /// What the slot counts afterwards, if that has changed.
    async fn erase(&mut self, client: &Client, slot: i64) -> Result<Option<i64>, Error> {
        let keys = self.requests.iter().filter_map(|request| match request {
            Request::Erase(erasure, _) => Some(&erasure.keys),
            _ => None,
        });
        let keys: BTreeSet<_> = keys.flatten().map(String::as_bytes).collect();
        if keys.is_empty() {
            return Ok(None);
        }
        let keys: Vec<_> = keys.into_iter().collect();
        // Before anything is done, because a try that was cut off does not tell.
        let statement = client.prepare_cached(PRESENT).await?;
        let present = client.query(&statement, &[&keys]).await?;
        if present.is_empty() {
            return Ok(None);
        }
        let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&present, 0)?, column(&present, 1)?);
        let addresses = keys.iter().map(|key| String::from_utf8_lossy(key).into());
        self.present.extend(addresses);
        let statement = client.prepare_cached(ERASE).await?;
        let counted = client.query_opt(&statement, &[&keys, &slot, &ids]).await?;
        counted.map(|row| row.try_get(0)).transpose()
    }

    /// Tells everybody.
    pub(super) fn answer(mut self, done: Done) {
        let mut joined = done.joined.into_iter();
        for request in self.requests {
            // Who has gone meanwhile needs no answer.
            match request {
                Request::Join(_, answer) => {
                    if let Some(joined) = joined.next() {
                        let _ = answer.send(joined);
                    }
                }
                Request::JoinAll(entries, answer) => {
                    let _ = answer.send(joined.by_ref().take(entries.len()).collect());
                }
                Request::Erase(erasure, answer) => {
                    let was_there = |key| self.present.remove(key);
                    let _ = answer.send(erasure.keys.iter().map(was_there).collect());
                }
                Request::Ready(answer) => {
                    let _ = answer.send(());
                }
            }
        }
    }
}

/// What a slot counts.
pub(super) async fn counted(client: &Client, slot: i64) -> Result<Option<i64>, Error> {
    let statement = client.prepare_cached(COUNTED).await?;
    let row = client.query_opt(&statement, &[&slot]).await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// As every store keeps it. A time before 1970 is none of a sign-up.
fn to_the_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// A column of every row.
fn column<'a, T: FromSql<'a>>(rows: &'a [Row], index: usize) -> Result<Vec<T>, Error> {
    rows.iter().map(|row| row.try_get(index)).collect()
}
