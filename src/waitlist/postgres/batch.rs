//! Combines concurrent sign-ups into as few statements as possible.
//!
//! A single statement, and so a single transaction, inserts many sign-ups and counts them in one round trip. So nothing
//! is locked while the database waits for an instance.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use uuid::Uuid;

use super::{
    super::{entry::WaitlistEntry, error::StoreError, queue::ReplySender, store::JoinOutcome},
    error::Failure,
    writer::{JoinedEntries, NewEntry, Writer},
};

/// Number of parts into which a failed range is divided. A part of the largest batch (`BATCH_MAX_REQUESTS` in `committer`)
/// is then divided into rows. So a slow row delays the others by three statement timeouts, which is less than visitors
/// wait.
const PARTS: usize = 32;

/// How often the database must reject a row, with others and at last on its own, before the visitor gets the error. A lock
/// may be released in between.
const ROW_REJECTIONS_MAX: u32 = 2;
/// Maximum number of attempts for a sign-up that is neither inserted nor listed afterwards. It may have been erased in
/// between.
const MISSING_CHECKS_MAX: u32 = 5;

/// A request to the committer.
pub(super) enum Request {
    /// Adds an entry.
    Join {
        entry: WaitlistEntry,
        is_imported: bool,
        reply: ReplySender<JoinOutcome>,
    },
    /// Asks only for the reply.
    Ready(ReplySender<()>),
}

impl Request {
    pub(super) fn join(
        entry: WaitlistEntry,
        is_imported: bool,
    ) -> impl FnOnce(ReplySender<JoinOutcome>) -> Self {
        move |reply| Self::Join {
            entry,
            is_imported,
            reply,
        }
    }

    /// Returns whether the client has gone, so that nobody waits for the reply.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            Self::Join { reply, .. } => reply.is_abandoned(),
            Self::Ready(reply) => reply.is_abandoned(),
        }
    }
}

/// Requests that are committed together, and their outcomes so far.
pub(super) struct Batch {
    /// The sign-ups: one for each address. They are sorted by key, to prevent deadlocks between instances.
    sign_ups: Vec<PendingSignUp>,
    readiness_checks: Vec<ReplySender<()>>,
    /// Ranges of `sign_ups` that are not done. The last one is next.
    remaining: Vec<Range<usize>>,
}

/// A sign-up: the first entry with its address, or the first of a visitor.
struct PendingSignUp {
    new: NewEntry,
    /// The clients that wait for the outcome. The first one adds the entry.
    replies: Vec<ReplySender<JoinOutcome>>,
    /// The epoch of the first attempt that may have added the entry.
    sent_in_epoch: Option<i64>,
    /// How often the database rejected this row, alone or with others, or did not have it after the insertion.
    failures: u32,
    /// The outcome so far.
    outcome: Result<JoinOutcome, StoreError>,
}

impl PendingSignUp {
    fn new(key: String, entry: WaitlistEntry) -> Self {
        Self {
            new: NewEntry {
                key,
                entry,
                id: Uuid::now_v7(),
                // Until a visitor's entry is found.
                is_imported: true,
            },
            replies: Vec::new(),
            sent_in_epoch: None,
            failures: 0,
            outcome: Err(StoreError::Stopped),
        }
    }

    /// Returns whether nobody waits for the outcome. After an attempt that may have added the entry, its visitor need not: the
    /// message must follow.
    fn is_abandoned(&self) -> bool {
        let mut replies = self.replies.iter();
        match self.sent_in_epoch {
            None => replies.all(ReplySender::is_abandoned),
            Some(_) => replies.all(ReplySender::is_expired),
        }
    }

    fn send_replies(self) {
        let mut outcome = self.outcome;
        for reply in self.replies {
            let next = match outcome {
                Ok(JoinOutcome::New) => Ok(JoinOutcome::AlreadyListed),
                ref other => other.clone(),
            };
            reply.send(std::mem::replace(&mut outcome, next));
        }
    }
}

impl Batch {
    pub(super) fn new(requests: impl Iterator<Item = Request>) -> Self {
        let (mut sign_ups, mut readiness_checks) = (BTreeMap::new(), Vec::new());
        for request in requests {
            match request {
                Request::Ready(reply) => readiness_checks.push(reply),
                Request::Join {
                    entry,
                    is_imported,
                    reply,
                } => {
                    let key = entry.email.key();
                    let sign_up = sign_ups
                        .entry(key.clone())
                        .or_insert_with(|| PendingSignUp::new(key, entry.clone()));
                    if sign_up.new.is_imported && !is_imported {
                        (sign_up.new.entry, sign_up.new.is_imported) = (entry, false);
                    }
                    sign_up.replies.push(reply);
                }
            }
        }
        let all = 0..sign_ups.len();
        Self {
            sign_ups: sign_ups.into_values().collect(),
            readiness_checks,
            remaining: std::iter::once(all).filter(|it| !it.is_empty()).collect(),
        }
    }

    /// Returns whether all clients have gone, so that nobody waits for a reply.
    pub(super) fn is_abandoned(&self) -> bool {
        self.readiness_checks.iter().all(ReplySender::is_abandoned)
            && self.sign_ups.iter().all(PendingSignUp::is_abandoned)
    }

    /// Returns whether one of the requests is a readiness check.
    pub(super) fn has_readiness_check(&self) -> bool {
        !self.readiness_checks.is_empty()
    }

    /// Fails the requests that need not wait until a lasting failure is fixed: readiness checks and imports. Visitors wait,
    /// because it may be fixed in time.
    pub(super) fn fail_all_but_visitors(&mut self, error: &StoreError) {
        for reply in self.readiness_checks.drain(..) {
            reply.send(Err(error.clone()));
        }
        let imported = self.sign_ups.iter_mut().filter(|it| it.new.is_imported);
        for reply in imported.flat_map(|it| it.replies.drain(..)) {
            reply.send(Err(error.clone()));
        }
    }

