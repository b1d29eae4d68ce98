//! The command's side of the control socket, for the ledger. See [`Ledger`](crate::waitlist::Ledger) for what each
//! method does. All of them return [`ListError`] if the server does not respond, or rejects the request.

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};

use super::{
    ControlClient,
    ledger_protocol::{
        DELIVERIES_BATCH_SIZE, LedgerCommand, WireDelivery, WireMessage, WireResult, WireStart,
    },
    protocol::Command,
};
use crate::{
    cli::list_error::ListError,
    waitlist::{Delivery, DeliveryResult, DeliveryStart, Email, ListKey, Message, MessageId},
};

impl ControlClient {
    pub(crate) fn keys(&self) -> Result<Vec<ListKey>, ListError> {
        let keys: Vec<String> = self
            .send_command(Command::Ledger(LedgerCommand::Keys))?
            .read()?;
        let keys = keys.iter().filter_map(|key| BASE64.decode(key).ok());
        Ok(keys.filter_map(|key| ListKey::from_slice(&key)).collect())
    }

    pub(crate) fn are_listed(&self, emails: &[Email]) -> Result<Vec<bool>, ListError> {
        self.send_addresses(emails, |addresses| {
            Command::Ledger(LedgerCommand::AreListed(addresses))
        })
    }

    pub(crate) fn messages(&self) -> Result<Vec<Message>, ListError> {
        let command = Command::Ledger(LedgerCommand::Messages);
        let messages: Vec<WireMessage> = self.send_command(command)?.read()?;
        Ok(messages
            .into_iter()
            .filter_map(WireMessage::parse)
            .collect())
    }

    pub(crate) fn add_message(&self, message: &Message) -> Result<(), ListError> {
        let command = LedgerCommand::AddMessage(WireMessage::from(message));
        self.send_command(Command::Ledger(command))?.read()
    }

    pub(crate) fn deliveries(&self, message: &MessageId) -> Result<Vec<Delivery>, ListError> {
        let command = LedgerCommand::Deliveries(message.to_string());
        let mut replies = self.send_command(Command::Ledger(command))?;
        let mut deliveries = Vec::new();
        loop {
            let batch: Vec<WireDelivery> = replies.read()?;
            if batch.is_empty() {
                return Ok(deliveries);
            }
            deliveries.extend(batch.into_iter().filter_map(WireDelivery::parse));
        }
    }

    pub(crate) fn add_deliveries(
        &self,
        message: &MessageId,
        mut known: u32,
        deliveries: &[Delivery],
    ) -> Result<bool, ListError> {
        for some in deliveries.chunks(DELIVERIES_BATCH_SIZE) {
            let command = LedgerCommand::Add {
                message: message.to_string(),
                known,
                deliveries: some.iter().map(WireDelivery::from).collect(),
            };
            if !self.send_command(Command::Ledger(command))?.read()? {
                return Ok(false);
            }
            known += some.len() as u32;
        }
        Ok(true)
    }

    pub(crate) fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: &[DeliveryStart],
    ) -> Result<Vec<bool>, ListError> {
        let command = LedgerCommand::Begin {
            message: message.to_string(),
            deliveries: deliveries.iter().map(WireStart::from).collect(),
        };
        self.send_command(Command::Ledger(command))?.read()
    }

    pub(crate) fn finish_deliveries(
        &self,
        message: &MessageId,
        results: &[DeliveryResult],
    ) -> Result<(), ListError> {
        let command = LedgerCommand::Finish {
            message: message.to_string(),
            results: results.iter().map(WireResult::from).collect(),
        };
        self.send_command(Command::Ledger(command))?.read()
    }
}
