//! Sends messages over a connection.

use std::{net::SocketAddr, time::Duration};

use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::ProtocolVersion;
use tokio_util::sync::CancellationToken;

use super::{
    raw_client::RawClient,
    reply::{HiddenWords, MessagePart},
    timeouts::SmtpTimeouts,
};
use crate::waitlist::ServerReply;

/// Maximum time to say goodbye.
const QUIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum time to end a message that the server has rejected. A new connection takes less than a slow response.
const RESET_TIMEOUT: Duration = Duration::from_secs(5);

/// What is known about a connection.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// The address of the mail server.
    pub address: SocketAddr,
    /// The version of TLS, if the connection is encrypted.
    pub encryption: Option<ProtocolVersion>,
    /// The first words of the server.
    pub greeting: ServerReply,
}

/// A connection to a mail server, for one message after another.
pub struct SmtpConnection {
    pub(super) client: RawClient,
    /// What connecting has found.
    pub info: ConnectionInfo,
    pub(super) timeouts: SmtpTimeouts,
    /// The secrets of the login.
    pub(super) secrets: Vec<String>,
    pub(super) is_usable: bool,
    /// Whether the server has rejected the last message, and waits for RSET before the next one.
    pub(super) needs_reset: bool,
}

/// The outcome of sending a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SendOutcome {
    /// The server has accepted the message.
    Accepted(ServerReply),
    /// The server rejects a part of the message, for now (4xx) or for good (5xx).
    Rejected(MessagePart, ServerReply),
    /// The server has certainly not accepted the message.
    NotSent(NotSent),
    /// The connection broke, or the time limit ended, after the whole message was written. The server may have
    /// accepted it.
    Unknown,
}

/// Why a message was not sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotSent {
    /// The connection broke before the message itself was written, or the server was too slow or replied with something else
    /// than SMTP.
    BeforeContent,
    /// The connection broke or was too slow while the message itself was written.
    InContent,
    /// The program ends, and the server was slow.
    Stopped,
}

impl SmtpConnection {
    /// Returns whether the connection can be used for another message.
    pub fn is_usable(&self) -> bool {
        self.is_usable
    }

    /// Sends a message to one recipient. Lines of the message end with CRLF. `secrets` are words of the message, such as its
    /// link: the outcome never has them, although some servers quote the message.
    ///
    /// When `give_up` is cancelled, the message is not sent, unless the end of it is already written. Do not drop the
    /// future before it is done: then nobody knows whether the message was sent, and the connection must be dropped
    /// too.
    pub async fn send(
        &mut self,
        sender: &str,
        recipient: &str,
        message: &[u8],
        secrets: &[String],
        give_up: &CancellationToken,
    ) -> SendOutcome {
        let hidden = HiddenWords {
            recipient: recipient.to_owned(),
            secrets: [&self.secrets, secrets].concat(),
        };
        // Until the last reply says otherwise.
        self.is_usable = false;
        let limit = self.timeouts.write;
        let written = tokio::select! {
            biased;
            written = self.write(sender, message, &hidden) => written,
            () = give_up.cancelled() => Err(SendOutcome::NotSent(NotSent::Stopped)),
            () = sleep(limit) => Err(SendOutcome::NotSent(NotSent::InContent)),
        };
        let outcome = match written {
            Ok(()) => self.read_outcome(&hidden).await,
            Err(outcome) => outcome,
        };
        self.needs_reset = matches!(outcome, SendOutcome::Rejected(..));
        outcome
    }

    /// Ends the last message if the server has rejected it. Call it before the next message, and after the result of the last
    /// one is recorded: the result is known, and a server that stalls now must not change or delay it.
    pub async fn reset(&mut self) {
        if self.is_usable && std::mem::take(&mut self.needs_reset) {
            let reset = timeout(RESET_TIMEOUT, self.client.rset()).await;
            self.is_usable = matches!(reset, Ok(Ok(())));
        }
    }

    /// Says goodbye. The response does not matter, so a server that sends none delays nobody.
    pub async fn quit(self) {
        if self.is_usable {
            let _ = timeout(QUIT_TIMEOUT, self.client.quit()).await;
        }
    }

    /// Writes the message. If this fails, or the future is dropped, the end of it was not written: the server cannot
    /// have accepted it.
    async fn write(
        &mut self,
        sender: &str,
        message: &[u8],
        hidden: &HiddenWords,
    ) -> Result<(), SendOutcome> {
        let recipient = &hidden.recipient;
        let mail = format!("MAIL FROM:<{sender}>\r\n");
        let rcpt = format!("RCPT TO:<{recipient}>\r\n");
        for (part, command, expected) in [
            (MessagePart::Sender, &*mail, 200..300),
            (MessagePart::Recipient, &*rcpt, 200..300),
            (MessagePart::Content, "DATA\r\n", 354..355),
        ] {
            let not_sent = SendOutcome::NotSent(NotSent::BeforeContent);
            let Ok(reply) = self.client.cmd(command).await else {
                return Err(not_sent);
            };
            let reply = hidden.reply(&reply);
            if expected.contains(&reply.code) {
                continue;
            }
            if !(400..600).contains(&reply.code) {
                return Err(not_sent);
            }
            self.is_usable = !reply.is_closing();
            return Err(SendOutcome::Rejected(part, reply));
        }
        let written = self.client.write_message(message).await;
        written.map_err(|_| SendOutcome::NotSent(NotSent::InContent))
    }

    /// Waits for the response to the message.
    async fn read_outcome(&mut self, hidden: &HiddenWords) -> SendOutcome {
        let Ok(Ok(reply)) = timeout(self.timeouts.accept, self.client.read()).await else {
            return SendOutcome::Unknown;
        };
        let reply = hidden.reply(&reply);
        self.is_usable = matches!(reply.code, 200..300 | 400..600) && !reply.is_closing();
        match reply.code {
            200..300 => SendOutcome::Accepted(reply),
            400..600 => SendOutcome::Rejected(MessagePart::Content, reply),
            _ => SendOutcome::Unknown,
        }
    }
}