    /// Sends the replies to all requests.
    pub(super) fn send_replies(self) {
        self.sign_ups
            .into_iter()
            .for_each(PendingSignUp::send_replies);
        for reply in self.readiness_checks {
            reply.send(Ok(()));
        }
    }

    /// Commits all requests. Returns whether an entry was inserted.
    ///
    /// A statement that failed may have taken effect, so the next attempt uses the same ids.
    pub(super) async fn commit(&mut self, writer: &mut Writer) -> Result<bool, Failure> {
        let mut has_inserted = false;
        while let Some(range) = self.remaining.pop() {
            match self.join(writer, range.clone()).await {
                Ok(inserted) => has_inserted |= inserted,
                Err(failure) if is_row_problem(&failure, writer).await => {
                    self.isolate(range, failure);
                }
                Err(failure) => {
                    self.remaining.push(range);
                    return Err(failure);
                }
            }
            if self.is_abandoned() {
                break;
            }
        }
        Ok(has_inserted)
    }

    /// Divides a range that failed, so that its other rows do not wait for the one that the database rejects.
    fn isolate(&mut self, range: Range<usize>, failure: Failure) {
        let sign_ups = &mut self.sign_ups[range.clone()];
        for sign_up in sign_ups.iter_mut() {
            sign_up.failures += 1;
        }
        if let [alone] = sign_ups
            && alone.failures >= ROW_REJECTIONS_MAX
        {
            alone.outcome = Err(failure.into());
            return;
        }
        let size = range.len().div_ceil(PARTS);
        let starts = range.clone().step_by(size).rev();
        let parts = starts.map(|start| start..range.end.min(start + size));
        self.remaining.extend(parts);
    }

    /// Inserts the sign-ups in a range. Returns whether an entry was inserted.
    async fn join(&mut self, writer: &mut Writer, range: Range<usize>) -> Result<bool, Failure> {
        writer.follow_epoch().await?;
        let (to_join, newly_uncertain) = self.mark_uncertain(writer.epoch, range.clone());
        let mut joined = JoinedEntries::default();
        if !to_join.is_empty() {
            let entries = to_join.iter().map(|at| &self.sign_ups[*at].new);
            let entries: Vec<_> = entries.collect();
            joined = match writer.join(&entries).await {
                Ok(joined) => joined,
                Err(failure) => {
                    if failure.kind.is_without_effect() {
                        for at in newly_uncertain {
                            self.sign_ups[at].sent_in_epoch = None;
                        }
                    }
                    return Err(failure);
                }
            };
        }
        let others = self.sign_ups[range.clone()].iter();
        let others = others.filter(|it| !joined.new.contains(&it.new.id));
        let others: Vec<_> = others.map(|it| it.new.key.as_bytes()).collect();
        let listed = match others.is_empty() {
            true => HashMap::new(),
            // The insertion waited for every earlier attempt with these keys, and one of an earlier epoch has no effect, so
            // this result is final.
            false => writer.find_listed(&others).await?,
        };
        for at in range {
            let sign_up = &mut self.sign_ups[at];
            let (key, id) = (sign_up.new.key.as_bytes(), sign_up.new.id);
            sign_up.outcome = match listed.get(key) {
                _ if joined.new.contains(&id) => Ok(JoinOutcome::New),
                Some(found) if found.id == id => Ok(JoinOutcome::New),
                Some(_) => Ok(JoinOutcome::AlreadyListed),
                None if joined.suppressed.contains(key) => Ok(JoinOutcome::Suppressed),
                // The result is unknown. The visitor can sign up again.
                None => Err(StoreError::TimedOut),
            };
            if sign_up.outcome.is_ok() || !to_join.contains(&at) {
                continue;
            }
            // The entry was erased in between, or a trigger drops it. A trigger would drop it every time. Either way,
            // this attempt has not added it.
            if newly_uncertain.contains(&at) {
                sign_up.sent_in_epoch = None;
            }
            sign_up.failures += 1;
            if sign_up.failures < MISSING_CHECKS_MAX {
                self.remaining.push(at..at + 1);
            }
        }
        Ok(!joined.new.is_empty())
    }

    /// Marks the awaited sign-ups of a part: from now on their entries may be on the list, because the response may be lost,
    /// or a later statement may fail. Returns those that may be sent, and those that were not marked before.
    fn mark_uncertain(&mut self, epoch: i64, range: Range<usize>) -> (Vec<usize>, Vec<usize>) {
        let (mut to_join, mut newly_uncertain) = (Vec::new(), Vec::new());
        for at in range {
            let sign_up = &mut self.sign_ups[at];
            // The owner may have erased the person since.
            if sign_up.is_abandoned() {
                continue;
            }
            if sign_up.sent_in_epoch.is_none() {
                sign_up.sent_in_epoch = Some(epoch);
                newly_uncertain.push(at);
            }
            // An earlier attempt may have added the entry, and an erasure may have removed it.
            if sign_up.sent_in_epoch == Some(epoch) {
                to_join.push(at);
            }
        }
        (to_join, newly_uncertain)
    }
}

/// Returns whether a failure is caused by the rows, and not by the database. In that case, another row can be inserted.
async fn is_row_problem(failure: &Failure, writer: &mut Writer) -> bool {
    if failure.kind.is_caused_by_a_row() {
        return true;
    }
    if !failure.kind.may_be_caused_by_a_row() {
        return false;
    }
    // Another transaction may have locked the row of the slot.
    let has_slot = !failure.kind.is_slow() || writer.change_slot().await.is_ok();
    has_slot && writer.probe(1, 0).await.is_ok()
}
