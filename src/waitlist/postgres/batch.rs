//! Combines concurrent requests into as few statements as possible.
//!
//! People join by one statement, which is a transaction of its own: in one round trip it inserts them and
//! counts them, so that nothing is locked while the database waits for an instance.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    ops::Range,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio_postgres::{Error, Row, types::FromSql};
use uuid::Uuid;

use super::{
    super::{Joined, StoreError, queue::Request},
    error::{Failure, Outage},
    sql,
    writer::Writer,
};

/// Somebody may sign up again and again while they are erased.
const ERASURES_MAX: usize = 3;

/// A chunk that takes too long is divided by so much. Halves would take longer than visitors wait, because each part
/// with the slow row takes as long again.
const SLOW_PARTS: usize = 16;

/// How often a row is refused alone before its visitor is told: somebody may have released a lock in between.
const REFUSALS_MAX: u32 = 2;
/// How often somebody was neither inserted nor listed: they may have been erased in between.
const MISSING_MAX: u32 = 5;

/// Requests, and what has become of them so far.
pub(super) struct Batch {
    requests: Vec<Request>,
    /// Who wants to join, in the order of the requests.
    people: Vec<Person>,
    /// Of each address the first who has it, by key: sorted, to prevent deadlocks between instances.
    firsts: Vec<usize>,
    /// Ranges of `firsts` that are not done; the last one is next.
    remaining: Vec<Range<usize>>,
    /// What became of `people`, where they are the first who have their address.
    outcomes: Vec<Result<Joined, StoreError>>,
    /// Addresses to be erased that were there when they were looked for.
    present: HashSet<String>,
    /// Whether an erasure was committed.
    has_erased: bool,
}

