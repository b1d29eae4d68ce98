//! The task that sends the messages, one after another: whose is next, and when.

use std::{
    collections::{BTreeMap, HashSet},
    future::pending,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{
    sync::mpsc,
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval_at, sleep, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Confirmation, Request,
    book::{MESSAGES_MAX, Person},
    delivery::{Courier, Pause, STORE_PAUSE},
    locked, sweep,
};
use crate::{
    copy,
    waitlist::{
        AddressHash, CALL_MAX, Delivery, DeliveryResult, DeliveryState, Email, ListKey, Message,
        MessageId, StoreError, SuppressionItem,
    },
};

/// How long the message under way may take to reach the mail server after the server was asked to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);
/// Time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum number of sign-ups that are taken from the queue together.
const REQUESTS_TOGETHER_MAX: usize = 128;
/// How often deliveries are added again that another instance was faster to add.
const ADD_ATTEMPTS_MAX: usize = 5;

/// Sends messages until `stop` resolves. Then it finishes the one that is under way, unless the mail server is slow.
pub(super) async fn run(
    confirmation: &Arc<Confirmation>,
    requests: mpsc::Receiver<Request>,
    stop: impl Future<Output = ()>,
) {
    let (stopping, give_up) = (CancellationToken::new(), CancellationToken::new());
    let follow_stop = async {
        stop.await;
        stopping.cancel();
        sleep(STOP_TIMEOUT).await;
        give_up.cancel();
        pending().await
    };
    tokio::select! {
        () = work(confirmation, requests, &stopping, give_up.clone()) => {}
        () = follow_stop => {}
    }
}

async fn work(
    confirmation: &Arc<Confirmation>,
    mut requests: mpsc::Receiver<Request>,
    stopping: &CancellationToken,
    give_up: CancellationToken,
) {
    let mut worker = Worker {
        confirmation,
        courier: Courier::new(confirmation, give_up),
        queue: BTreeMap::new(),
        queued: HashSet::new(),
        paused_until: Instant::now(),
    };
    while let Err(error) = worker.load().await {
        tracing::warn!("cannot read who was asked to confirm the address: {error}; trying again");
        tokio::select! {
            () = sleep(STORE_PAUSE) => {}
            () = stopping.cancelled() => return,
        }
    }
    // The first tick of an interval may come after the first request.
    worker.sweep().await;
    let mut sweeps = interval_at(Instant::now() + SWEEP_INTERVAL, SWEEP_INTERVAL);
    sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        let next = worker.next_at();
        tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            _ = sweeps.tick() => worker.sweep().await,
            count = requests.recv_many(&mut batch, REQUESTS_TOGETHER_MAX) => {
                if count == 0 {
                    break;
                }
                worker.add(std::mem::take(&mut batch)).await;
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
        }
        // However many sign-ups arrive, messages go out.
        if worker.next_at().is_some_and(|at| at <= Instant::now()) {
            // A mail server that does not respond must not delay the end of the program.
            let is_ready = tokio::select! {
                biased;
                () = stopping.cancelled() => break,
                is_ready = worker.prepare() => is_ready,
            };
            if is_ready {
                worker.send_next().await;
            }
        }
    }
    worker.courier.quit().await;
}

/// The task.
struct Worker<'a> {
    confirmation: &'a Arc<Confirmation>,
    courier: Courier<'a>,
    /// The people who are next, by the time from which the message may be sent.
    queue: BTreeMap<(Instant, AddressHash), Email>,
    /// Everybody in `queue`.
    queued: HashSet<AddressHash>,
    /// Nothing is sent until then.
    paused_until: Instant,
}

