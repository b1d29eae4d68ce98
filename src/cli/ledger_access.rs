//! The ledger of an open list, as the commands use it. See [`Ledger`](crate::waitlist::Ledger) for what each method
//! does.

use std::{thread, time::Duration};

use super::{
    list_error::{ListError, LocatedListError},
    waitlist_handle::{OpenList, WaitlistHandle},
};
use crate::waitlist::{
    Delivery, DeliveryResult, DeliveryStart, Email, ListKey, Message, MessageId, StoreError,
    SuppressionItem,
};

impl WaitlistHandle {
    /// Returns the keys of the list. A list without a key gets one.
    pub(super) fn create_keys(&self) -> anyhow::Result<Vec<ListKey>> {
        let keys = self.keys()?;
        if !keys.is_empty() {
            return Ok(keys);
        }
        let key = ListKey::generate()?;
        self.add_suppressions(vec![SuppressionItem::Key(key)])?;
        Ok(self.keys()?)
    }

    pub(super) fn keys(&self) -> Result<Vec<ListKey>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                runtime.block_on(list.keys()).map_err(self.locate())
            }
            OpenList::Remote(client) => client.keys().map_err(self.locate()),
        }
    }

    pub(super) fn are_listed(&self, emails: &[Email]) -> Result<Vec<bool>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.are_listed(emails))
                .map_err(self.locate()),
            OpenList::Remote(client) => {
                while_restarting(|| client.are_listed(emails)).map_err(self.locate())
            }
        }
    }

    pub(super) fn messages(&self) -> Result<Vec<Message>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                runtime.block_on(list.messages()).map_err(self.locate())
            }
            OpenList::Remote(client) => client.messages().map_err(self.locate()),
        }
    }

    pub(super) fn add_message(&self, message: &Message) -> Result<(), LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.add_message(message.clone()))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.add_message(message).map_err(self.locate()),
        }
    }

    pub(super) fn deliveries(
        &self,
        message: &MessageId,
    ) -> Result<Vec<Delivery>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.deliveries(message))
                .map_err(self.locate()),
            OpenList::Remote(client) => client.deliveries(message).map_err(self.locate()),
        }
    }

    pub(super) fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> Result<bool, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.add_deliveries(message, known, deliveries))
                .map_err(self.locate()),
            OpenList::Remote(client) => client
                .add_deliveries(message, known, &deliveries)
                .map_err(self.locate()),
        }
    }

    pub(super) fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: &[DeliveryStart],
    ) -> Result<Vec<bool>, LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => runtime
                .block_on(list.begin_deliveries(message, deliveries.to_vec()))
                .map_err(self.locate()),
            OpenList::Remote(client) => client
                .begin_deliveries(message, deliveries)
                .map_err(self.locate()),
        }
    }

    /// Sets the results of deliveries. It tries again for a while if the store does not respond: a result that is lost
    /// would be unknown.
    pub(super) fn finish_deliveries(
        &self,
        message: &MessageId,
        results: &[DeliveryResult],
    ) -> Result<(), LocatedListError> {
        match &self.list {
            OpenList::Local { list, runtime, .. } => {
                let finish = || runtime.block_on(list.finish_deliveries(message, results.to_vec()));
                // A database that is restarting responds with errors.
                let may_pass = |error: &StoreError| {
                    use StoreError::{Busy, Database, TimedOut, Unreachable};
                    matches!(error, Busy | Database(_) | TimedOut | Unreachable)
                };
                again_for_a_while(finish, may_pass).map_err(self.locate())
            }
            OpenList::Remote(client) => {
                while_restarting(|| client.finish_deliveries(message, results))
                    .map_err(self.locate())
            }
        }
    }
}

/// Makes a call again for a while if it fails, because the server may be restarting.
fn while_restarting<T>(call: impl Fn() -> Result<T, ListError>) -> Result<T, ListError> {
    again_for_a_while(call, |_| true)
}

/// Makes a call again for a while if it fails with an error that may pass.
fn again_for_a_while<T, E>(
    call: impl Fn() -> Result<T, E>,
    may_pass: impl Fn(&E) -> bool,
) -> Result<T, E> {
    let mut result = call();
    for _ in 0..RETRIES_MAX {
        if !result.as_ref().is_err_and(&may_pass) {
            break;
        }
        thread::sleep(RESTART_INTERVAL);
        result = call();
    }
    result
}

/// How often a call is made again.
const RETRIES_MAX: usize = 5;
/// Pause before a call is made again. A server or a database restarts in a few seconds.
const RESTART_INTERVAL: Duration = Duration::from_secs(2);
