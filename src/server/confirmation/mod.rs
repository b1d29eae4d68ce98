//! Confirming addresses (double opt-in), if the owner has switched that on.
//!
//! A sign-up says durably that the site must ask the person ([`WaitlistEntry::asked_at`]). That is the outbox: after a
//! crash, `sweep` finds the people in the list whose message is not in the ledger. So a sign-up never waits for the
//! mail server, and no message is lost.
//!
//! The ledger has a message for each of the times that a person may be asked: `confirmation-1` to `confirmation-5`.
//!
//! - `book`: the people who were asked, how often, and with which result.
//! - `worker`: the task: whose message is next.
//! - `delivery`: sends one message.
//! - `sweep`: what the task finds in the list: people to ask, and people whose time is up.

mod book;
mod delivery;
mod sweep;
mod worker;

use std::{
    slice,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use tokio::{
    sync::{Notify, mpsc, watch},
    time::timeout,
};

use super::limits::LIST_KEYS_MAX_AGE;

use crate::{
    config::ConfirmSettings,
    mail::{
        DkimSigner, InvalidDkimKey, PersonTokens, SmtpClient, SmtpTimeouts, TlsSetupError,
        TokenPurpose, confirmation_code,
    },
    waitlist::{AddressHash, Email, Fact, ListKey, StoreError, Waitlist},
};
use book::Book;

/// Maximum number of sign-ups that wait for the task. More are found by the next sweep.
const REQUESTS_MAX: usize = 4096;

/// How long a sign-up waits while people are erased. A batch takes less.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends the messages that ask people to confirm their address.
pub struct ConfirmationSender {
    settings: ConfirmSettings,
    client: SmtpClient,
    signer: Option<DkimSigner>,
}

/// Why nobody can be asked to confirm the address.
#[derive(Debug, thiserror::Error)]
pub enum ConfirmationError {
    /// The connection cannot be encrypted.
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
    /// Messages cannot be signed.
    #[error(transparent)]
    Dkim(#[from] InvalidDkimKey),
}

impl ConfirmationSender {
    /// Checks the settings. Nothing is sent before the server runs.
    ///
    /// # Errors
    /// [`ConfirmationError`].
    pub fn new(settings: ConfirmSettings) -> Result<Self, ConfirmationError> {
        let hello_name = settings.mail.from.domain();
        let client = SmtpClient::new(&settings.mail.smtp, hello_name, SmtpTimeouts::default())?;
        Ok(Self {
            signer: DkimSigner::from_settings(&settings.mail)?,
            settings,
            client,
        })
    }
}

/// Asks people to confirm their address, and notes that they have.
pub(super) struct Confirmation {
    sender: ConfirmationSender,
    list: Arc<dyn Waitlist>,
    state: Mutex<State>,
    requests: mpsc::Sender<Request>,
    /// Whether the task has read who was asked.
    is_loaded: watch::Sender<bool>,
    /// Wakes those who wait for the end of an erasure.
    erasure_ended: Notify,
    /// Taken by the task.
    receiver: Mutex<Option<mpsc::Receiver<Request>>>,
}

/// What requests and the task share.
#[derive(Default)]
struct State {
    book: Book,
    /// The keys of the list. Empty until the task has read them.
    keys: Arc<[ListKey]>,
    keys_read_at: Option<Instant>,
}

/// A person who has signed up.
struct Request {
    email: Email,
    /// Whether the person was not on the list before.
    is_new: bool,
}

/// How a person shows that the address is theirs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Proof {
    /// By the link in a message.
    Link,
    /// By the code in a message.
    Code,
}

/// The outcome of a confirmation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ConfirmOutcome {
    /// The address is confirmed, perhaps by an earlier request.
    Confirmed,
    /// The person is not on the list, or not any more.
    NotListed,
    /// The code or the link is wrong.
    Wrong,
    /// There were too many wrong codes. The code of the next message counts again.
    Locked,
}

