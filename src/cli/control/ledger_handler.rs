//! The server's side of the control socket, for the ledger.

use std::{
    io::{self, BufWriter, Write},
    os::unix::net::UnixStream as BlockingStream,
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};

use super::{
    ledger_protocol::{
        DELIVERIES_BATCH_SIZE, LedgerCommand, WireDelivery, WireMessage, WireResult, WireStart,
        parse_id,
    },
    protocol::{ErrorMessage, Reply},
    reply_line::{error_message, to_line},
};
use crate::waitlist::{Delivery, Email, StoreError, Waitlist};

/// The response to a command about the ledger.
pub(super) enum LedgerResponse {
    Line(Vec<u8>),
    /// Takes several lines.
    Deliveries(Vec<Delivery>),
}

/// Carries out a command.
pub(super) async fn handle(list: &dyn Waitlist, command: LedgerCommand) -> LedgerResponse {
    LedgerResponse::Line(match command {
        LedgerCommand::Keys => {
            let keys = list.keys().await.map_err(error_message);
            let encode = |keys: Vec<_>| -> Vec<_> {
                let keys = keys.iter();
                keys.map(|key: &crate::waitlist::ListKey| BASE64.encode(key.as_bytes()))
                    .collect()
            };
            to_line(&keys.map(encode))
        }
        LedgerCommand::AreListed(addresses) => {
            let emails: Vec<_> = addresses.iter().map(|it| Email::from_stored(it)).collect();
            to_line(&list.are_listed(&emails).await.map_err(error_message))
        }
        LedgerCommand::Messages => {
            let messages = list.messages().await.map_err(error_message);
            let messages =
                messages.map(|them| -> Vec<_> { them.iter().map(WireMessage::from).collect() });
            to_line(&messages)
        }
        LedgerCommand::AddMessage(message) => match message.parse() {
            Some(message) => to_line(&list.add_message(message).await.map_err(error_message)),
            None => malformed(),
        },
        LedgerCommand::Deliveries(message) => match parse_id(&message) {
            Some(message) => match list.deliveries(&message).await {
                Ok(deliveries) => return LedgerResponse::Deliveries(deliveries),
                Err(error) => failed(error),
            },
            None => malformed(),
        },
        LedgerCommand::Add {
            message,
            known,
            deliveries,
        } => {
            let deliveries = deliveries.into_iter().map(WireDelivery::parse).collect();
            match (parse_id(&message), deliveries) {
                (Some(message), Some(deliveries)) => {
                    let added = list.add_deliveries(&message, known, deliveries).await;
                    to_line(&added.map_err(error_message))
                }
                _ => malformed(),
            }
        }
        LedgerCommand::Begin {
            message,
            deliveries,
        } => {
            let deliveries = deliveries.into_iter().map(WireStart::parse).collect();
            match (parse_id(&message), deliveries) {
                (Some(message), Some(deliveries)) => {
                    let begun = list.begin_deliveries(&message, deliveries).await;
                    to_line(&begun.map_err(error_message))
                }
                _ => malformed(),
            }
        }
        LedgerCommand::Finish { message, results } => {
            let results = results.into_iter().map(WireResult::parse).collect();
            match (parse_id(&message), results) {
                (Some(message), Some(results)) => {
                    let finished = list.finish_deliveries(&message, results).await;
                    to_line(&finished.map_err(error_message))
                }
                _ => malformed(),
            }
        }
    })
}

/// Sends deliveries in several lines.
pub(super) fn send_deliveries(stream: BlockingStream, deliveries: &[Delivery]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    for some in deliveries.chunks(DELIVERIES_BATCH_SIZE) {
        let some: Vec<_> = some.iter().map(WireDelivery::from).collect();
        out.write_all(&to_line(&Reply::Ok(some)))?;
    }
    out.write_all(&to_line(&Reply::Ok(Vec::<WireDelivery>::new())))?;
    out.flush()
}

fn malformed() -> Vec<u8> {
    let message = "the request about the ledger is malformed".into();
    to_line(&Reply::<()>::Err(ErrorMessage(message)))
}

fn failed(error: StoreError) -> Vec<u8> {
    to_line(&Reply::<()>::Err(error_message(error)))
}
