//! The task: sends one message after another, and fills the queue from the store.

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
    history::{
        AttemptResult, DeliveryAttempt, History, LONGEST_CLIENT_PAUSE, MAILBOX_MESSAGES_MAX,
        SUPPRESSED_MESSAGES_MAX, pause_after,
    },
    kind::MessageKind,
    queue::PendingMessage,
    recipients::{Due, next_attempt, result_of},
    sweep,
};
use crate::{
    mail::{ComposeError, Mailer},
    server::ClientKey,
    waitlist::{AddressHash, DeliveryStatus, ServerReply, StoreError, WaitlistEntry, hash_mailbox},
};

/// Pause after the store has failed.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// How long the message under way may take to reach the mail server after the server was asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Time after a sweep that failed. It may have read the whole list.
const FAILED_SWEEP_PAUSE: Duration = Duration::from_secs(60);
/// How often the task looks whether people may be asked whose client had to wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Number of clients in a row with trouble, from which on everybody waits.
const CLIENTS_TOGETHER: usize = 3;
/// Number of messages in a row that are not accepted, at which the owner is warned, also if few people sign up.
const OBJECTIONS_WARNED: u32 = 3;
/// The longest pause for everybody after trouble: strangers can cause it, and somebody else must be asked within a minute.
const LONGEST_PAUSE_FOR_ALL: Duration = Duration::from_secs(45);
/// How often a delivery is added at once after other processes have added theirs.
const ADDITIONS_MAX: u32 = 20;
/// Pause before a person is asked after another process has changed the ledger.
const CHANGED_LEDGER_PAUSE: Duration = Duration::from_millis(100);

/// Sends messages until the server stops. Then it finishes the message that is under way, unless the mail server is slow.
pub(in crate::server) async fn run(confirmation: &Confirmation, stopping: &CancellationToken) {
    let give_up = CancellationToken::new();
    let follow_stop = async {
        stopping.cancelled().await;
        sleep(STOP_TIMEOUT).await;
        give_up.cancel();
        pending().await
    };
    let sender = &confirmation.sender;
    let mut task = Task {
        confirmation,
        mailer: Mailer::new(
            &sender.client,
            &sender.settings.mail.bounce_address,
            give_up.clone(),
        ),
        known: [0; 2],
        welcomed: HashSet::new(),
        history: History::new(sender.settings.messages_per_day),
        troubles: 0,
        objections: 0,
        paused_until: None,
        is_loaded: false,
        next_sweep: Instant::now(),
    };
    let work = async {
        task.work(stopping).await;
        task.mailer.quit().await;
    };
    tokio::select! {
        () = work => {}
        () = follow_stop => {}
    }
}

/// Why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub(super) enum SendError {
    /// The store fails. The ledger may have the attempt, whose result is unknown then: a code is sent again, a welcome is not.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The message cannot be written, to anybody. Nothing was recorded.
    #[error(transparent)]
    Message(#[from] ComposeError),
}

pub(super) struct Task<'a> {
    pub(super) confirmation: &'a Confirmation,
    pub(super) mailer: Mailer<'a>,
    /// The number of deliveries of each message in the ledger.
    pub(super) known: [u32; 2],
    /// The people who have a delivery of the welcome message, also those who have left.
    pub(super) welcomed: HashSet<AddressHash>,
    pub(super) history: History,
    /// How often in a row something went wrong that is about everybody.
    troubles: u32,
    /// How many messages in a row the mail server has not accepted.
    objections: u32,
    /// Until when everybody waits.
    paused_until: Option<Instant>,
    /// Whether the ledger was read.
    is_loaded: bool,
    next_sweep: Instant,
}

