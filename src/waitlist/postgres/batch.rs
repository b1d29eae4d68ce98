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
    super::{JoinOutcome, StoreError, queue::Request},
    error::{DatabaseFailure, Failure},
    sql,
    writer::Writer,
};

/// Somebody may sign up again and again while they are erased.
const MAX_ERASE_ROUNDS: usize = 3;

/// A chunk that takes too long is divided by so much. Halves would take longer than visitors wait, because each part
/// with the slow row takes as long again.
const SLOW_CHUNK_DIVISOR: usize = 16;

/// How often a row is refused alone before its visitor is told: somebody may have released a lock in between.
const MAX_ROW_REJECTIONS: u32 = 2;
/// How often somebody was neither inserted nor listed: they may have been erased in between.
const MAX_MISSING_CHECKS: u32 = 5;

/// Requests, and what has become of them so far.
pub(super) struct Batch {
    requests: Vec<Request>,
    /// Who wants to join, in the order of the requests.
    sign_ups: Vec<PendingSignUp>,
    /// Of each address the first who has it, by key: sorted, to prevent deadlocks between instances.
    first_positions: Vec<usize>,
    /// Ranges of `first_positions` that are not done; the last one is next.
    remaining: Vec<Range<usize>>,
    /// What became of `sign_ups`, where they are the first who have their address.
    outcomes: Vec<Result<JoinOutcome, StoreError>>,
    /// Addresses to be erased that were there when they were looked for.
    present: HashSet<String>,
    /// Whether an erasure was committed.
    has_erased: bool,
}

