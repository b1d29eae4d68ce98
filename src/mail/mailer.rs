//! Sends one message after another, and says what the ledger records about each.

use tokio_util::sync::CancellationToken;

use super::{
    compose::recipient_address,
    smtp::{ConnectError, MessagePart, NotSent, SendOutcome, SmtpClient, SmtpConnection},
};
use crate::waitlist::{DeliveryState, DeliveryStatus, Email, ServerReply};

/// Sends messages over a connection, which its owner opens.
pub struct Mailer<'a> {
    client: &'a SmtpClient,
    /// The address for messages that cannot be delivered.
    sender: &'a str,
    /// Cancelled when a slow server must not delay the end of the program any longer.
    give_up: CancellationToken,
    connection: Option<SmtpConnection>,
    /// Whether the connection has sent nothing yet.
    is_fresh: bool,
}

impl<'a> Mailer<'a> {
    /// Creates a mailer without a connection. When `give_up` is cancelled, the message under way is not
    /// sent, unless the end of it is already written.
    pub fn new(client: &'a SmtpClient, sender: &'a str, give_up: CancellationToken) -> Self {
        Self {
            client,
            sender,
            give_up,
            connection: None,
            is_fresh: false,
        }
    }

    /// Connects, unless there is a connection. That may take minutes, in which people may leave the list.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&mut self) -> Result<(), ConnectError> {
        // The result of the last message is recorded by now.
        if let Some(connection) = &mut self.connection {
            connection.reset().await;
        }
        if !self.connection.as_ref().is_some_and(|it| it.is_usable()) {
            let connected = tokio::select! {
                biased;
                connected = self.client.connect() => connected?,
                () = self.give_up.cancelled() => return Err(ConnectError::Stopped),
            };
            self.connection = Some(connected);
            self.is_fresh = true;
        }
        Ok(())
    }

    /// Sends a message to one person. Returns `None` if there is no connection, or the server has closed it since the last
    /// message, which shows only now: then nothing was sent. See [`SmtpConnection::send`] for the secrets. Do not drop the
    /// future before it is done.
    ///
    /// # Errors
    /// [`ConnectError::Stopped`] if `give_up` was cancelled. Nothing was sent.
    pub async fn send(
        &mut self,
        to: &Email,
        message: &[u8],
        secrets: &[String],
    ) -> Result<Option<DeliveryStatus>, ConnectError> {
        let is_fresh = std::mem::take(&mut self.is_fresh);
        let connection = self.connection.as_mut().filter(|it| it.is_usable());
        let Some(connection) = connection else {
            return Ok(None);
        };
        let recipient = recipient_address(to);
        let sent = connection.send(self.sender, &recipient, message, secrets, &self.give_up);
        let outcome = sent.await;
        let is_closed = match &outcome {
            SendOutcome::NotSent(NotSent::Stopped) => return Err(ConnectError::Stopped),
            // The server has replied to commands, so the connection was open. After another attempt, which may take as long,
            // other processes would take the message for unknown.
            SendOutcome::NotSent(reason) => *reason != NotSent::InContent,
            SendOutcome::Rejected(_, reply) => reply.is_closing(),
            SendOutcome::Accepted(_) | SendOutcome::Unknown => false,
        };
        if is_closed && !is_fresh && !self.give_up.is_cancelled() {
            self.connection = None;
            return Ok(None);
        }
        Ok(Some(status_of(outcome)))
    }

    /// Says goodbye to the server.
    pub async fn quit(self) {
        if let Some(connection) = self.connection {
            connection.quit().await;
        }
    }
}

/// Returns whether a delivery is deferred because the mail server objects to the sender or to the message, and not to the
/// recipient, who must get the message once the cause is fixed. The ledger does not keep which part the server replied to.
pub fn is_deferred_by_objection(status: &DeliveryStatus) -> bool {
    let is_deferred = status.state == DeliveryState::Deferred;
    // A final reply to a deferred delivery was an objection.
    status.reply.as_ref().is_some_and(|reply| {
        is_deferred && (reply.code >= 500 || reply.is_objection(MessagePart::Content))
    })
}

/// Returns what the ledger records about an outcome, without a time. If no server has replied, there is no reply.
fn status_of(outcome: SendOutcome) -> DeliveryStatus {
    let (state, reply) = match outcome {
        SendOutcome::Accepted(reply) => (DeliveryState::Accepted, Some(reply)),
        SendOutcome::Rejected(part, reply) if is_about_recipient(part, &reply) => {
            (DeliveryState::Refused, Some(reply))
        }
        SendOutcome::Rejected(_, reply) => (DeliveryState::Deferred, Some(reply)),
        SendOutcome::NotSent(_) => (DeliveryState::Deferred, None),
        SendOutcome::Unknown => (DeliveryState::Unknown, None),
    };
    DeliveryStatus {
        reply,
        ..DeliveryStatus::new(state)
    }
}

/// Returns whether a rejection is final, and about the recipient.
fn is_about_recipient(part: MessagePart, reply: &ServerReply) -> bool {
    let is_about_all = match part {
        // It knows nothing about the recipient yet.
        MessagePart::Sender => true,
        MessagePart::Recipient => false,
        // It has accepted the recipient, and does not say that this was wrong. Amazon SES reports so that it has not verified
        // the sender.
        MessagePart::Content => !reply.has_enhanced_code(),
    };
    !reply.is_transient() && !reply.is_objection(part) && !is_about_all
}