impl Task<'_> {
    async fn work(&mut self, stopping: &CancellationToken) {
        while !stopping.is_cancelled() {
            if self.next_sweep <= Instant::now() {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => break,
                    () = self.sweep() => {}
                }
            }
            let Some((message, by)) = self.next() else {
                let wake_at = self.wake_at();
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => break,
                    () = self.confirmation.wake.notified() => {}
                    () = sleep_until(wake_at.into()) => {}
                }
                continue;
            };
            // Nothing is recorded: while the mail server cannot be reached, no delivery is in doubt after a crash. A mail
            // server that does not respond must not delay the end of the program.
            let connected = tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                connected = self.mailer.connect() => connected,
            };
            match connected {
                Ok(()) => self.attempt(message, by).await,
                Err(error) => {
                    let server = &self.confirmation.sender.settings.mail.smtp;
                    self.pause_after_trouble(&format!("{server}: {error}"));
                    self.confirmation.queue().add_later(message, Instant::now());
                }
            }
        }
    }

    /// Returns the person who is next, and the client to which the message counts.
    fn next(&mut self) -> Option<(PendingMessage, ClientKey)> {
        let is_paused = !self.is_loaded || self.pause_end().is_some();
        if is_paused || self.confirmation.queue().len() == 0 {
            return None;
        }
        if let Some(wait) = self.history.wait_for_budget(SystemTime::now()) {
            let per_day = self.confirmation.sender.settings.messages_per_day;
            let reason =
                format!("{per_day} were sent in 24 hours, which is the limit (--confirm-per-day)");
            self.pause(wait, &reason);
            return None;
        }
        let (shares, now) = (self.history.shares(), SystemTime::now());
        let rank = |by| shares.rank(by, now);
        self.confirmation.queue().take(Instant::now(), rank)
    }

    /// Returns until when everybody waits.
    fn pause_end(&self) -> Option<Instant> {
        self.paused_until.filter(|until| *until > Instant::now())
    }

    /// Returns when to look for the next person again.
    fn wake_at(&self) -> Instant {
        let now = Instant::now();
        let next = self.pause_end().or_else(|| {
            let at = self.confirmation.queue().next_at()?;
            // The client must wait.
            Some(if at > now { at } else { now + POLL_INTERVAL })
        });
        next.map_or(self.next_sweep, |next| next.min(self.next_sweep))
    }

    /// Sends a message to a person, and puts the person into the queue again if it must be tried again.
    async fn attempt(&mut self, message: PendingMessage, by: ClientKey) {
        match self.try_attempt(&message, by).await {
            Ok(None) => {}
            Ok(Some(Due { retry, pause })) => {
                let (again, at) = (PendingMessage { retry, ..message }, Instant::now() + pause);
                self.confirmation.queue().add_later(again, at);
            }
            Err(error) => {
                let pause = match error {
                    SendError::Store(_) => STORE_PAUSE,
                    SendError::Message(_) => LONGEST_CLIENT_PAUSE,
                };
                self.pause(pause, &error.to_string());
                self.confirmation.queue().add_later(message, Instant::now());
            }
        }
    }

    /// Sends a message to a person. Returns how to do it again, if it must be tried again.
    async fn try_attempt(
        &mut self,
        message: &PendingMessage,
        by: ClientKey,
    ) -> Result<Option<Due>, SendError> {
        let (kind, mut retry) = (message.kind, message.retry);
        // After connecting, which takes time: the person may have left or confirmed a moment ago.
        let entry = self.confirmation.list.person(&message.email).await?;
        let Some(entry) = entry.filter(|it| kind.is_for(it)) else {
            return Ok(None);
        };
        let key = self.confirmation.key.get().await?;
        let recipient = key.hash(entry.email.key());
        let mailbox = hash_mailbox(&key, &entry.email);
        let mut additions = 0..ADDITIONS_MAX;
        // Perhaps a sweep or another process was faster, or the person has joined again during the message.
        if retry.is_none() && self.was_sent(kind, recipient, &entry) {
            let due = self.due_by_ledger(kind, recipient, &entry).await?;
            // A pause also if the other process is sending the message now: it may be killed before it has a result.
            let Some(latest) = due.filter(|it| it.pause.is_zero()) else {
                return Ok(due);
            };
            retry = latest.retry;
        }
        let is_suppressed = self.confirmation.list.is_suppressed(&entry.email).await?;
        let (delivery, status) = loop {
            let is_full = self.is_full(kind, mailbox, recipient, is_suppressed);
            // When there is room, the next sweeps find a message that is sent again. Nobody is welcomed who has left.
            if is_full && retry.is_some() || is_suppressed && kind == MessageKind::Welcome {
                return Ok(None);
            }
            if let Some(sent) = self.send(kind, &key, &entry, retry, is_full).await? {
                break sent;
            }
            let is_new = retry.is_none() && additions.next().is_some();
            if is_new && self.only_others_were_added(kind, recipient).await? {
                continue;
            }
            let due = self.due_by_ledger(kind, recipient, &entry).await?;
            return Ok(due.map(|due| Due {
                pause: due.pause.max(CHANGED_LEDGER_PAUSE),
                ..due
            }));
        };
        if let Some(result) = result_of(&status) {
            let attempt = DeliveryAttempt {
                at: status.since.unwrap_or_else(SystemTime::now),
                number: (kind, delivery.number, delivery.attempts),
                recipient,
                by: Some(by),
                result,
            };
            self.history.add(attempt, mailbox);
            if kind == MessageKind::Code && result.may_have_arrived() {
                self.confirmation.tries.reset(&entry.email);
            }
            self.note(result, &status);
        }
        Ok(next_attempt(kind, delivery))
    }

    /// Returns how to send a message to a person, as the ledger says now.
    async fn due_by_ledger(
        &mut self,
        kind: MessageKind,
        recipient: AddressHash,
        entry: &WaitlistEntry,
    ) -> Result<Option<Due>, StoreError> {
        let recipients = self.read_ledger(kind, 0).await?;
        Ok(recipients.due(recipient, entry, SystemTime::now()))
    }

    /// Returns whether a mailbox has had as many codes as it may in 24 hours.
    fn is_full(
        &self,
        kind: MessageKind,
        mailbox: AddressHash,
        recipient: AddressHash,
        is_suppressed: bool,
    ) -> bool {
        let max = match is_suppressed {
            true => SUPPRESSED_MESSAGES_MAX,
            false => MAILBOX_MESSAGES_MAX,
        };
        kind == MessageKind::Code && self.history.has_had(max, mailbox, recipient)
    }

    /// Returns whether a message was perhaps sent to a person, so that the ledger must be read.
    fn was_sent(&self, kind: MessageKind, recipient: AddressHash, entry: &WaitlistEntry) -> bool {
        let was_asked = |since| self.history.has_since(recipient, since);
        match kind {
            MessageKind::Code => entry.asked_at.is_some_and(was_asked),
            MessageKind::Welcome => self.welcomed.contains(&recipient),
        }
    }

    /// Takes the result of an attempt into account, which may make everybody wait.
    fn note(&mut self, result: AttemptResult, status: &DeliveryStatus) {
        let reply = status.reply.as_ref();
        if !result.is_trouble() {
            (self.troubles, self.objections) = (0, 0);
            if result == AttemptResult::BadAddress && self.history.has_many_bad_addresses() {
                self.pause(LONGEST_CLIENT_PAUSE, "too many addresses do not exist");
            }
            return;
        }
        self.objections += 1;
        let is_closing = reply.is_some_and(ServerReply::is_closing);
        let words = match reply {
            Some(reply) if is_closing => reply.to_string(),
            Some(reply) => {
                format!("the mail server objects to the sender or to the message: {reply}")
            }
            None => "it did not reply to a message".to_owned(),
        };
        if is_closing || self.history.clients_in_trouble() >= CLIENTS_TOGETHER {
            self.pause_after_trouble(&words);
        } else if self.objections == OBJECTIONS_WARNED {
            tracing::warn!("the mail server accepts no message to people who sign up: {words}");
        } else {
            tracing::info!(
                "a message to a person who has signed up was not accepted, and will be tried again: {words}"
            );
        }
    }

    /// Makes everybody wait, each time longer.
    fn pause_after_trouble(&mut self, reason: &str) {
        self.troubles += 1;
        let pause = pause_after(self.troubles);
        self.pause(pause.min(LONGEST_PAUSE_FOR_ALL), reason);
    }

    /// Makes everybody wait.
    fn pause(&mut self, pause: Duration, reason: &str) {
        self.paused_until = Some(Instant::now() + pause);
        tracing::warn!(
            "messages to people who sign up are paused: {reason}; trying again in {} seconds",
            pause.as_secs()
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
        let list = &self.confirmation.list;
        let key = self.confirmation.key.get().await?;
        let recipients = [
            self.read_ledger(MessageKind::Code, 0).await?,
            self.read_ledger(MessageKind::Welcome, 0).await?,
        ];
        let recent = self.history.recipients();
        let now = SystemTime::now();
        let noted = sweep::note_day(&**list, &key, now).await?;
        let days = self.confirmation.sender.settings.days;
        let search = {
            let list = Arc::clone(list);
            move || sweep::find(&*list, &key, &recipients, &recent, days, &noted, now)
        };
        let found = spawn_blocking(search).await;
        let found = found.map_err(|_| StoreError::Unreadable)??;
        self.history.add_mailboxes(found.mailboxes);
        for (message, pause) in found.due.into_iter().flatten() {
            let at = Instant::now() + pause;
            self.confirmation.queue().add_later(message, at);
        }
        sweep::erase(&**list, &found.expired, days, now).await
    }
}
