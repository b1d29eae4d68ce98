//! The task that sends the messages, one after another.

use std::{
    collections::{BTreeMap, HashSet},
    pin::pin,
    slice,
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
    hashes, locked, sweep,
};
use crate::{
    copy,
    mail::{
        ComposeError, ConnectError, Envelope, Mailer, PersonTokens, SendResult, TokenPurpose,
        compose, confirmation_code, confirmation_message, message_id,
    },
    waitlist::{
        AddressHash, Delivery, DeliveryState, DeliveryStatus, Email, ListKey, Message, MessageId,
        StoreError, SuppressionItem,
    },
};

/// Time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);
/// Maximum number of sign-ups that are taken from the queue together.
const REQUESTS_TOGETHER_MAX: usize = 128;
/// Pause after the store has failed.
const STORE_PAUSE: Duration = Duration::from_secs(5);
/// Pauses after the mail server could not be reached. The last one repeats.
const CONNECT_PAUSES: [Duration; 4] = [
    Duration::from_secs(5),
    Duration::from_secs(30),
    Duration::from_secs(2 * 60),
    Duration::from_secs(10 * 60),
];
/// Pause after the mail server has objected to the sender or to the message.
const OBJECTION_PAUSE: Duration = Duration::from_secs(15 * 60);
/// How many messages in a row the mail server may refuse. After that, it probably refuses the sender.
const REFUSALS_MAX: usize = 5;
/// How often deliveries are added again that another instance was faster to add.
const ADD_ATTEMPTS_MAX: usize = 5;
/// How often the result of a message is recorded again. A result that is lost is unknown.
const FINISH_ATTEMPTS_MAX: usize = 5;

/// Sends messages until `stop` resolves. Then it finishes the one that is under way.
pub(super) async fn run(
    confirmation: &Arc<Confirmation>,
    mut requests: mpsc::Receiver<Request>,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let mut worker = Worker {
        confirmation,
        mailer: Mailer::new(
            &confirmation.sender.client,
            &confirmation.sender.settings.mail.bounce_address,
        ),
        keys: Vec::new(),
        queue: BTreeMap::new(),
        queued: HashSet::new(),
        paused_until: Instant::now(),
        failures: 0,
        refusals: 0,
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
                // However many sign-ups arrive, messages go out.
                if worker.next_at().is_some_and(|at| at <= Instant::now()) {
                    worker.send_next().await;
                }
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                worker.send_next().await;
            }
        }
    }
    worker.mailer.quit().await;
}

/// The task.
struct Worker<'a> {
    confirmation: &'a Arc<Confirmation>,
    mailer: Mailer<'a>,
    keys: Vec<ListKey>,
    /// The people who are next, by the time from which the message may be sent.
    queue: BTreeMap<(Instant, AddressHash), Email>,
    /// Everybody in `queue`.
    queued: HashSet<AddressHash>,
    /// Nothing is sent until then.
    paused_until: Instant,
    /// How often the mail server could not be reached, since the last message.
    failures: usize,
    /// How many messages in a row the mail server has refused.
    refusals: usize,
}