impl Worker<'_> {
    /// Reads the keys and the ledger.
    async fn load(&mut self) -> Result<(), StoreError> {
        let list = &self.confirmation.list;
        if list.keys().await?.is_empty() {
            let key = SuppressionItem::Key(ListKey::generate()?);
            list.add_suppressions(vec![key]).await?;
        }
        self.read_ledger().await?;
        self.confirmation.is_loaded.send_replace(true);
        Ok(())
    }

    /// Reads the keys and the ledger, both of which other instances and the owner's commands change.
    async fn read_ledger(&self) -> Result<(), StoreError> {
        let list = &self.confirmation.list;
        self.confirmation.read_keys().await?;
        let messages = list.messages().await?;
        let mut ledger = Vec::new();
        for number in 1..=MESSAGES_MAX {
            let id = MessageId::confirmation(number);
            if messages.iter().any(|message| message.id == id) {
                let mut deliveries = list.deliveries(&id).await?;
                self.date_interrupted(&id, &mut deliveries).await?;
                ledger.push((number, deliveries));
            }
        }
        let book = &mut locked(&self.confirmation.state).book;
        book.refresh(&ledger, SystemTime::now());
        Ok(())
    }

    /// Notes the time of deliveries that a crash has interrupted, durably: some time after it the person may be asked
    /// again, and is erased.
    async fn date_interrupted(
        &self,
        id: &MessageId,
        deliveries: &mut [Delivery],
    ) -> Result<(), StoreError> {
        let mut dated = Vec::new();
        for (number, delivery) in (0..).zip(deliveries) {
            let status = &mut delivery.status;
            if status.state == DeliveryState::Unknown && status.since.is_none() {
                status.since = Some(SystemTime::now());
                dated.push(DeliveryResult {
                    number,
                    attempt: delivery.attempts,
                    status: status.clone(),
                });
            }
        }
        match dated.is_empty() {
            true => Ok(()),
            false => match self.confirmation.list.finish_deliveries(id, dated).await {
                // The sender has recorded the result itself.
                Err(StoreError::Superseded) => Ok(()),
                finished => finished,
            },
        }
    }

    /// Reads the ledger and the list: asks those who were not asked, and erases those whose time is up.
    async fn sweep(&mut self) {
        if let Err(error) = self.try_sweep().await {
            tracing::warn!("cannot read who has not confirmed the address: {error}");
        }
    }

    async fn try_sweep(&mut self) -> Result<(), StoreError> {
        self.read_ledger().await?;
        let now = SystemTime::now();
        let confirmation = Arc::clone(self.confirmation);
        let found = spawn_blocking(move || sweep::find(&confirmation, now)).await;
        let found = found.map_err(|_| StoreError::Unreadable)??;
        let before = now.checked_sub(self.confirmation.lifetime());
        self.expire(found.expired, before.unwrap_or(SystemTime::UNIX_EPOCH))
            .await;
        for email in found.due {
            self.enqueue(&email);
        }
        let new = found.new.into_iter();
        let new = new.map(|email| Request {
            email,
            is_new: true,
        });
        self.add(new.collect()).await;
        Ok(())
    }

    /// Erases people whose time is up, unless they have just confirmed.
    async fn expire(&mut self, people: Vec<Email>, before: SystemTime) {
        if people.is_empty() {
            return;
        }
        let erased = sweep::erase(self.confirmation, &people, before).await;
        let days = self.confirmation.sender.settings.days;
        match erased {
            Ok(count) => {
                tracing::info!(
                    "erased {count} people who did not confirm their address within {days} days"
                );
            }
            Err(error) => {
                tracing::warn!("cannot erase people who did not confirm their address: {error}");
            }
        }
    }

    /// Adds messages to people who have signed up.
    async fn add(&mut self, requests: Vec<Request>) {
        let mut people: BTreeMap<u8, Vec<(AddressHash, Email)>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for Request { email, is_new } in requests {
            let hashes = self.confirmation.hashes(&email);
            let message = {
                let book = &locked(&self.confirmation.state).book;
                book.next_message(&hashes, is_new, SystemTime::now())
            };
            let (Some(message), Some(hash)) = (message, hashes.first()) else {
                continue;
            };
            if seen.insert(*hash) && !self.has_confirmed_elsewhere(&email, is_new).await {
                people.entry(message).or_default().push((*hash, email));
            }
        }
        for (message, mut people) in people {
            while !people.is_empty() {
                let rest = people.split_off(people.len().min(CALL_MAX));
                let part = std::mem::replace(&mut people, rest);
                if let Err(error) = self.add_deliveries(message, part).await {
                    // The next sweep finds those who are new.
                    tracing::warn!(
                        "cannot queue messages that ask people to confirm their address: {error}"
                    );
                }
            }
        }
    }

    /// Returns whether another instance has recorded that a person who joins again has confirmed.
    async fn has_confirmed_elsewhere(&self, email: &Email, is_new: bool) -> bool {
        let entry = match is_new {
            true => Ok(None),
            false => self.confirmation.list.person(email).await,
        };
        match entry {
            Ok(entry) => entry.is_some_and(|entry| entry.confirmed_at.is_some()),
            Err(error) => {
                // The person may join again.
                tracing::warn!("cannot read whether a person has confirmed the address: {error}");
                true
            }
        }
    }

    async fn add_deliveries(
        &mut self,
        message: u8,
        mut people: Vec<(AddressHash, Email)>,
    ) -> Result<(), StoreError> {
        let list = &self.confirmation.list;
        let id = MessageId::confirmation(message);
        for _ in 0..ADD_ATTEMPTS_MAX {
            let known = locked(&self.confirmation.state).book.known(message);
            if known == 0 {
                let now = SystemTime::now();
                let message = Message::new(id.clone(), now, copy::mail::CONFIRM_SUBJECT);
                list.add_message(message).await?;
            }
            let deliveries = people.iter().map(|(hash, _)| Delivery::waiting(*hash));
            let added = list.add_deliveries(&id, known, deliveries.collect());
            if added.await? {
                for (hash, email) in people {
                    locked(&self.confirmation.state).book.add(hash, message);
                    self.enqueue(&email);
                }
                return Ok(());
            }
            // Another instance has added some, perhaps of the same people.
            self.read_ledger().await?;
            let state = locked(&self.confirmation.state);
            people.retain(|(hash, _)| {
                let found = state.book.find(&[*hash]);
                found.is_none_or(|person| person.message < message)
            });
        }
        Err(StoreError::Busy)
    }

    /// Puts a person into the queue, whose message is in the ledger.
    fn enqueue(&mut self, email: &Email) {
        let hashes = self.confirmation.hashes(email);
        let person = locked(&self.confirmation.state).book.find(&hashes).cloned();
        let (Some(person), Some(hash)) = (person, hashes.first()) else {
            return;
        };
        let pause = match person.status.since {
            Some(since) if person.status.state == DeliveryState::Deferred => {
                let waited = SystemTime::now().duration_since(since).unwrap_or_default();
                person.retry_pause().saturating_sub(waited)
            }
            _ => Duration::ZERO,
        };
        if self.queued.insert(*hash) {
            self.queue
                .insert((Instant::now() + pause, *hash), email.clone());
        }
    }

    /// Returns when the next message may be sent.
    fn next_at(&self) -> Option<Instant> {
        let ((at, _), _) = self.queue.first_key_value()?;
        Some((*at).max(self.paused_until))
    }

    /// Prepares to send a message. Returns whether one can be sent now. The future can be dropped.
    async fn prepare(&mut self) -> bool {
        match self.courier.prepare().await {
            Ok(()) => true,
            Err(pause) => {
                self.pause(pause);
                false
            }
        }
    }

    fn pause(&mut self, Pause { length, reason }: Pause) {
        tracing::warn!(
            "messages that ask people to confirm their address are paused: {reason}; trying again in {} seconds; \
             {} people wait for one",
            length.as_secs(),
            self.queue.len()
        );
        self.paused_until = Instant::now() + length;
    }

    /// Sends the next message.
    async fn send_next(&mut self) {
        let Some(((_, hash), email)) = self.queue.pop_first() else {
            return;
        };
        self.queued.remove(&hash);
        let hashes = self.confirmation.hashes(&email);
        let person = locked(&self.confirmation.state).book.find(&hashes).cloned();
        let Some(person) = person.filter(|it| !it.is_done() && !it.is_confirmed) else {
            return;
        };
        match self.courier.deliver(&email, &hashes, &person).await {
            Ok(true) => {}
            // Another instance sends it.
            Ok(false) => return,
            Err(pause) => self.pause(pause),
        }
        self.enqueue_unfinished(&email, &hashes);
    }

    /// Puts a person into the queue again, unless nothing more happens with the message.
    fn enqueue_unfinished(&mut self, email: &Email, hashes: &[AddressHash]) {
        let is_done = {
            let state = locked(&self.confirmation.state);
            state.book.find(hashes).is_none_or(Person::is_done)
        };
        if !is_done {
            self.enqueue(email);
        }
    }
}
