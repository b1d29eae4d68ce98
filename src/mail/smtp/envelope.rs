//! The envelope of a message: `MAIL` and `RCPT`, and `DATA`, which asks for the content.

use mail_send::Error;
use smtp_proto::{Response, response::parser::ResponseReceiver};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout, timeout_at},
};

use super::{
    outcome::{NotSent, SendOutcome},
    raw_client::RawClient,
    reply::{MessagePart, SmtpReply},
};

/// Size of the read buffer, in bytes. Most replies are shorter.
const READ_BYTES: usize = 1024;
/// The reply with which a server waits for the content of a message.
const START_INPUT: u16 = 354;

/// The replies to the envelope of a message.
pub(super) struct EnvelopeReplies {
    /// The replies to `MAIL`, `RCPT` and `DATA`, as far as they came.
    replies: Vec<Response<String>>,
    /// The error that ended the exchange.
    error: Option<Error>,
}

impl EnvelopeReplies {
    /// Sends the three commands. With `is_pipelined`, they go out together (RFC 2920): each round trip to a relay on the
    /// internet takes tens of milliseconds. Otherwise, each waits for the reply to the one before.
    pub(super) async fn send(
        client: &mut RawClient,
        is_pipelined: bool,
        sender: &str,
        recipient: &str,
    ) -> Self {
        let commands = [
            format!("MAIL FROM:<{sender}>\r\n"),
            format!("RCPT TO:<{recipient}>\r\n"),
            "DATA\r\n".to_owned(),
        ];
        let commands_per_write = if is_pipelined { commands.len() } else { 1 };
        let mut replies = Vec::with_capacity(commands.len());
        let mut error = None;
        for commands in commands.chunks(commands_per_write) {
            error = exchange(client, commands, &mut replies).await.err();
            let unexpected = replies
                .last()
                .is_some_and(|it| !is_expected(replies.len() - 1, it));
            if error.is_some() || unexpected {
                break;
            }
        }
        Self { replies, error }
    }

    /// Returns whether the connection can take another command after the message was rejected. After a 354, the server
    /// would read it as content.
    pub(super) fn can_continue(&self) -> bool {
        let is_open = |reply: &Response<String>| {
            reply.code() != START_INPUT && !SmtpReply::new(reply).is_closing()
        };
        let last = self.replies.last();
        self.error.is_none()
            && self.replies.iter().all(is_open)
            && last.is_some_and(|it| (400..600).contains(&it.code()))
    }

    /// Returns `Ok` if the server waits for the content, or the outcome. The first rejection decides: later ones are its
    /// consequence.
    pub(super) fn into_result(self) -> Result<(), SendOutcome> {
        let unexpected = |&(at, reply): &(usize, &Response<String>)| !is_expected(at, reply);
        if let Some((at, reply)) = self.replies.iter().enumerate().find(unexpected) {
            let reply = SmtpReply::new(reply);
            let part = match at {
                0 => MessagePart::Sender,
                1 => MessagePart::Recipient,
                _ => MessagePart::Content,
            };
            return Err(match reply.code {
                400..600 => SendOutcome::Rejected(part, reply),
                _ => SendOutcome::NotSent(NotSent::Protocol),
            });
        }
        match self.error {
            None => Ok(()),
            Some(Error::Timeout) => Err(SendOutcome::NotSent(NotSent::Timeout)),
            Some(Error::Io(_)) => Err(SendOutcome::NotSent(NotSent::Broken)),
            Some(_) => Err(SendOutcome::NotSent(NotSent::Protocol)),
        }
    }
}

/// Returns whether the server goes on with the message: `DATA` is the third command.
fn is_expected(at: usize, reply: &Response<String>) -> bool {
    match at {
        0 | 1 => (200..300).contains(&reply.code()),
        _ => reply.code() == START_INPUT,
    }
}

/// Sends commands together, and adds the replies. Each has the time limit of a step; a server may use it for all of them,
/// and send them together (RFC 2920, section 3.2). mail-send's own `cmds` loses the replies before an error, and a server
/// that closes the connection says why in the first one.
async fn exchange(
    client: &mut RawClient,
    commands: &[String],
    replies: &mut Vec<Response<String>>,
) -> Result<(), Error> {
    let limit = client.timeout;
    let write = async {
        let commands = commands.concat();
        client.stream.write_all(commands.as_bytes()).await?;
        client.stream.flush().await
    };
    timeout(limit, write).await.map_err(|_| Error::Timeout)??;
    let mut receiver = ResponseReceiver::default();
    let mut buffer = [0; READ_BYTES];
    let wanted = replies.len() + commands.len();
    let deadline_for =
        |missing: usize| Instant::now() + limit * u32::try_from(missing).unwrap_or(1);
    let mut deadline = deadline_for(commands.len());
    while replies.len() < wanted {
        let read = timeout_at(deadline, client.stream.read(&mut buffer)).await;
        let count = read.map_err(|_| Error::Timeout)??;
        if count == 0 {
            return Err(Error::UnparseableReply);
        }
        let mut bytes = buffer[..count].iter();
        // What follows the last reply was not asked for.
        while replies.len() < wanted {
            match receiver.parse(&mut bytes) {
                Ok(reply) => replies.push(reply),
                Err(smtp_proto::Error::NeedsMoreData { .. }) => break,
                Err(_) => return Err(Error::UnparseableReply),
            }
            receiver.reset();
            deadline = deadline_for(wanted - replies.len());
        }
    }
    Ok(())
}
