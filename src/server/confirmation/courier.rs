//! Sends one message, and records it before and after.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{
    kind::MessageKind,
    recipients::{Recipients, finish, recent_attempts},
    sweep,
    task::{SendError, Task},
};
use crate::{
    copy,
    mail::{
        ComposeError, MessageHeaders, PersonTokens, TokenPurpose, WrittenMessage, compose,
        confirmation_code, confirmation_message, message_id,
    },
    waitlist::{
        AddressHash, Delivery, DeliveryStart, DeliveryState, DeliveryStatus, ListKey, Message,
        MessageId, StoreError, WaitlistEntry,
    },
};

/// Longest time that a welcome waits for the person's place in a long list.
const STANDINGS_TIMEOUT: Duration = Duration::from_secs(60);

impl Task<'_> {
    /// Sends a message to a person. `retry` is the delivery that is tried again; without it, there is a new one. Returns what
    /// the ledger has, or `None` if nothing was sent because another process has changed the ledger: it has added deliveries,
    /// perhaps to the same person, or has begun this one.
    ///
    /// The attempt has begun, durably, before the message goes out. So no other process sends it, and a crash loses nobody. If
    /// the mailbox is full, the result is that this program refuses the message.
    pub(super) async fn send(
        &mut self,
        kind: MessageKind,
        key: &ListKey,
        entry: &WaitlistEntry,
        retry: Option<DeliveryStart>,
        is_full: bool,
    ) -> Result<Option<(DeliveryStart, DeliveryStatus)>, SendError> {
        let new = Delivery::waiting(key.hash(entry.email.key()));
        let start = retry.unwrap_or(new.start(self.known[kind as usize]));
        let written = match kind {
            MessageKind::Code => self
                .write_code(key, entry, start.number)
                .map_err(Into::into),
            MessageKind::Welcome => self.write_welcome(key, entry).await,
        };
        let message = match written {
            Ok(message) => Some(message).filter(|_| !is_full),
            Err(SendError::Message(ComposeError::Address)) => None,
            Err(error) => return Err(error),
        };
        if retry.is_none() && !self.add(kind, new).await? {
            return Ok(None);
        }
        let list = &self.confirmation.list;
        if list.begin_deliveries(&kind.id(), vec![start]).await? != [true] {
            return Ok(None);
        }
        let begun_at = SystemTime::now();
        let mut status = match message {
            Some(message) => self.deliver(kind, entry, start.state, &message).await,
            None => DeliveryStatus::new(DeliveryState::Refused),
        };
        if is_unexplained(&status) {
            status.state = DeliveryState::Deferred;
        }
        let ended_at = SystemTime::now();
        let person = self.confirmation.list.person(&entry.email).await;
        let is_same = |it: WaitlistEntry| it.is_of_sign_up(entry.joined_at);
        let has_stayed = person.is_ok_and(|it| it.is_some_and(is_same));
        // A person who has left during the attempt, and joins again, must get another message.
        status.since = Some(if has_stayed { ended_at } else { begun_at });
        let done = DeliveryStart {
            state: status.state,
            attempts: start.attempts + 1,
            ..start
        };
        finish(&*self.confirmation.list, kind, &done, status.clone()).await?;
        // Only now: after an error the ledger may have a new delivery, so it must be read again.
        self.known[kind as usize] += u32::from(retry.is_none());
        if kind == MessageKind::Welcome {
            self.welcomed.insert(start.recipient);
        }
        Ok(Some((done, status)))
    }

    /// Sends a message whose attempt has begun. If the mail server has closed the connection since the last message, it
    /// connects again: an attempt that has sent nothing would count in the ledger.
    async fn deliver(
        &mut self,
        kind: MessageKind,
        entry: &WaitlistEntry,
        before: DeliveryState,
        WrittenMessage { bytes, secrets }: &WrittenMessage,
    ) -> DeliveryStatus {
        let (skipped, deferred) = (DeliveryState::Skipped, DeliveryState::Deferred);
        loop {
            // Connecting and reading the position take time: in between, the person may have confirmed, or left and joined again.
            match self.confirmation.list.person(&entry.email).await {
                Ok(Some(it)) if kind.is_for(&it) && it.is_of_sign_up(entry.joined_at) => {}
                Ok(_) => return DeliveryStatus::new(skipped),
                Err(error) => {
                    tracing::warn!("a message was not sent: {error}");
                    return DeliveryStatus::new(deferred);
                }
            }
            match self.mailer.send(&entry.email, bytes, secrets).await {
                Ok(Some(status)) => return status,
                Ok(None) => {}
                // The program ends. The result of the earlier attempts stays: otherwise each of them might have arrived.
                Err(_) if before != DeliveryState::Waiting => return DeliveryStatus::new(before),
                Err(_) => return DeliveryStatus::new(skipped),
            }
            if let Err(error) = self.mailer.connect().await {
                tracing::warn!("cannot connect to the mail server again: {error}");
                return DeliveryStatus::new(deferred);
            }
        }
    }

    /// Reads what other processes have added to the ledger. Returns whether that is something, and nothing to this person: then
    /// the message is sent at once, or a process that adds less often would never have its turn. A database that has lost its
    /// last changes has fewer deliveries than before.
    pub(super) async fn only_others_were_added(
        &mut self,
        kind: MessageKind,
        recipient: AddressHash,
    ) -> Result<bool, StoreError> {
        let added = self.read_ledger(kind, self.known[kind as usize]).await?;
        Ok(!added.is_empty() && !added.contains(recipient))
    }

    /// Reads what the ledger says about the deliveries of a message from the number `from` on. Other processes change it too.
    pub(super) async fn read_ledger(
        &mut self,
        kind: MessageKind,
        from: u32,
    ) -> Result<Recipients, StoreError> {
        let (list, now) = (&self.confirmation.list, SystemTime::now());
        let deliveries = list.deliveries(&kind.id(), from).await?;
        sweep::date_interrupted(&**list, kind, from, &deliveries, now).await?;
        self.known[kind as usize] = from + deliveries.len() as u32;
        if kind == MessageKind::Welcome {
            if from == 0 {
                self.welcomed.clear();
            }
            self.welcomed
                .extend(deliveries.iter().map(|it| it.recipient));
        }
        let recent = recent_attempts(kind, from, &deliveries, now);
        self.history.merge(kind, from, recent, now);
        let since = self.confirmation.sender.welcome_since;
        Ok(Recipients::new(kind, since, from, &deliveries))
    }

    /// Adds a delivery. Returns false if another process has added one.
    async fn add(&mut self, kind: MessageKind, delivery: Delivery) -> Result<bool, StoreError> {
        let (list, id) = (&self.confirmation.list, kind.id());
        let known = self.known[kind as usize];
        if kind == MessageKind::Code && known == 0 {
            let message = Message::new(id.clone(), SystemTime::now(), copy::mail::CONFIRM_SUBJECT);
            list.add_message(message).await?;
        }
        list.add_deliveries(&id, known, vec![delivery]).await
    }

    /// Writes the code for a person.
    fn write_code(
        &self,
        key: &ListKey,
        entry: &WaitlistEntry,
        number: u32,
    ) -> Result<WrittenMessage, ComposeError> {
        let settings = &self.confirmation.sender.settings;
        let (mail, email) = (&settings.mail, &entry.email);
        let tokens = PersonTokens::new(key, TokenPurpose::Confirm);
        let token = tokens.token_for_sign_up(email, entry.joined_at);
        let code = confirmation_code(key, email, entry.joined_at);
        let message = confirmation_message(
            &settings.product,
            mail.postal_address.as_deref(),
            &code,
            &format!("{}/confirm/{token}", settings.origin.as_str()),
        )?;
        // The same for all attempts, so that mail programs can recognise a message that arrives twice.
        let id = format!("{} {number}", MessageId::confirmation());
        let headers = MessageHeaders {
            from: &mail.from,
            to: email,
            message_id: &message_id(key, &id, email, &mail.from),
            date: SystemTime::now(),
            host: settings.origin.host(),
            unsubscribe: None,
            signer: self.confirmation.sender.signer.as_ref(),
        };
        Ok(WrittenMessage {
            bytes: compose(&headers, &message)?,
            secrets: vec![token, code],
        })
    }

    /// Writes the welcome message for a person.
    async fn write_welcome(
        &self,
        key: &ListKey,
        entry: &WaitlistEntry,
    ) -> Result<WrittenMessage, SendError> {
        let writer = self.confirmation.sender.welcome_writer();
        let writer = writer.expect("nobody waits for a welcome without one");
        let standings = &self.confirmation.standings;
        let position = match writer.template.has_position() {
            true => {
                standings
                    .place(&entry.email, Instant::now() + STANDINGS_TIMEOUT)
                    .await
            }
            false => Some(0),
        };
        let position = position.ok_or(StoreError::TimedOut)?;
        Ok(writer.write(key, &entry.email, position)?)
    }
}

/// Returns whether a refusal may be about something other than the person, such as `550 relay not permitted`. The person gets
/// the message if the owner fixes the cause before the last attempt.
fn is_unexplained(status: &DeliveryStatus) -> bool {
    let reply = status.reply.as_ref();
    status.state == DeliveryState::Refused
        && reply.is_some_and(|it| !it.has_enhanced_code() && !it.is_bad_address())
}
