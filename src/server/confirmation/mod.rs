//! Confirming addresses (double opt-in), and a message to those who have, if the owner has switched that on.
//!
//! The store is the truth. A sign-up says durably that the site must ask the person ([`WaitlistEntry::asked_at`]), and the
//! message `confirmation` in the ledger has a delivery for each time that somebody was asked. So a sign-up never waits for
//! the mail server, and everything that this module keeps in memory may be lost at any time: a sweep, at the start and
//! hourly, finds the people to ask.
//!
//! **The cap is that of a mailbox.** At most five codes reach a mailbox in 24 hours, and a sign-up beyond that is noted
//! as refused, so that it asks nobody later either. Tags are removed from all addresses, and dots for the providers that
//! ignore them (`waitlist::hash_mailbox`). The cap recovers by itself: a cap for life would let a stranger use up a person's
//! messages. A message of which nobody knows whether it was sent counts, one that the mail server has not accepted does not.
//! Of several instances, each knows the messages of the others after its next sweep.
//!
//! **Each client, of IPv6 each /48, has a share of the budget.** It may have as many messages in 24 hours as are left for
//! everybody: half of the budget if it is alone, a third if there are two. So a client that comes later always finds some.
//! The newest sign-up of the client that was served least is next, whose person is waiting for it. Every attempt counts. A
//! client that names addresses that do not exist waits before everybody does, and so does one whose messages the mail server
//! objects to (`history`). After a restart, the clients are forgotten, and the people found in the store are like one
//! client.
//!
//! **A welcome comes once.** A person is due who has confirmed since the message `confirmation-welcome` was begun, and has no
//! delivery of it, or one that must be tried again. So the list is the outbox here too. One whose result is unknown is not sent
//! again. Codes go first, and all welcomes together are like one client.
//!
//! **Somebody is erased only after a fair chance.** The mail server has accepted a message to the person, and since then the
//! site was asking on `--confirm-days` days. It notes these days in the ledger (`confirmation-days`), because a time alone
//! says neither that confirmations were switched on nor that the clock was right.
//!
//! - `kind`: the two messages. `queue`: the people who wait for one, and the order.
//! - `history`: the attempts of the last 24 hours, and the limits that follow from them.
//! - `task`: sends one message after another. `courier`: sends one.
//! - `recipients`: what the ledger says. `sweep`: what the task finds in the list.
//! - `tries`: wrong codes.

mod courier;
mod history;
mod kind;
mod queue;
mod recipients;
mod sweep;
mod task;
mod tries;

use std::{
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard},
    time::{Duration, Instant, SystemTime},
};

use lru::LruCache;
use tokio::sync::Notify;

use super::{ClientKey, RequestError, list_key::ListKeyCache, standings::StandingsCache};
use crate::{
    config::ConfirmSettings,
    mail::{
        DkimSigner, MailSetupError, MessageWriter, SmtpClient, SmtpTimeouts, Template,
        confirmation_code,
    },
    waitlist::{
        Email, Fact, Ledger, Message, MessageId, StoreError, Waitlist, WaitlistEntry, locked,
    },
};
use history::age;
pub use kind::MessageKind;
use queue::{PendingMessage, Queue};
pub use recipients::{Recipients, count_recent};
pub(super) use task::run;
use tries::Tries;

/// Minimum time between two promises to ask a person who joins again.
const PROMISE_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Maximum number of people who are remembered as queued, which takes about 9 MB.
const QUEUED_MAX: NonZeroUsize = NonZeroUsize::new(1 << 16).unwrap();

/// Time between two sweeps.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Sends the messages that ask people to confirm their address, and that welcome them.
pub struct ConfirmationSender {
    settings: ConfirmSettings,
    client: SmtpClient,
    signer: Option<DkimSigner>,
    /// The message to people who have confirmed.
    welcome: Option<Template>,
    /// When it was begun. Only people who have confirmed since get it.
    welcome_since: Option<SystemTime>,
    /// Time between two sweeps: an hour.
    pub sweep_interval: Duration,
}

impl ConfirmationSender {
    /// Checks the settings. Nothing is sent before the server runs.
    ///
    /// # Errors
    /// [`MailSetupError`].
    pub fn new(
        settings: ConfirmSettings,
        welcome: Option<Template>,
    ) -> Result<Self, MailSetupError> {
        let hello_name = settings.mail.from.domain();
        let client = SmtpClient::new(&settings.mail.smtp, hello_name, SmtpTimeouts::default())?;
        let sender = Self {
            signer: DkimSigner::from_settings(&settings.mail)?,
            settings,
            client,
            welcome,
            welcome_since: None,
            sweep_interval: SWEEP_INTERVAL,
        };
        if let Some(writer) = sender.welcome_writer() {
            let checked = writer.check_size(u64::MAX);
            checked.map_err(MailSetupError::Welcome)?;
        }
        Ok(sender)
    }

    /// Begins the welcome message, unless that was done before: people who confirm from now on get it. Call it before the
    /// server runs.
    ///
    /// # Errors
    /// Like [`Ledger::add_message`].
    pub async fn begin_welcome(&mut self, list: &dyn Ledger) -> Result<(), StoreError> {
        let Some(template) = &self.welcome else {
            return Ok(());
        };
        let id = MessageId::welcome();
        // Without a digest of the text, which the owner may change.
        let message = Message::new(id.clone(), SystemTime::now(), template.subject());
        list.add_message(message).await?;
        let messages = list.messages().await?;
        let begun = messages.iter().find(|it| it.id == id);
        self.welcome_since = begun.map(|it| it.begun_at);
        Ok(())
    }

