//! Combines concurrent requests into as few statements as possible.
//!
//! A single statement, and so a single transaction, inserts many sign-ups and counts them in one round trip. So nothing
//! is locked while the database waits for an instance.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
    time::SystemTime,
};

use uuid::Uuid;

use super::{
    super::{
        entry::{Fact, WaitlistEntry},
        error::StoreError,
        source::Source,
        store::JoinOutcome,
    },
    error::Failure,
    request::Request,
    rows::column,
    sql,
    writer::{JoinedEntries, NewEntry, Writer, truncate_to_millis},
};

/// Divisor for a chunk that takes too long. Halving would take longer than visitors wait, because each part with the
/// slow row takes as long again.
const SLOW_CHUNK_DIVISOR: usize = 16;

/// How often the database must reject a row on its own before the visitor gets the error. A lock may be released in
/// between.
const ROW_REJECTIONS_MAX: u32 = 2;
/// Maximum number of attempts for a sign-up that is neither inserted nor listed afterwards. It may have been erased in
/// between.
const MISSING_CHECKS_MAX: u32 = 5;

/// Requests that are committed together, and their outcomes so far.
pub(super) struct Batch {
    pub(super) requests: Vec<Request>,
    /// The sign-ups: one for each address. They are sorted by key, to prevent deadlocks between instances.
    pub(super) sign_ups: Vec<PendingSignUp>,
    /// The position in `sign_ups` of each entry of the requests, in their order.
    pub(super) positions: Vec<usize>,
    /// Ranges of `sign_ups` that are not done. The last one is next.
    remaining: Vec<Range<usize>>,
}

/// A sign-up: the first entry with its address.
pub(super) struct PendingSignUp {
    key: String,
    email: String,
    joined_at: SystemTime,
    source: Option<Source>,
    /// The facts, and the ids that they get.
    facts: Vec<(Uuid, Fact)>,
    id: Uuid,
    /// Whether it comes from an import, and no visitor signs up with the same address.
    is_imported: bool,
    /// The epoch of the first attempt that may have added the entry.
    uncertain_since: Option<i64>,
    /// How often the database rejected this row on its own, or did not have it after the insertion.
    failures: u32,
    /// The outcome so far.
    pub(super) outcome: Result<JoinOutcome, StoreError>,
}

impl PendingSignUp {
    fn new(entry: &WaitlistEntry) -> Self {
        Self {
            key: entry.email.key(),
            email: entry.email.as_typed().to_owned(),
            joined_at: truncate_to_millis(entry.joined_at),
            source: entry.source.clone(),
            facts: entry.facts().map(|fact| (Uuid::now_v7(), fact)).collect(),
            id: Uuid::now_v7(),
            is_imported: true,
            uncertain_since: None,
            failures: 0,
            outcome: Err(StoreError::Stopped),
        }
    }

    fn as_new_entry(&self) -> NewEntry<'_> {
        NewEntry {
            key: self.key.as_bytes(),
            email: &self.email,
            joined_at: self.joined_at,
            source: self.source.as_ref().map(Source::as_str),
            facts: &self.facts,
            id: self.id,
            is_imported: self.is_imported,
        }
    }
}

impl Batch {
    pub(super) fn new(requests: impl Iterator<Item = Request>) -> Self {
        let requests: Vec<_> = requests.collect();
        let mut sign_ups = BTreeMap::new();
        let mut keys = Vec::new();
        for request in &requests {
            for entry in request.entries() {
                let key = entry.email.key();
                let sign_up = sign_ups.entry(key.clone());
                let sign_up = sign_up.or_insert_with(|| PendingSignUp::new(entry));
                sign_up.is_imported &= matches!(request, Request::JoinAll(..));
                keys.push(key);
            }
        }
        let order: HashMap<_, _> = sign_ups.keys().map(String::as_str).zip(0..).collect();
        let positions = keys.iter().map(|key| order[key.as_str()]).collect();
        Self {
            requests,
            positions,
            remaining: std::iter::once(0..sign_ups.len()).collect(),
            sign_ups: sign_ups.into_values().collect(),
        }
    }

    /// Returns whether all clients have gone, so that nobody waits for a reply.
    pub(super) fn is_abandoned(&self) -> bool {
        self.requests.iter().all(Request::is_abandoned)
    }

    /// Returns whether one of the requests is a readiness check.
    pub(super) fn has_readiness_check(&self) -> bool {
        let is_readiness_check = |request: &Request| matches!(request, Request::Ready(_));
        self.requests.iter().any(is_readiness_check)
    }