/// Why a message was not sent, and how long to wait.
struct Pause {
    length: Duration,
    reason: String,
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
        match self.deliver(&email, &hashes, &person).await {
            Ok(Some(status)) => {
                let book = &mut locked(&self.confirmation.state).book;
                book.finish(&hashes, &status);
            }
            // Another instance sends it.
            Ok(None) => return,
            Err(Pause { length, reason }) => {
                tracing::warn!(
                    "messages that ask to confirm the address wait: {reason}; trying again in {} seconds",
                    length.as_secs()
                );
                self.paused_until = Instant::now() + length;
            }
        }
        let is_done = {
            let state = locked(&self.confirmation.state);
            state.book.find(&hashes).is_none_or(Person::is_done)
        };
        if !is_done {
            self.enqueue(&email);
        }
    }

    /// Sends a message to a person. Returns its result, or `None` if another instance sends it.
    async fn deliver(
        &mut self,
        email: &Email,
        hashes: &[AddressHash],
        person: &Person,
    ) -> Result<Option<DeliveryStatus>, Pause> {
        let per_day = self.confirmation.sender.settings.messages_per_day;
        let wait = {
            let book = &mut locked(&self.confirmation.state).book;
            book.wait_for_budget(per_day, SystemTime::now())
        };
        if let Some(wait) = wait {
            return Err(Pause {
                length: wait.max(Duration::from_secs(1)),
                reason: format!(
                    "{per_day} were sent in 24 hours, which is the limit (--confirm-per-day); \
                     {} people wait",
                    self.queue.len() + 1
                ),
            });
        }
        let list = &self.confirmation.list;
        let (id, number) = (MessageId::confirmation(person.message), person.delivery);
        let is_listed = list.are_listed(slice::from_ref(email)).await? == [true];
        let may_write = is_listed && !list.is_suppressed(email).await?;
        let message = match self.write(email, &id, person.message) {
            Ok(message) => Some(message),
            Err(ComposeError::Address) => None,
            Err(error) => {
                return Err(Pause {
                    length: OBJECTION_PAUSE,
                    reason: error.to_string(),
                });
            }
        };
        // Before anything is recorded. While the mail server cannot be reached, no delivery is in doubt after a crash.
        if let Err(error) = self.mailer.connect().await {
            return Err(self.pause_after(&error));
        }
        let start = vec![(number, person.status.state)];
        if list.begin_deliveries(&id, start).await? != [true] {
            return Ok(None);
        }
        let (status, pause) = match message {
            Some(message) if may_write => self.send(email, &message, person).await,
            None if may_write => (now(SendResult::unwritable_address().status), None),
            _ => (now(DeliveryStatus::new(DeliveryState::Left)), None),
        };
        self.finish(&id, number, &status).await?;
        match pause {
            Some(pause) => {
                let book = &mut locked(&self.confirmation.state).book;
                if status.state != person.status.state {
                    book.finish(hashes, &status);
                }
                Err(pause)
            }
            None => Ok(Some(status)),
        }
    }

    /// Sends a message over the connection. Returns its status, which is the one before if there is no connection.
    async fn send(
        &mut self,
        email: &Email,
        message: &[u8],
        person: &Person,
    ) -> (DeliveryStatus, Option<Pause>) {
        let result = match self.mailer.send(email, message).await {
            Ok(result) => result,
            Err(error) => {
                let pause = self.pause_after(&error);
                return (person.status.clone(), Some(pause));
            }
        };
        self.failures = 0;
        let mut status = now(result.status);
        let is_refused = status.state == DeliveryState::Refused;
        self.refusals = if is_refused { self.refusals + 1 } else { 0 };
        // Not all of these people can have mistyped their address.
        let is_brake = self.refusals > REFUSALS_MAX;
        if is_brake {
            status.state = DeliveryState::Deferred;
        }
        let objection = result.reply.filter(|_| result.is_objection || is_brake);
        let pause = objection.map(|reply| Pause {
            length: OBJECTION_PAUSE,
            reason: format!("the mail server objects to the sender or to the message: {reply}"),
        });
        (status, pause)
    }

    fn pause_after(&mut self, error: &ConnectError) -> Pause {
        let length = CONNECT_PAUSES[self.failures.min(CONNECT_PAUSES.len() - 1)];
        self.failures += 1;
        let server = &self.confirmation.sender.settings.mail.smtp;
        Pause {
            length,
            reason: format!("{server}: {error}"),
        }
    }

    /// Records the result of a message.
    async fn finish(
        &self,
        id: &MessageId,
        number: u32,
        status: &DeliveryStatus,
    ) -> Result<(), StoreError> {
        let mut finished = Ok(());
        for _ in 0..FINISH_ATTEMPTS_MAX {
            let result = vec![(number, status.clone())];
            finished = self.confirmation.list.finish_deliveries(id, result).await;
            if finished.is_ok() {
                break;
            }
            sleep(STORE_PAUSE).await;
        }
        finished
    }

    /// Writes the message for a person.
    fn write(&self, email: &Email, id: &MessageId, number: u8) -> Result<Vec<u8>, ComposeError> {
        let settings = &self.confirmation.sender.settings;
        let mail = &settings.mail;
        let key = self.keys.first().ok_or(ComposeError::NoToken)?;
        let tokens = PersonTokens::new(&self.keys, TokenPurpose::Confirm);
        let token = tokens.token(email).ok_or(ComposeError::NoToken)?;
        let message = confirmation_message(
            &settings.product,
            mail.postal_address.as_deref(),
            &confirmation_code(key, email, number),
            &format!("{}/confirm/{token}", settings.origin.as_str()),
        )?;
        let envelope = Envelope {
            from: &mail.from,
            to: email,
            message_id: &message_id(key, id, email, &mail.from),
            date: SystemTime::now(),
            host: settings.origin.host(),
            unsubscribe: None,
            signer: self.confirmation.sender.signer.as_ref(),
        };
        compose(&envelope, &message)
    }
}

impl From<StoreError> for Pause {
    fn from(error: StoreError) -> Self {
        Self {
            length: STORE_PAUSE,
            reason: error.to_string(),
        }
    }
}

/// Returns a status as of now.
fn now(status: DeliveryStatus) -> DeliveryStatus {
    DeliveryStatus {
        since: Some(SystemTime::now()),
        ..status
    }
}
