//! Sends one message, and records it before and after.

use std::time::SystemTime;

use super::{
    asked::finish,
    task::{AskError, Task},
};
use crate::{
    copy,
    mail::{
        ComposeError, MessageHeaders, PersonTokens, TokenPurpose, compose, confirmation_code,
        confirmation_message, message_id,
    },
    waitlist::{
        Delivery, DeliveryStart, DeliveryState, DeliveryStatus, ListKey, Message, MessageId,
        StoreError, WaitlistEntry,
    },
};

/// The e-mail for a person.
struct WrittenMessage {
    bytes: Vec<u8>,
    /// The token and the code, which neither the log nor the ledger must get from a server that quotes the message.
    secrets: [String; 2],
}

impl Task<'_> {
    /// Sends a message to a person. `retry` is the delivery that is tried again; without it, there is a new one. Returns what
    /// the ledger has, or `None` if nothing was sent because another process has changed the ledger: it has added deliveries,
    /// perhaps to the same person, or has begun this one.
    ///
    /// The attempt has begun, durably, before the message goes out. So no other process sends it, and a crash loses nobody. If
    /// the mailbox is full, the result is that this program refuses the message.
    pub(super) async fn send(
        &mut self,
        key: &ListKey,
        entry: &WaitlistEntry,
        retry: Option<DeliveryStart>,
        is_full: bool,
    ) -> Result<Option<(DeliveryStart, DeliveryStatus)>, AskError> {
        let start = retry.unwrap_or(DeliveryStart {
            number: self.known,
            state: DeliveryState::Waiting,
            attempts: 0,
        });
        let message = match self.write(key, entry, start.number) {
            Ok(message) => Some(message).filter(|_| !is_full),
            Err(ComposeError::Address) => None,
            Err(error) => return Err(error.into()),
        };
        if retry.is_none() && !self.add(key, entry).await? {
            return Ok(None);
        }
        let (list, id) = (&self.confirmation.list, MessageId::confirmation());
        if list.begin_deliveries(&id, vec![start]).await? != [true] {
            return Ok(None);
        }
        let mut status = match message {
            Some(message) => self.deliver(entry, &message).await,
            None => DeliveryStatus::new(DeliveryState::Refused),
        };
        if is_unexplained(&status) {
            status.state = DeliveryState::Deferred;
        }
        status.since = Some(SystemTime::now());
        let done = DeliveryStart {
            state: status.state,
            attempts: start.attempts + 1,
            ..start
        };
        finish(&**list, &done, status.clone()).await?;
        // Only now: after an error the ledger may have a new delivery, so it must be read again.
        self.known += u32::from(retry.is_none());
        Ok(Some((done, status)))
    }

    /// Sends a message whose attempt has begun. If the mail server has closed the connection since the last message, it connects
    /// again: an attempt that has sent nothing would count in the ledger.
    async fn deliver(
        &mut self,
        entry: &WaitlistEntry,
        WrittenMessage { bytes, secrets }: &WrittenMessage,
    ) -> DeliveryStatus {
        let (skipped, deferred) = (DeliveryState::Skipped, DeliveryState::Deferred);
        loop {
            match self.mailer.send(&entry.email, bytes, secrets).await {
                Ok(Some(status)) => return status,
                Ok(None) => {}
                // The program ends.
                Err(_) => return DeliveryStatus::new(skipped),
            }
            if self.mailer.connect().await.is_err() {
                return DeliveryStatus::new(deferred);
            }
            // Connecting takes time: the person may have left or confirmed a moment ago.
            match self.confirmation.list.person(&entry.email).await {
                Ok(Some(entry)) if entry.awaits_confirmation() => {}
                Ok(_) => return DeliveryStatus::new(skipped),
                Err(_) => return DeliveryStatus::new(deferred),
            }
        }
    }

    /// Adds a delivery to a person, which has not begun. Returns false if another process has added one.
    async fn add(&mut self, key: &ListKey, entry: &WaitlistEntry) -> Result<bool, StoreError> {
        let (list, id) = (&self.confirmation.list, MessageId::confirmation());
        if self.known == 0 {
            let message = Message::new(id.clone(), SystemTime::now(), copy::mail::CONFIRM_SUBJECT);
            list.add_message(message).await?;
        }
        let delivery = Delivery::waiting(key.hash(entry.email.key()));
        list.add_deliveries(&id, self.known, vec![delivery]).await
    }

    /// Writes the message for a person.
    fn write(
        &self,
        key: &ListKey,
        entry: &WaitlistEntry,
        number: u32,
    ) -> Result<WrittenMessage, ComposeError> {
        let settings = &self.confirmation.sender.settings;
        let (mail, email) = (&settings.mail, &entry.email);
        let tokens = PersonTokens::new(key, TokenPurpose::Confirm);
        let token = tokens.token(email).ok_or(ComposeError::NoToken)?;
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
            secrets: [token, code],
        })
    }
}

/// Returns whether a refusal does not say that it is about the person, as `550 relay not permitted` does not. The person gets
/// the message if the owner fixes the cause before the last attempt.
fn is_unexplained(status: &DeliveryStatus) -> bool {
    let reply = status.reply.as_ref();
    status.state == DeliveryState::Refused
        && reply.is_some_and(|it| !it.has_enhanced_code() && !it.is_bad_address())
}
