//! The task: asks one person after another, and fills the queue from the store.

use std::{
    collections::HashSet,
    future::pending,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use tokio::{
    task::spawn_blocking,
    time::{sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Confirmation,
    asked::{AskedPeople, Due, is_open, recent_attempts, result_of, retry_pause},
    backoff::{Backoffs, LONGEST_PAUSE},
    courier::{AskError, Courier, STORE_PAUSE},
    history::{AttemptResult, DeliveryAttempt, History},
    mailbox::hash_mailbox,
    queue::Ask,
    sweep,
};
use crate::{
    mail::is_deferred_by_objection,
    server::ClientKey,
    waitlist::{
        AddressHash, Delivery, DeliveryStart, DeliveryStatus, MessageId, StoreError, WaitlistEntry,
    },
};

/// How long the message under way may take to reach the mail server after the server was asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after a sweep that failed. It may have read the whole list.
const FAILED_SWEEP_PAUSE: Duration = Duration::from_secs(60);
/// How often the task looks whether people may be asked whose client had to wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Pause before a person is asked after another process has changed the ledger.
const CHANGED_LEDGER_PAUSE: Duration = Duration::from_millis(100);

/// Asks people until the server stops. Then it finishes the message that is under way, unless the mail server is slow.
pub(super) async fn run(confirmation: &Confirmation, stopping: &CancellationToken) {
    let give_up = CancellationToken::new();
    let follow_stop = async {
        stopping.cancelled().await;
        sleep(STOP_TIMEOUT).await;
        give_up.cancel();
        pending().await
    };
    let mut task = Task {
        confirmation,
        courier: Courier::new(confirmation, give_up.clone()),
        history: History::new(confirmation.sender.settings.messages_per_day),
        backoffs: Backoffs::new(),
        asked_elsewhere: HashSet::new(),
        is_loaded: false,
        next_sweep: Instant::now(),
    };
    let work = async {
        task.work(stopping).await;
        task.courier.quit().await;
    };
    tokio::select! {
        () = work => {}
        () = follow_stop => {}
    }
}

struct Task<'a> {
    confirmation: &'a Confirmation,
    courier: Courier<'a>,
    history: History,
    backoffs: Backoffs,
    /// The people that other processes have asked since the last sweep, which may have found them too. The ledger is read
    /// before they are asked.
    asked_elsewhere: HashSet<AddressHash>,
    /// Whether the ledger was read.
    is_loaded: bool,
    next_sweep: Instant,
}

impl Task<'_> {
    async fn work(&mut self, stopping: &CancellationToken) {
        while !stopping.is_cancelled() {
            if self.next_sweep <= Instant::now() || self.confirmation.queue().needs_sweep() {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => break,
                    () = self.sweep() => {}
                }
            }
            let Some(ask) = self.next() else {
                let wake_at = self.wake_at();
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => break,
                    () = self.confirmation.asked.notified() => {}
                    () = sleep_until(wake_at.into()) => {}
                }
                continue;
            };
            // A mail server that does not respond must not delay the end of the program.
            let connected = tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                connected = self.courier.connect() => connected,
            };
            match connected {
                Ok(()) => self.ask(ask).await,
                Err(error) => {
                    let pause = self.backoffs.note_for_all();
                    let server = &self.confirmation.sender.settings.mail.smtp;
                    self.report(pause, &format!("{server}: {error}"));
                    self.confirmation.queue().add_later(ask, Instant::now());
                }
            }
        }
    }

    /// Returns the person who is next.
    fn next(&mut self) -> Option<Ask> {
        let is_paused = !self.is_loaded || self.backoffs.until().is_some();
        if is_paused || self.confirmation.queue().is_empty() {
            return None;
        }
        if let Some(wait) = self.history.wait_for_budget(SystemTime::now()) {
            let per_day = self.confirmation.sender.settings.messages_per_day;
            self.backoffs.pause(wait);
            let reason =
                format!("{per_day} were sent in 24 hours, which is the limit (--confirm-per-day)");
            self.report(wait, &reason);
            return None;
        }
        let (backoffs, shares) = (&self.backoffs, self.history.shares());
        let rank = |by: ClientKey| shares.rank(by).filter(|_| !backoffs.holds(by));
        self.confirmation.queue().take(Instant::now(), rank)
    }

    /// Returns when to look for the next person again.
    fn wake_at(&self) -> Instant {
        let queue = self.confirmation.queue();
        let next = match self.backoffs.until() {
            Some(until) => Some(until),
            None if queue.has_waiting() => Some(Instant::now() + POLL_INTERVAL),
            None => queue.next_at(),
        };
        next.map_or(self.next_sweep, |next| next.min(self.next_sweep))
    }

    /// Asks a person, and puts the person into the queue again if the message must be tried again.
    async fn ask(&mut self, ask: Ask) {
        match self.try_ask(&ask).await {
            Ok(None) => {}
            Ok(Some(Due { retry, pause })) => {
                let at = Instant::now() + pause;
                self.confirmation
                    .queue()
                    .add_later(Ask { retry, ..ask }, at);
            }
            Err(error) => {
                let pause = match error {
                    AskError::Store(_) => STORE_PAUSE,
                    AskError::Message(_) => LONGEST_PAUSE,
                };
                self.backoffs.pause(pause);
                self.report(pause, &error.to_string());
                self.confirmation.queue().add_later(ask, Instant::now());
            }
        }
    }

    /// Asks a person. Returns how to ask the person again, if the message must be tried again.
    async fn try_ask(&mut self, ask: &Ask) -> Result<Option<Due>, AskError> {
        // After connecting, which takes time: the person may have left or confirmed a moment ago.
        let entry = self.confirmation.list.person(&ask.email).await?;
        let Some(entry) = entry.filter(WaitlistEntry::awaits_confirmation) else {
            return Ok(None);
        };
        let key = self.confirmation.key.get().await?;
        let recipient = key.hash(entry.email.key());
        let mailbox = hash_mailbox(&key, &entry.email);
        let mut retry = ask.retry;
        let was_asked = |since| self.history.has_since(recipient, since);
        // A sweep has found the person too, or the person has joined again during the message.
        let is_repeated = retry.is_none() && entry.asked_at.is_some_and(was_asked);
        if self.asked_elsewhere.remove(&recipient) || is_repeated {
            let due = self.read_due(recipient, &entry).await?;
            // A pause also if the other process is sending the message now: it may be killed before it has a result.
            let Some(latest) = due.filter(|it| it.pause.is_zero()) else {
                return Ok(due);
            };
            retry = latest.retry;
        }
        let is_full = self.history.is_full(mailbox, recipient);
        // A message that the mailbox may have is sent again when there is room: the next sweeps find it.
        if is_full && retry.is_some() {
            return Ok(None);
        }
        let sent = self.courier.send(&key, &entry, retry, is_full).await?;
        let Some((delivery, status)) = sent else {
            let due = self.read_due(recipient, &entry).await?;
            return Ok(due.map(|due| Due {
                pause: due.pause.max(CHANGED_LEDGER_PAUSE),
                ..due
            }));
        };
        if let Some(result) = result_of(&status) {
            self.history.add(DeliveryAttempt {
                at: SystemTime::now(),
                number: (delivery.number, delivery.attempts),
                recipient,
                mailbox: Some(mailbox),
                by: Some(ask.by),
                result,
            });
            self.confirmation.tries.reset(&entry.email);
        }
        self.note(ask.by, &status);
        Ok(next_attempt(delivery))
    }

    /// Reads from the ledger how to ask a person.
    async fn read_due(
        &mut self,
        recipient: AddressHash,
        entry: &WaitlistEntry,
    ) -> Result<Option<Due>, StoreError> {
        let (asked, _) = self.read_ledger().await?;
        Ok(asked.due(recipient, entry, SystemTime::now()))
    }

    /// Takes the result of a message into account, which may make people wait.
    fn note(&mut self, by: ClientKey, status: &DeliveryStatus) {
        let reply = status.reply.as_ref();
        let words = match reply {
            Some(reply) if reply.is_closing() => {
                let pause = self.backoffs.note_for_all();
                return self.report(pause, &reply.to_string());
            }
            Some(reply) if is_deferred_by_objection(status) => {
                format!("the mail server objects to the sender or to the message: {reply}")
            }
            None if is_open(status.state) => "it did not reply to a message".to_owned(),
            // This program has sent nothing.
            None => return,
            Some(_) => {
                self.backoffs.release(by);
                let is_bad = result_of(status) == Some(AttemptResult::BadAddress);
                if is_bad && self.history.has_many_bad_addresses() {
                    self.backoffs.pause(LONGEST_PAUSE);
                    self.report(LONGEST_PAUSE, "too many addresses do not exist");
                }
                return;
            }
        };
        match self.backoffs.note(by) {
            Some(pause) => self.report(pause, &words),
            None => tracing::info!(
                "a message that asks to confirm an address was not accepted, and will be tried again: {words}"
            ),
        }
    }

    fn report(&self, pause: Duration, reason: &str) {
        tracing::warn!(
            "messages that ask people to confirm their address are paused: {reason}; trying again in {} seconds; \
             {} people wait for one",
            pause.as_secs(),
            self.confirmation.queue().len()
        );
    }

    /// Reads the store: asks those who were not asked, and erases those whose time is up.
    async fn sweep(&mut self) {
        let swept = self.try_sweep().await;
        self.is_loaded |= swept.is_ok();
        let pause = match &swept {
            Ok(()) => self.confirmation.sender.sweep_interval,
            // People may wait who were not queued.
            Err(_) if self.is_loaded => FAILED_SWEEP_PAUSE,
            Err(_) => STORE_PAUSE,
        };
        self.next_sweep = Instant::now() + pause;
        if let Err(error) = swept {
            tracing::warn!("cannot read the people to ask for a confirmation: {error}");
        }
    }

    async fn try_sweep(&mut self) -> Result<(), StoreError> {
        self.confirmation.queue().begin_sweep();
        let list = &self.confirmation.list;
        let key = self.confirmation.key.get().await?;
        let (asked, mut recent) = self.read_ledger().await?;
        self.asked_elsewhere.clear();
        let now = SystemTime::now();
        if !asked.has_noted_day(now) {
            sweep::note_day(&**list, &key, now).await?;
        }
        let days = self.confirmation.sender.settings.days;
        let search = {
            let list = Arc::clone(list);
            move || {
                let found = sweep::find(&*list, &key, &asked, &mut recent, days, now);
                found.map(|found| (found, recent))
            }
        };
        let found = spawn_blocking(search).await;
        let (found, recent) = found.map_err(|_| StoreError::Unreadable)??;
        self.history.merge(recent, now);
        {
            let mut queue = self.confirmation.queue();
            for (email, due) in found.due {
                let (by, retry) = (ClientKey::UNKNOWN, due.retry);
                queue.add_later(Ask { email, by, retry }, Instant::now() + due.pause);
            }
        }
        sweep::erase(&**list, &found.expired, days, now).await
    }

    /// Reads the ledger, which other processes change too.
    async fn read_ledger(&mut self) -> Result<(AskedPeople, Vec<DeliveryAttempt>), StoreError> {
        let list = &self.confirmation.list;
        let deliveries: Vec<Delivery> = list.deliveries(&MessageId::confirmation()).await?;
        let days = list.deliveries(&MessageId::confirmation_days()).await?;
        let new = deliveries.iter().skip(self.courier.known as usize);
        self.asked_elsewhere.extend(new.map(|it| it.recipient));
        self.courier.known = deliveries.len() as u32;
        let recent = recent_attempts(&deliveries, SystemTime::now());
        Ok((AskedPeople::new(&deliveries, &days), recent))
    }
}

/// Returns how a person is asked again after this attempt, or `None` if it was the last one.
fn next_attempt(delivery: DeliveryStart) -> Option<Due> {
    let pause = retry_pause(&delivery);
    if pause.is_none() && is_open(delivery.state) {
        tracing::warn!(
            "a person is not asked again to confirm the address after {} attempts; see `landing messages confirmation`",
            delivery.attempts
        );
    }
    let retry = Some(delivery);
    pause.map(|pause| Due { retry, pause })
}