struct PendingSignUp {
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
        let mut sign_ups = Vec::new();
        for request in &requests {
            let entries = match request {
                Request::Join(entry, _) => std::slice::from_ref(entry),
                Request::JoinAll(entries, _) => entries,
                Request::Erase(..) | Request::Ready(_) => &[],
            };
            sign_ups.extend(entries.iter().map(|entry| PendingSignUp {
                first: 0,
                key: entry.email.key(),
                email: entry.email.as_typed().to_owned(),
                joined_at: truncate_to_millis(entry.joined_at),
                id: Uuid::now_v7(),
                uncertain_since: None,
                failures: 0,
            }));
        }
        let mut first_positions = BTreeMap::new();
        for (at, sign_up) in sign_ups.iter_mut().enumerate() {
            sign_up.first = *first_positions.entry(sign_up.key.clone()).or_insert(at);
        }
        let first_positions: Vec<_> = first_positions.into_values().collect();
        Self {
            requests,
            remaining: std::iter::once(0..first_positions.len()).collect(),
            first_positions,
            outcomes: vec![Err(StoreError::Stopped); sign_ups.len()],
            sign_ups,
            present: HashSet::new(),
            has_erased: false,
        }
    }

    /// Nobody waits for it any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.requests.iter().all(Request::is_abandoned)
    }

    /// Whether somebody wants to know if people can join.
    pub(super) fn has_readiness_check(&self) -> bool {
        let is_readiness_check = |request: &Request| matches!(request, Request::Ready(_));
        self.requests.iter().any(is_readiness_check)
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
                        *limit = (chunk.len() / SLOW_CHUNK_DIVISOR).max(1);
                    }
                    let Some(reason) = self.confirm_row_problem(&failure, writer).await else {
                        self.remaining.push(chunk);
                        return Err(failure);
                    };
                    self.isolate(chunk, &reason);
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
        if let Failure::Database(DatabaseFailure { kind, .. }) = failure
            && !kind.is_connection_usable()
        {
            for at in &self.first_positions[chunk.clone()] {
                self.sign_ups[*at].uncertain_since.get_or_insert(epoch);
            }
        }
    }

    /// Returns the words of the database if a failure is about the rows, and not about the database: then another
    /// row can be inserted.
    async fn confirm_row_problem(
        &self,
        failure: &Failure,
        writer: &mut Writer,
    ) -> Option<Arc<str>> {
        match failure {
            Failure::RowRejected(reason) => Some(reason.as_str().into()),
            failure => {
                let reason = failure.possible_row_problem()?;
                if failure.is_slow() {
                    writer.change_slot().await.ok()?;
                }
                let can_insert = writer.probe(1, 0).await.is_ok();
                can_insert.then(|| reason.into())
            }
        }
    }

    /// Halves a chunk that failed, because the others are not to wait for one of them.
    fn isolate(&mut self, chunk: Range<usize>, reason: &Arc<str>) {
        if chunk.len() > 1 {
            let middle = usize::midpoint(chunk.start, chunk.end);
            self.remaining.push(middle..chunk.end);
            self.remaining.push(chunk.start..middle);
            return;
        }
        let at = self.first_positions[chunk.start];
        let sign_up = &mut self.sign_ups[at];
        sign_up.failures += 1;
        if sign_up.failures < MAX_ROW_REJECTIONS {
            self.remaining.push(chunk);
        } else {
            self.outcomes[at] = Err(StoreError::Database(Arc::clone(reason)));
        }
    }

    /// Returns whether somebody was inserted.
    async fn join(&mut self, writer: &mut Writer, range: Range<usize>) -> Result<bool, Failure> {
        let first_positions = &self.first_positions[range.clone()];
        let sign_ups: Vec<_> = first_positions
            .iter()
            .map(|at| &self.sign_ups[*at])
            .collect();
        let epoch = writer.epoch();
        // They may have been listed, and erased since.
        let is_stale = |it: &PendingSignUp| it.uncertain_since.is_some_and(|since| since != epoch);
        let to_join: Vec<_> = sign_ups.iter().filter(|it| !is_stale(it)).collect();
        let mut inserted = HashSet::new();
        if !to_join.is_empty() {
            let keys: Vec<_> = to_join.iter().map(|it| it.key.as_bytes()).collect();
            let emails: Vec<_> = to_join.iter().map(|it| it.email.as_str()).collect();
            let times: Vec<_> = to_join.iter().map(|it| it.joined_at).collect();
            let ids: Vec<_> = to_join.iter().map(|it| it.id).collect();
            inserted.extend(writer.join(&keys, &emails, &times, &ids).await?);
        }
        let others = sign_ups.iter().filter(|it| !inserted.contains(&it.id));
        let others: Vec<_> = others.map(|it| it.key.as_bytes()).collect();
        let mut listed = HashMap::new();
        if !others.is_empty() {
            // The insertion has waited for any earlier attempt with these keys, so this is final.
            let rows = writer.query(sql::FIND_LISTED, &[&others]).await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            listed.extend(keys.into_iter().zip(ids));
        }
        let outcome = |it: &&PendingSignUp| match listed.get(it.key.as_bytes()) {
            _ if inserted.contains(&it.id) => Ok(JoinOutcome::New),
            Some(id) if *id == it.id => Ok(JoinOutcome::New),
            Some(_) => Ok(JoinOutcome::AlreadyListed),
            // Signing up again tells.
            None => Err(StoreError::TimedOut),
        };
        let is_missing = |it: &PendingSignUp| {
            !inserted.contains(&it.id) && !listed.contains_key(it.key.as_bytes())
        };
        let missing = range
            .zip(&sign_ups)
            .filter(|(_, it)| is_missing(it) && !is_stale(it));
        let missing: Vec<_> = missing.map(|(at, _)| at).collect();
        let outcomes: Vec<_> = sign_ups.iter().map(outcome).collect();
        for (at, outcome) in first_positions.iter().zip(outcomes) {
            self.outcomes[*at] = outcome;
        }
        for at in missing {
            // Erased in between, or a trigger of the owner's has dropped them: that is so every time.
            let sign_up = &mut self.sign_ups[self.first_positions[at]];
            sign_up.failures += 1;
            if sign_up.failures < MAX_MISSING_CHECKS {
                self.remaining.push(at..at + 1);
            }
        }
        Ok(!inserted.is_empty())
    }

    /// What became of somebody: of several who have one address, the first one joins.
    fn outcome(&self, at: usize) -> Result<JoinOutcome, StoreError> {
        let first = self.sign_ups[at].first;
        let outcome = self.outcomes[first].clone();
        outcome.map(|joined| {
            if at == first {
                joined
            } else {
                JoinOutcome::AlreadyListed
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
        for _ in 0..MAX_ERASE_ROUNDS {
            // First, because an attempt that is cut off does not say whom it has erased.
            let rows = writer.query(sql::FIND_LISTED, &[&keys]).await?;
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
    pub(super) fn fail_all_but_visitors(&mut self, error: &StoreError) {
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

    /// Answers everybody.
    pub(super) fn send_replies(mut self) {
        let outcomes: Vec<_> = (0..self.sign_ups.len())
            .map(|at| self.outcome(at))
            .collect();
        let mut outcomes = outcomes.into_iter();
        for request in self.requests {
            // Whoever has left needs no answer.
            match request {
                Request::Join(_, reply) => {
                    if let Some(outcome) = outcomes.next() {
                        let _ = reply.send(outcome);
                    }
                }
                Request::JoinAll(entries, reply) => {
                    // All of them, also after an error: the next one is somebody else's.
                    let theirs: Vec<_> = outcomes.by_ref().take(entries.len()).collect();
                    let _ = reply.send(theirs.into_iter().collect());
                }
                Request::Erase(erasure, reply) => {
                    let was_there = |key| self.present.remove(key);
                    let _ = reply.send(Ok(erasure.keys.iter().map(was_there).collect()));
                }
                Request::Ready(reply) => {
                    let _ = reply.send(Ok(()));
                }
            }
        }
    }
}

/// As every store keeps it. A time before 1970 is none of a sign-up.
fn truncate_to_millis(time: SystemTime) -> SystemTime {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let millis = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
    UNIX_EPOCH + Duration::from_millis(millis)
}

/// A column of every row.
fn column<'a, T: FromSql<'a>>(rows: &'a [Row], index: usize) -> Result<Vec<T>, Failure> {
    let column: Result<_, Error> = rows.iter().map(|row| row.try_get(index)).collect();
    column.map_err(|error| Failure::from(&error))
}
