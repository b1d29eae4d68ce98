//! Announces a message to the mail server: `MAIL`, `RCPT` and `DATA`.

use mail_send::{Error, smtp::message::Parameters};
use smtp_proto::{Response, response::parser::ResponseReceiver};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::timeout,
};

use super::{
    outcome::{NotSent, SendOutcome},
    raw_client::RawClient,
    reply::SmtpReply,
};

/// The first bytes that are read of replies. Most are shorter.
const READ_BYTES: usize = 1024;
/// The reply with which a server waits for the content of a message.
const START_INPUT: u16 = 354;

/// What the server has replied to the announcement of a message.
pub(super) struct Announcement {
    /// The replies to `MAIL`, `RCPT` and `DATA`, as far as they came.
    replies: Vec<Response<String>>,
    /// Why there are no more.
    error: Option<Error>,
}

impl Announcement {
    /// Sends the three commands. With `is_pipelined`, they go out together (RFC 2920): each round trip to a relay on the
    /// internet takes tens of milliseconds. Otherwise, each waits for the reply to the one before.
    pub(super) async fn send(
        client: &mut RawClient,
        is_pipelined: bool,
        sender: &str,
        parameters: &Parameters<'_>,
        recipient: &str,
    ) -> Self {
        let commands = [
            format!("MAIL FROM:<{sender}>{parameters}\r\n"),
            format!("RCPT TO:<{recipient}>\r\n"),
            "DATA\r\n".to_owned(),
        ];
        let mut replies = Vec::with_capacity(commands.len());
        let done = match is_pipelined {
            true => exchange_together(client, &commands, &mut replies).await,
            false => exchange(client, &commands, &mut replies).await,
        };
        let error = done.err();
        Self { replies, error }
    }

    /// Returns whether the server has rejected the message and waits for another command. A server that waits for the
    /// content all the same would take the next commands for it.
    pub(super) fn is_ended(&self) -> bool {
        let is_open = |reply: &Response<String>| !SmtpReply::new(reply).is_closing();
        let last = self.replies.last();
        self.error.is_none()
            && self.replies.iter().all(is_open)
            && last.is_some_and(|it| it.code() != START_INPUT)
    }

    /// Returns the outcome unless the server waits for the content. The first rejection counts: the others follow from
    /// it.
    pub(super) fn into_result(self) -> Result<(), SendOutcome> {
        let unexpected = |&(at, reply): &(usize, &Response<String>)| !is_expected(at, reply);
        if let Some((at, reply)) = self.replies.iter().enumerate().find(unexpected) {
            let reply = SmtpReply::new(reply);
            return Err(match (at, reply.code) {
                (0, 400..600) => SendOutcome::SenderRejected(reply),
                (_, 400..600) => SendOutcome::Rejected(reply),
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

/// Sends each command after the reply to the one before, as long as that is the expected one.
async fn exchange(
    client: &mut RawClient,
    commands: &[String],
    replies: &mut Vec<Response<String>>,
) -> Result<(), Error> {
    for (at, command) in commands.iter().enumerate() {
        let reply = client.cmd(command).await?;
        let goes_on = is_expected(at, &reply);
        replies.push(reply);
        if !goes_on {
            break;
        }
    }
    Ok(())
}

/// Sends all commands, and reads the replies. mail-send's own `cmds` loses the replies before an error, and a server
/// that closes the connection says why in the first one.
async fn exchange_together(
    client: &mut RawClient,
    commands: &[String],
    replies: &mut Vec<Response<String>>,
) -> Result<(), Error> {
    let limit = client.timeout;
    let write = async {
        client
            .stream
            .write_all(commands.concat().as_bytes())
            .await?;
        client.stream.flush().await
    };
    timeout(limit, write).await.map_err(|_| Error::Timeout)??;
    let mut receiver = ResponseReceiver::default();
    let mut buffer = [0; READ_BYTES];
    while replies.len() < commands.len() {
        let read = timeout(limit, client.stream.read(&mut buffer)).await;
        let count = read.map_err(|_| Error::Timeout)??;
        if count == 0 {
            return Err(Error::UnparseableReply);
        }
        let mut bytes = buffer[..count].iter();
        // What follows the last reply was not asked for.
        while replies.len() < commands.len() {
            match receiver.parse(&mut bytes) {
                Ok(reply) => replies.push(reply),
                Err(smtp_proto::Error::NeedsMoreData { .. }) => break,
                Err(_) => return Err(Error::UnparseableReply),
            }
            receiver.reset();
        }
    }
    Ok(())
}