    fn welcome_writer(&self) -> Option<MessageWriter<'_>> {
        Some(MessageWriter {
            template: self.welcome.as_ref()?,
            id: MessageId::welcome(),
            settings: &self.settings.mail,
            origin: &self.settings.origin,
            product: &self.settings.product,
            signer: self.signer.as_ref(),
        })
    }
}

/// Asks people to confirm their address, notes that they have, and welcomes them.
pub(super) struct Confirmation {
    sender: ConfirmationSender,
    list: Arc<dyn Waitlist>,
    key: Arc<ListKeyCache>,
    standings: Arc<StandingsCache>,
    queue: Mutex<Queue>,
    /// The keys of the addresses that this process has queued for a code, the last ones first. So people who join again and
    /// again do not make the task read the ledger each time.
    queued: Mutex<LruCache<String, ()>>,
    /// Wakes the task when somebody has signed up or confirmed.
    wake: Notify,
    tries: Tries,
}

/// What the site has promised to a person who joins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Promise {
    /// The person is not on the list any more.
    NotListed,
    /// The person has confirmed, or was never asked, or the site asks nobody.
    NotNeeded,
    /// It has promised to ask the person less than an hour ago.
    Recent,
    /// It has promised now to ask the person.
    Renewed,
}

impl Confirmation {
    /// Creates it for a list. [`run`] does the work.
    pub(super) fn new(
        sender: ConfirmationSender,
        list: Arc<dyn Waitlist>,
        key: Arc<ListKeyCache>,
        standings: Arc<StandingsCache>,
    ) -> Self {
        Self {
            sender,
            list,
            key,
            standings,
            queue: Mutex::default(),
            queued: Mutex::new(LruCache::new(QUEUED_MAX)),
            wake: Notify::new(),
            tries: Tries::default(),
        }
    }

    /// Asks a person as promised, after the list has recorded that. Does not wait.
    pub(super) fn ask(&self, email: &Email, client: ClientKey, promise: Promise) {
        if matches!(promise, Promise::NotListed | Promise::NotNeeded) {
            return;
        }
        let mut queued = locked(&self.queued);
        let is_queued = queued.put(email.key(), ()).is_some();
        match promise {
            Promise::Recent if is_queued => self.queue().add_client(email, client.customer()),
            // A recent promise may be that of another process, which was killed. The ledger says whether the person has the
            // message.
            _ => self.queue().add(email.clone(), client.customer()),
        }
        self.wake.notify_one();
    }

    /// Records that somebody who is on the list has joined again, so that the person is asked again, and that no instance
    /// erases the person because time is up.
    pub(super) async fn promise_again(&self, email: &Email) -> Result<Promise, StoreError> {
        let Some(entry) = self.list.person(email).await? else {
            return Ok(Promise::NotListed);
        };
        if entry.confirmed_at.is_some() {
            return Ok(Promise::NotNeeded);
        }
        let now = SystemTime::now();
        match entry.asked_at.map(|asked_at| age(asked_at, now)) {
            // Nobody has asked the person. If the address is suppressed, perhaps because the owner corrected it, only a
            // confirmation lifts that.
            None if !self.list.is_suppressed(email).await? => return Ok(Promise::NotNeeded),
            Some(age) if age < PROMISE_INTERVAL => return Ok(Promise::Recent),
            _ => {}
        }
        let asked = self
            .list
            .add_fact(email, entry.joined_at, Fact::AskedAt(now));
        Ok(match asked.await? {
            true => Promise::Renewed,
            false => Promise::NotListed,
        })
    }

    /// Confirms an address by the code that was sent to it. Only people who were asked have a code.
    ///
    /// # Errors
    /// [`RequestError::WrongCode`], also if nobody with this address was asked: whoever types a code learns only that it does
    /// not count. [`RequestError::CodeLocked`] after too many wrong codes, until the next message.
    pub(super) async fn confirm_by_code(
        &self,
        email: &Email,
        digits: &str,
    ) -> Result<(), RequestError> {
        let key = self.key.get().await?;
        let entry = self.list.person(email).await?;
        let entry = entry.filter(|entry| entry.asked_at.is_some());
        let entry = entry.ok_or(RequestError::WrongCode)?;
        let tries_left = self.tries.count(email).ok_or(RequestError::CodeLocked)?;
        if confirmation_code(&key, &entry.email, entry.joined_at) != digits {
            return Err(match tries_left {
                0 => RequestError::CodeLocked,
                _ => RequestError::WrongCode,
            });
        }
        // The code is right, and must still be if the store does not respond now.
        self.tries.reset(email);
        match self.confirm(entry).await? {
            true => Ok(()),
            false => Err(RequestError::WrongCode),
        }
    }

    /// Confirms the address of a sign-up, and welcomes the person. The time of the first confirmation stays. Returns whether the
    /// sign-up is on the list: the person may have left since it was read.
    pub(super) async fn confirm(&self, sign_up: WaitlistEntry) -> Result<bool, StoreError> {
        // Also if the person has confirmed before: that may not be durable yet.
        let confirmed_at = sign_up.confirmed_at.unwrap_or_else(SystemTime::now);
        let fact = Fact::ConfirmedAt(confirmed_at);
        let confirmed = self.list.add_fact(&sign_up.email, sign_up.joined_at, fact);
        let is_listed = confirmed.await?;
        if is_listed && sign_up.confirmed_at.is_none() && self.sender.welcome_since.is_some() {
            let message = PendingMessage::found(MessageKind::Welcome, sign_up.email, None);
            self.queue().add_later(message, Instant::now());
            self.wake.notify_one();
        }
        Ok(is_listed)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        locked(&self.queue)
    }
}