struct Person {
    /// The position of the first one in the batch who has this address.
    first: usize,
    key: String,
    email: String,
    joined_at: SystemTime,
    id: Uuid,
    /// The epoch of the first attempt that may have listed them, or not.
    uncertain_since: Option<i64>,
    /// How often the database has refused them alone, or had not listed them.
    failures: u32,
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
                first: 0,
                key: entry.email.key(),
                email: entry.email.as_typed().to_owned(),
                joined_at: to_the_millisecond(entry.joined_at),
                id: Uuid::now_v7(),
                uncertain_since: None,
                failures: 0,
            }));
        }
        let mut firsts = BTreeMap::new();
        for (at, person) in people.iter_mut().enumerate() {
            person.first = *firsts.entry(person.key.clone()).or_insert(at);
        }
        let firsts: Vec<_> = firsts.into_values().collect();
        Self {
            requests,
            remaining: std::iter::once(0..firsts.len()).collect(),
            firsts,
            outcomes: vec![Err(StoreError::Stopped); people.len()],
            people,
            present: HashSet::new(),
            has_erased: false,
        }
    }

    /// Nobody waits for it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.requests.iter().all(Request::is_abandoned)
    }

    /// Whether somebody wants to know if people can join.
    pub(super) fn asks_if_ready(&self) -> bool {
        let is_question = |request: &Request| matches!(request, Request::Ready(_));
        self.requests.iter().any(is_question)
    }

    /// Does all of it. What fails may be done all the same, so it is done again with the same ids. Returns
    /// whether an entry was inserted. A statement lists at most `limit` people, which becomes less when it
    /// takes too long.
    pub(super) async fn commit(
        &mut self,
        writer: &mut Writer,
        limit: &mut usize,
    ) -> Result<bool, Failure> {
        let mut has_inserted = false;
        while let Some(range) = self.remaining.pop() {
            if range.is_empty() {
                continue;
            }
            let end = range.end.min(range.start + *limit);
            let (chunk, rest) = (range.start..end, end..range.end);
            self.remaining.push(rest);
            match self.join(writer, chunk.clone()).await {
                Ok(inserted) => has_inserted |= inserted,
                Err(failure) => {
                    self.note_uncertainty(&failure, &chunk, writer.epoch());
                    if failure.is_slow() && chunk.len() > 1 {
                        *limit = (chunk.len() / SLOW_PARTS).max(1);
                    }
                    let Some(why) = self.concerns_a_row(&failure, writer).await else {
                        self.remaining.push(chunk);
                        return Err(failure);
                    };
                    self.isolate(chunk, &why);
                }
            }
            if self.is_abandoned() {
                return Ok(has_inserted);
            }
        }
        self.erase(writer).await?;
        Ok(has_inserted)
    }

    fn note_uncertainty(&mut self, failure: &Failure, chunk: &Range<usize>, epoch: i64) {
        // What the database has refused is not done.
        if let Failure::Outage(Outage { kind, .. }) = failure
            && !kind.leaves_the_connection()
        {
            for at in &self.firsts[chunk.clone()] {
                self.people[*at].uncertain_since.get_or_insert(epoch);
            }
        }
    }

    /// Returns the words of the database if a failure is about the rows, and not about the database: then another
    /// row can be inserted.
    async fn concerns_a_row(&self, failure: &Failure, writer: &mut Writer) -> Option<Arc<str>> {
        match failure {
            Failure::Rejected(why) => Some(why.as_str().into()),
            failure => {
                let why = failure.may_concern_a_row()?;
                if failure.is_slow() {
                    writer.change_slot().await.ok()?;
                }
                let can_insert = writer.probe(1, 0).await.is_ok();
                can_insert.then(|| why.into())
            }
        }
    }

    /// Halves a chunk that failed, because the others are not to wait for one of them.
    fn isolate(&mut self, chunk: Range<usize>, why: &Arc<str>) {
        if chunk.len() > 1 {
            let middle = usize::midpoint(chunk.start, chunk.end);
            self.remaining.push(middle..chunk.end);
            self.remaining.push(chunk.start..middle);
            return;
        }
        let at = self.firsts[chunk.start];
        let person = &mut self.people[at];
        person.failures += 1;
        if person.failures < REFUSALS_MAX {
            self.remaining.push(chunk);
        } else {
            self.outcomes[at] = Err(StoreError::Refused(Arc::clone(why)));
        }
    }

    /// Returns whether somebody was inserted.
    async fn join(&mut self, writer: &mut Writer, range: Range<usize>) -> Result<bool, Failure> {
        let firsts = &self.firsts[range.clone()];
        let people: Vec<_> = firsts.iter().map(|at| &self.people[*at]).collect();
        let epoch = writer.epoch();
        // They may have been listed, and erased since.
        let is_stale = |it: &Person| it.uncertain_since.is_some_and(|since| since != epoch);
        let to_join: Vec<_> = people.iter().filter(|it| !is_stale(it)).collect();
        let mut fresh = HashSet::new();
        if !to_join.is_empty() {
            let keys: Vec<_> = to_join.iter().map(|it| it.key.as_bytes()).collect();
            let emails: Vec<_> = to_join.iter().map(|it| it.email.as_str()).collect();
            let times: Vec<_> = to_join.iter().map(|it| it.joined_at).collect();
            let ids: Vec<_> = to_join.iter().map(|it| it.id).collect();
            fresh.extend(writer.join(&keys, &emails, &times, &ids).await?);
        }
        let others = people.iter().filter(|it| !fresh.contains(&it.id));
        let others: Vec<_> = others.map(|it| it.key.as_bytes()).collect();
        let mut listed = HashMap::new();
        if !others.is_empty() {
            // The insertion has waited for any earlier attempt with these keys, so this is final.
            let rows = writer.query(sql::PRESENT, &[&others]).await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            listed.extend(keys.into_iter().zip(ids));
        }
        let outcome = |it: &&Person| match listed.get(it.key.as_bytes()) {
            _ if fresh.contains(&it.id) => Ok(Joined::New),
            Some(id) if *id == it.id => Ok(Joined::New),
            Some(_) => Ok(Joined::AlreadyListed),
            // Signing up again tells.
            None => Err(StoreError::TimedOut),
        };
        let is_missing =
            |it: &Person| !fresh.contains(&it.id) && !listed.contains_key(it.key.as_bytes());
        let missing = range
            .zip(&people)
            .filter(|(_, it)| is_missing(it) && !is_stale(it));
        let missing: Vec<_> = missing.map(|(at, _)| at).collect();
        let outcomes: Vec<_> = people.iter().map(outcome).collect();
        for (at, outcome) in firsts.iter().zip(outcomes) {
            self.outcomes[*at] = outcome;
        }
        for at in missing {
            // Erased in between, or a trigger of the owner's has dropped them: that is so every time.
            let person = &mut self.people[self.firsts[at]];
            person.failures += 1;
            if person.failures < MISSING_MAX {
                self.remaining.push(at..at + 1);
            }
        }
        Ok(!fresh.is_empty())
    }

    /// What became of somebody: of several who have one address, the first one joins.
    fn outcome(&self, at: usize) -> Result<Joined, StoreError> {
        let first = self.people[at].first;
        let outcome = self.outcomes[first].clone();
        outcome.map(|joined| {
            if at == first {
                joined
            } else {
                Joined::AlreadyListed
            }
        })
    }

    async fn erase(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let keys = self.requests.iter().filter_map(|request| match request {
            Request::Erase(erasure, _) => Some(&erasure.keys),
            _ => None,
        });
        let keys: BTreeSet<_> = keys.flatten().map(String::as_bytes).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = keys.into_iter().collect();
        for _ in 0..ERASURES_MAX {
            // First, because an attempt that is cut off does not say whom it has erased.
            let rows = writer.query(sql::PRESENT, &[&keys]).await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            let is_last = ids.is_empty() && self.has_erased;
            if is_last {
                break;
            }
            let addresses = keys.iter().map(|key| String::from_utf8_lossy(key).into());
            self.present.extend(addresses);
            // Also when nobody is there. After it, no sign-up that was sent before it lists anybody; and who is
            // there then has come meanwhile.
            writer.erase(&keys, &ids).await?;
            self.has_erased = true;
        }
        Ok(())
    }

    /// Answers those who need not wait until a lasting fault is fixed: whoever asks if the list is ready, and
    /// the owner. Visitors wait, because it may be fixed in time. Commands never share a batch with visitors.
    pub(super) fn give_up(&mut self, error: &StoreError) {
        let has_visitors = self
            .requests
            .iter()
            .any(|request| matches!(request, Request::Join(..)));
        let gives_up =
            |request: &mut Request| matches!(request, Request::Ready(_)) || !has_visitors;
        for request in self.requests.extract_if(.., gives_up) {
            request.fail(error.clone());
        }
    }

    /// Answers everybody.
    pub(super) fn answer(mut self) {
        let outcomes: Vec<_> = (0..self.people.len()).map(|at| self.outcome(at)).collect();
        let mut outcomes = outcomes.into_iter();
        for request in self.requests {
            // Whoever has left needs no answer.
            match request {
                Request::Join(_, answer) => {
                    if let Some(outcome) = outcomes.next() {
                        let _ = answer.send(outcome);
                    }
                }
                Request::JoinAll(entries, answer) => {
                    // All of them, also after an error: the next one is somebody else's.
                    let theirs: Vec<_> = outcomes.by_ref().take(entries.len()).collect();
                    let _ = answer.send(theirs.into_iter().collect());
                }
                Request::Erase(erasure, answer) => {
                    let was_there = |key| self.present.remove(key);
                    let _ = answer.send(Ok(erasure.keys.iter().map(was_there).collect()));
                }
                Request::Ready(answer) => {
                    let _ = answer.send(Ok(()));
                }
            }
        }
    }
}

/// As every store keeps it. A time before 1970 is none of a sign-up.
fn to_the_millisecond(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// A column of every row.
fn column<'a, T: FromSql<'a>>(rows: &'a [Row], index: usize) -> Result<Vec<T>, Failure> {
    let column: Result<_, Error> = rows.iter().map(|row| row.try_get(index)).collect();
    column.map_err(|error| Failure::from(&error))
}