    /// Commits all requests. Returns whether an entry was inserted.
    ///
    /// A statement that failed may have taken effect, so the next attempt uses the same ids. A statement adds at most
    /// `limit` entries. The limit is lowered when a statement takes too long.
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
        Ok(has_inserted)
    }

    /// Returns the reason if a failure is caused by the rows, and not by the database. In that case, another row can be
    /// inserted.
    async fn confirm_row_problem(
        &self,
        failure: &Failure,
        writer: &mut Writer,
    ) -> Option<Box<str>> {
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

    /// Halves a chunk that failed, so that its other rows do not wait for the one that the database rejects.
    fn isolate(&mut self, chunk: Range<usize>, reason: &str) {
        if chunk.len() > 1 {
            let middle = usize::midpoint(chunk.start, chunk.end);
            self.remaining.push(middle..chunk.end);
            self.remaining.push(chunk.start..middle);
            return;
        }
        let sign_up = &mut self.sign_ups[chunk.start];
        sign_up.failures += 1;
        if sign_up.failures < ROW_REJECTIONS_MAX {
            self.remaining.push(chunk);
        } else {
            sign_up.outcome = Err(StoreError::Database(reason.into()));
        }
    }

    /// Inserts the sign-ups in a range. Returns whether an entry was inserted.
    async fn join(&mut self, writer: &mut Writer, range: Range<usize>) -> Result<bool, Failure> {
        writer.follow_epoch().await?;
        let (to_join, newly_uncertain) = self.mark_uncertain(writer.epoch(), range.clone());
        let mut joined = JoinedEntries::default();
        if !to_join.is_empty() {
            let entries = to_join.iter().map(|at| self.sign_ups[*at].as_new_entry());
            let entries: Vec<_> = entries.collect();
            joined = match writer.join(&entries).await {
                Ok(joined) => joined,
                Err(failure) => {
                    if failure.is_without_effect() {
                        for at in newly_uncertain {
                            self.sign_ups[at].uncertain_since = None;
                        }
                    }
                    return Err(failure);
                }
            };
        }
        let JoinedEntries {
            new: inserted,
            suppressed,
        } = joined;
        let others = self.sign_ups[range.clone()].iter();
        let others = others.filter(|it| !inserted.contains(&it.id));
        let others: Vec<_> = others.map(|it| it.key.as_bytes()).collect();
        let mut listed = HashMap::new();
        if !others.is_empty() {
            // The insertion waited for every earlier attempt with these keys, so this result is final.
            let rows = writer.query(sql::FIND_LISTED, &[&others]).await?;
            let (keys, ids): (Vec<Vec<u8>>, Vec<Uuid>) = (column(&rows, 0)?, column(&rows, 1)?);
            listed.extend(keys.into_iter().zip(ids));
        }
        for at in range {
            let sign_up = &mut self.sign_ups[at];
            let key = sign_up.key.as_bytes();
            sign_up.outcome = match listed.get(key) {
                _ if inserted.contains(&sign_up.id) => Ok(JoinOutcome::New),
                Some(id) if *id == sign_up.id => Ok(JoinOutcome::New),
                Some(_) => Ok(JoinOutcome::AlreadyListed),
                None if suppressed.contains(key) => Ok(JoinOutcome::Suppressed),
                // The result is unknown. The visitor can sign up again.
                None => Err(StoreError::TimedOut),
            };
            if sign_up.outcome.is_ok() || !to_join.contains(&at) {
                continue;
            }
            // The entry was erased in between, or a trigger drops it. A trigger would drop it every time. Either way,
            // this attempt has not added it.
            if newly_uncertain.contains(&at) {
                sign_up.uncertain_since = None;
            }
            sign_up.failures += 1;
            if sign_up.failures < MISSING_CHECKS_MAX {
                self.remaining.push(at..at + 1);
            }
        }
        Ok(!inserted.is_empty())
    }

    /// Marks the awaited sign-ups of a part: from now on their entries may be on the list, because the response may be lost,
    /// or a later statement may fail. Returns those that may be sent, and those that were not marked before.
    fn mark_uncertain(&mut self, epoch: i64, range: Range<usize>) -> (Vec<usize>, Vec<usize>) {
        let (mut to_join, mut newly_uncertain) = (Vec::new(), Vec::new());
        for at in self.awaited_positions(range) {
            let sign_up = &mut self.sign_ups[at];
            if sign_up.uncertain_since.is_none() {
                sign_up.uncertain_since = Some(epoch);
                newly_uncertain.push(at);
            }
            // An earlier attempt may have added the entry, and an erasure may have removed it. If the visitor has given
            // up, the owner may have erased the person since.
            if sign_up.uncertain_since == Some(epoch) {
                to_join.push(at);
            }
        }
        (to_join, newly_uncertain)
    }
}