impl Confirmation {
    /// Creates it for a list. [`run`](Self::run) does the work.
    pub(super) fn new(sender: ConfirmationSender, list: Arc<dyn Waitlist>) -> Self {
        let (requests, receiver) = mpsc::channel(REQUESTS_MAX);
        Self {
            sender,
            list,
            state: Mutex::default(),
            requests,
            is_loaded: watch::Sender::new(false),
            erasure_ended: Notify::new(),
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// Sends messages until `stop` resolves. Then it finishes the one that is under way, unless the mail server is slow.
    pub(super) async fn run(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let receiver = locked(&self.receiver).take();
        if let Some(requests) = receiver {
            worker::run(&self, requests, stop).await;
        }
    }

    /// Cancels a due erasure of a person, or waits for one in progress. Call it before a sign-up is added to the list, so
    /// that nobody gets the response "already on the list" and is erased a moment later.
    pub(super) async fn prepare_sign_up(&self, email: &Email) {
        let not_erasing = async {
            // The channel lives as long as this.
            let _ = self
                .is_loaded
                .subscribe()
                .wait_for(|is_loaded| *is_loaded)
                .await;
            loop {
                let ended = self.erasure_ended.notified();
                let is_noted = {
                    let state = &mut *locked(&self.state);
                    let hashes = hashes(&state.keys, email);
                    state.book.note_return(&hashes, SystemTime::now())
                };
                if is_noted {
                    break;
                }
                ended.await;
            }
        };
        // If the store does not respond, the sign-up fails too.
        let _ = timeout(PREPARE_TIMEOUT, not_erasing).await;
    }

    /// Records that somebody who is on the list has signed up again, so that no instance erases the person because time
    /// is up. Returns false if the person is not on the list any more.
    pub(super) async fn record_return(&self, email: &Email) -> Result<bool, StoreError> {
        let now = SystemTime::now();
        let hashes = self.hashes(email);
        if !locked(&self.state).book.must_record_return(&hashes, now) {
            return Ok(true);
        }
        let facts = vec![(email.clone(), Fact::AskedAt(now))];
        let recorded = self.list.add_facts(facts).await;
        if !matches!(recorded.as_deref(), Ok([true])) {
            locked(&self.state).book.undo_record_return(&hashes);
        }
        Ok(recorded? == [true])
    }

    /// Asks a person who has signed up. Does not wait.
    pub(super) fn ask(&self, email: &Email, is_new: bool) {
        {
            let state = &mut *locked(&self.state);
            let hashes = hashes(&state.keys, email);
            state.book.note_sign_up(&hashes, is_new, SystemTime::now());
        }
        let request = Request {
            email: email.clone(),
            is_new,
        };
        // If the queue is full, the next sweep finds those who are new, and the others may join again.
        let _ = self.requests.try_send(request);
    }

    /// Confirms the address that a link names.
    pub(super) async fn confirm_by_token(&self, token: &str) -> Result<ConfirmOutcome, StoreError> {
        let keys = self.keys().await?;
        match PersonTokens::new(&keys, TokenPurpose::Confirm).person(token) {
            Some(email) => self.confirm(email, Proof::Link).await,
            None => Ok(ConfirmOutcome::Wrong),
        }
    }

    /// Returns whether this instance knows that a person has confirmed the address.
    pub(super) fn has_confirmed(&self, email: &Email) -> bool {
        let hashes = self.hashes(email);
        let book = &locked(&self.state).book;
        book.find(&hashes).is_some_and(|person| person.is_confirmed)
    }

    /// Confirms an address by the code that was sent to it. The codes of the two messages before the last one that the
    /// person can have had are valid too, because messages may arrive late.
    pub(super) async fn confirm_by_code(
        &self,
        email: &Email,
        digits: &str,
    ) -> Result<ConfirmOutcome, StoreError> {
        let keys = self.keys().await?;
        let last = match self.count_try(&hashes(&keys, email), email).await? {
            Ok(last) => last,
            Err(outcome) => return Ok(outcome),
        };
        let messages = last.saturating_sub(2).max(1)..=last;
        let is_right = keys.iter().any(|key| {
            let mut codes = messages.clone().map(|it| confirmation_code(key, email, it));
            codes.any(|code| code == digits)
        });
        if !is_right {
            return Ok(ConfirmOutcome::Wrong);
        }
        let outcome = self.confirm(email.clone(), Proof::Code).await;
        if outcome.is_err() {
            // The code was right, and must still be when the store responds again.
            locked(&self.state).book.undo_try(&hashes(&keys, email));
        }
        outcome
    }

    /// Counts a code that a person has entered. Returns the number of the last message to the person, or the outcome if
    /// no code is valid.
    async fn count_try(
        &self,
        hashes: &[AddressHash],
        email: &Email,
    ) -> Result<Result<u8, ConfirmOutcome>, StoreError> {
        {
            let book = &mut locked(&self.state).book;
            if book.find(hashes).is_some() {
                return Ok(book.try_code(hashes).ok_or(ConfirmOutcome::Locked));
            }
        }
        // Behind a load balancer, another instance may have asked the person.
        let is_listed = self.list.are_listed(slice::from_ref(email)).await? == [true];
        let Some(hash) = hashes.first().filter(|_| is_listed) else {
            return Ok(Err(ConfirmOutcome::Wrong));
        };
        let book = &mut locked(&self.state).book;
        let last = book.try_code_from_elsewhere(*hash);
        Ok(last.ok_or(ConfirmOutcome::Locked))
    }

    /// Confirms an address. The time of the first confirmation stays. [`Proof::Code`] counts only for people who were asked by
    /// the site: the others have no code, so a right one is a guess.
    async fn confirm(&self, email: Email, proof: Proof) -> Result<ConfirmOutcome, StoreError> {
        let hashes = hashes(&self.keys().await?, &email);
        // Without reading the list again, however often a link is opened.
        let is_recorded = locked(&self.state).book.is_recorded(&hashes);
        if is_recorded && self.list.are_listed(slice::from_ref(&email)).await? == [true] {
            return Ok(ConfirmOutcome::Confirmed);
        }
        // First, so that nobody who confirms is erased because time is up.
        if !locked(&self.state).book.confirm(&hashes) {
            return Ok(ConfirmOutcome::NotListed);
        }
        let outcome = self.record(email, proof).await;
        let book = &mut locked(&self.state).book;
        match outcome {
            Ok(ConfirmOutcome::Confirmed) => book.note_recorded(&hashes),
            _ => book.undo_confirm(&hashes),
        }
        outcome
    }

    async fn record(&self, email: Email, proof: Proof) -> Result<ConfirmOutcome, StoreError> {
        let Some(entry) = self.list.person(&email).await? else {
            return Ok(ConfirmOutcome::NotListed);
        };
        if entry.confirmed_at.is_some() {
            return Ok(ConfirmOutcome::Confirmed);
        }
        if proof == Proof::Code && entry.asked_at.is_none() {
            return Ok(ConfirmOutcome::Wrong);
        }
        let fact = Fact::ConfirmedAt(SystemTime::now());
        let is_listed = self.list.add_facts(vec![(email, fact)]).await? == [true];
        Ok(match is_listed {
            true => ConfirmOutcome::Confirmed,
            false => ConfirmOutcome::NotListed,
        })
    }

    /// Returns the keys of the list, as they were a moment ago. An import of an export adds keys.
    async fn keys(&self) -> Result<Arc<[ListKey]>, StoreError> {
        {
            let state = locked(&self.state);
            let is_fresh = |read_at: Instant| read_at.elapsed() < LIST_KEYS_MAX_AGE;
            if state.keys_read_at.is_some_and(is_fresh) {
                return Ok(Arc::clone(&state.keys));
            }
        }
        self.read_keys().await
    }

    async fn read_keys(&self) -> Result<Arc<[ListKey]>, StoreError> {
        let keys: Arc<[ListKey]> = self.list.keys().await?.into();
        let mut state = locked(&self.state);
        (state.keys, state.keys_read_at) = (Arc::clone(&keys), Some(Instant::now()));
        Ok(keys)
    }

    /// Returns how long people have to confirm their address.
    fn lifetime(&self) -> Duration {
        Duration::from_secs(u64::from(self.sender.settings.days) * 24 * 60 * 60)
    }

    /// Returns the hashes of an address under all keys of the list.
    fn hashes(&self, email: &Email) -> Vec<AddressHash> {
        hashes(&locked(&self.state).keys, email)
    }
}

/// Returns the hashes of an address under all keys of the list.
fn hashes(keys: &[ListKey], email: &Email) -> Vec<AddressHash> {
    let address = email.key();
    keys.iter().map(|key| key.hash(&address)).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
