//! The task that sends the messages, one after another: whose is next, and when.

use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};

use tokio::{
    sync::mpsc,
    task::spawn_blocking,
    time::{Instant, MissedTickBehavior, interval, sleep, sleep_until},
};

use super::{
    Confirmation, Request,
    book::{MESSAGES_MAX, Person},
    delivery::{Courier, Pause, STORE_PAUSE},
    hashes, locked, sweep,
};
use crate::{
    copy,
    waitlist::{
        AddressHash, Delivery, DeliveryState, Email, ListKey, Message, MessageId, StoreError,
        SuppressionItem,
    },
};

/// Time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum number of sign-ups that are taken from the queue together.
const REQUESTS_TOGETHER_MAX: usize = 128;
/// How often deliveries are added again that another instance was faster to add.
const ADD_ATTEMPTS_MAX: usize = 5;

/// Sends messages until `stop` resolves. Then it finishes the one that is under way.
pub(super) async fn run(
    confirmation: &Arc<Confirmation>,
    mut requests: mpsc::Receiver<Request>,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut worker = Worker {
        confirmation,
        courier: Courier::new(confirmation),
        keys: Vec::new(),
        queue: BTreeMap::new(),
        queued: HashSet::new(),
        paused_until: Instant::now(),
    };
    while let Err(error) = worker.load().await {
        tracing::warn!("cannot read who was asked to confirm the address: {error}; trying again");
        tokio::select! {
            () = sleep(STORE_PAUSE) => {}
            () = &mut stop => return,
        }
    }
    let mut sweeps = interval(SWEEP_INTERVAL);
    sweeps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        let next = worker.next_at();
        tokio::select! {
            biased;
            () = &mut stop => break,
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
                () = &mut stop => break,
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
    keys: Vec<ListKey>,
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
        self.keys = list.keys().await?;
        locked(&self.confirmation.state).keys = self.keys.as_slice().into();
        self.read_ledger().await
    }

    async fn read_ledger(&self) -> Result<(), StoreError> {
        let list = &self.confirmation.list;
        let messages = list.messages().await?;
        let mut ledger = Vec::new();
        for number in 1..=MESSAGES_MAX {
            let id = MessageId::confirmation(number);
            if messages.iter().any(|message| message.id == id) {
                ledger.push((number, list.deliveries(&id).await?));
            }
        }
        let book = &mut locked(&self.confirmation.state).book;
        book.refresh(&ledger, SystemTime::now());
        Ok(())
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
        self.expire(found.expired).await;
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
    async fn expire(&mut self, people: Vec<Email>) {
        if people.is_empty() {
            return;
        }
        let confirmation = Arc::clone(self.confirmation);
        let expired = people.clone();
        let unconfirmed =
            spawn_blocking(move || sweep::still_unconfirmed(&confirmation, &expired)).await;
        let erased = match unconfirmed.unwrap_or(Err(StoreError::Unreadable)) {
            Ok(mut unconfirmed) => {
                unconfirmed.retain(|email| {
                    let state = locked(&self.confirmation.state);
                    state.book.is_expiring(&hashes(&self.keys, email))
                });
                sweep::erase(self.confirmation, &unconfirmed).await
            }
            Err(error) => Err(error),
        };
        let days = self.confirmation.sender.settings.days;
        match erased {
            Ok(count) => {
                tracing::info!("erased {count} who did not confirm the address in {days} days");
            }
            Err(error) => {
                tracing::warn!("cannot erase those who did not confirm the address: {error}");
            }
        }
        let mut state = locked(&self.confirmation.state);
        for email in people {
            state.book.keep(&hashes(&self.keys, &email));
        }
    }

    /// Adds messages to people who have signed up.
    async fn add(&mut self, requests: Vec<Request>) {
        let mut people: BTreeMap<u8, Vec<(AddressHash, Email)>> = BTreeMap::new();
        let mut seen = HashSet::new();
        for Request { email, is_new } in requests {
            let hashes = hashes(&self.keys, &email);
            let book = &locked(&self.confirmation.state).book;
            let message = book.next_message(&hashes, is_new, SystemTime::now());
            if let (Some(message), Some(hash)) = (message, hashes.first())
                && seen.insert(*hash)
            {
                people.entry(message).or_default().push((*hash, email));
            }
        }
        for (message, people) in people {
            if let Err(error) = self.add_deliveries(message, people).await {
                // The next sweep finds those who are new.
                tracing::warn!("cannot note the people to ask to confirm the address: {error}");
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
        let hashes = hashes(&self.keys, email);
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
            "messages that ask people to confirm the address wait: {reason}; trying again in {} seconds; \
             {} people wait",
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
        let hashes = hashes(&self.keys, &email);
        let person = locked(&self.confirmation.state).book.find(&hashes).cloned();
        let Some(person) = person.filter(|it| !it.is_done() && !it.is_confirmed) else {
            return;
        };
        match self.courier.deliver(&email, &hashes, &person).await {
            Ok(Some(status)) => {
                let book = &mut locked(&self.confirmation.state).book;
                book.finish(&hashes, &status);
            }
            // Another instance sends it.
            Ok(None) => return,
            Err(pause) => {
                self.enqueue_unfinished(&email, &hashes);
                return self.pause(pause);
            }
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
