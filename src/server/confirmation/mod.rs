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
    time::SystemTime,
};

use tokio::{sync::mpsc, task::spawn_blocking};

use crate::{
    config::ConfirmSettings,
    mail::{
        CODE_LEN, DkimSigner, InvalidDkimKey, PersonTokens, SmtpClient, SmtpTimeouts,
        TlsSetupError, TokenPurpose, confirmation_code,
    },
    waitlist::{
        AddressFilter, AddressHash, Email, Fact, ListKey, Selection, StoreError, Waitlist,
        WaitlistEntry,
    },
};
use book::Book;

/// Maximum number of sign-ups that wait for the task. More are found by the next sweep.
const REQUESTS_MAX: usize = 4096;

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
    /// Taken by the task.
    receiver: Mutex<Option<mpsc::Receiver<Request>>>,
}

/// What requests and the task share.
#[derive(Default)]
struct State {
    book: Book,
    /// The keys of the list. Empty until the task has read them.
    keys: Arc<[ListKey]>,
}

/// A person who has signed up.
struct Request {
    email: Email,
    /// Whether the person was not on the list before.
    is_new: bool,
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
            receiver: Mutex::new(Some(receiver)),
        }
    }

    /// Sends messages until `stop` resolves. Then it finishes the one that is under way.
    pub(super) async fn run(self: Arc<Self>, stop: impl Future<Output = ()>) {
        let receiver = locked(&self.receiver).take();
        if let Some(requests) = receiver {
            worker::run(&self, requests, stop).await;
        }
    }

    /// Asks a person who has signed up. Does not wait.
    pub(super) fn ask(&self, email: &Email, is_new: bool) {
        {
            // At once, so that nobody is erased who has just signed up again.
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
        match self.person(token).await? {
            Some(email) => self.confirm(email).await,
            None => Ok(ConfirmOutcome::Wrong),
        }
    }

    /// Returns the person that a link names.
    pub(super) async fn person(&self, token: &str) -> Result<Option<Email>, StoreError> {
        let keys = self.keys().await?;
        Ok(PersonTokens::new(&keys, TokenPurpose::Confirm).person(token))
    }

    /// Confirms an address by the code that was sent to it. The code of the message before the last one is valid too,
    /// because messages may arrive late.
    pub(super) async fn confirm_by_code(
        &self,
        email: &Email,
        typed: &str,
    ) -> Result<ConfirmOutcome, StoreError> {
        let Some(digits) = read_digits(typed).filter(|digits| digits.len() == CODE_LEN) else {
            return Ok(ConfirmOutcome::Wrong);
        };
        let keys = self.keys().await?;
        let Some(last) = self.count_try(&hashes(&keys, email), email).await? else {
            return Ok(ConfirmOutcome::Wrong);
        };
        let messages = last.saturating_sub(1).max(1)..=last;
        let is_right = keys.iter().any(|key| {
            let mut codes = messages.clone().map(|it| confirmation_code(key, email, it));
            codes.any(|code| code == digits)
        });
        match is_right {
            true => self.confirm(email.clone()).await,
            false => Ok(ConfirmOutcome::Wrong),
        }
    }

    /// Counts a code that a person has entered. Returns the number of the last message to the person, or `None` if no
    /// code is valid.
    async fn count_try(
        &self,
        hashes: &[AddressHash],
        email: &Email,
    ) -> Result<Option<u8>, StoreError> {
        {
            let book = &mut locked(&self.state).book;
            if book.find(hashes).is_some() {
                return Ok(book.try_code(hashes));
            }
        }
        // Behind a load balancer, another instance may have asked the person.
        let is_listed = self.list.are_listed(slice::from_ref(email)).await? == [true];
        let hash = hashes.first().filter(|_| is_listed);
        let book = &mut locked(&self.state).book;
        Ok(hash.and_then(|hash| book.try_code_from_elsewhere(*hash)))
    }

    /// Confirms an address. The time of the first confirmation stays.
    async fn confirm(&self, email: Email) -> Result<ConfirmOutcome, StoreError> {
        let hashes = hashes(&self.keys().await?, &email);
        // First, so that nobody who confirms is erased because time is up.
        if !locked(&self.state).book.confirm(&hashes) {
            return Ok(ConfirmOutcome::NotListed);
        }
        let outcome = self.record(email).await;
        if outcome != Ok(ConfirmOutcome::Confirmed) {
            locked(&self.state).book.undo_confirm(&hashes);
        }
        outcome
    }

    async fn record(&self, email: Email) -> Result<ConfirmOutcome, StoreError> {
        let Some(entry) = self.entry(&email).await? else {
            return Ok(ConfirmOutcome::NotListed);
        };
        if entry.confirmed_at.is_some() {
            return Ok(ConfirmOutcome::Confirmed);
        }
        let fact = Fact::ConfirmedAt(SystemTime::now());
        let is_listed = self.list.add_facts(vec![(email, fact)]).await? == [true];
        Ok(match is_listed {
            true => ConfirmOutcome::Confirmed,
            false => ConfirmOutcome::NotListed,
        })
    }

    /// Returns the entry of a person. It may read the whole list.
    async fn entry(&self, email: &Email) -> Result<Option<WaitlistEntry>, StoreError> {
        let selection = Selection {
            addresses: AddressFilter::Address(email.clone()),
            ..Selection::default()
        };
        let list = Arc::clone(&self.list);
        let read = spawn_blocking(move || list.entries(selection)?.next().transpose());
        read.await.map_err(|_| StoreError::Unreadable)?
    }

    /// Returns the keys of the list.
    async fn keys(&self) -> Result<Arc<[ListKey]>, StoreError> {
        let keys = Arc::clone(&locked(&self.state).keys);
        if !keys.is_empty() {
            return Ok(keys);
        }
        let keys: Arc<[ListKey]> = self.list.keys().await?.into();
        locked(&self.state).keys = Arc::clone(&keys);
        Ok(keys)
    }
}

/// Returns the digits of a code, which people write as `123 456` and `123-456`, and with a Japanese keyboard in full
/// width. Returns `None` if there is anything else.
fn read_digits(typed: &str) -> Option<String> {
    let written = typed
        .chars()
        .filter(|c| !c.is_whitespace() && !"-\u{2010}\u{2011}\u{2013}".contains(*c));
    let digit = |c: char| match c {
        '0'..='9' => Some(c),
        '\u{ff10}'..='\u{ff19}' => char::from_digit(u32::from(c) - 0xff10, 10),
        _ => None,
    };
    written.map(digit).collect()
}

/// Returns the hashes of an address under all keys of the list.
fn hashes(keys: &[ListKey], email: &Email) -> Vec<AddressHash> {
    let address = email.key();
    keys.iter().map(|key| key.hash(&address)).collect()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
