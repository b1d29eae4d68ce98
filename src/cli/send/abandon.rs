//! `landing send --abandon`: gives up the people who still wait for a message.

use std::time::SystemTime;

use anyhow::bail;
use serde_json::json;

use crate::{
    cli::{terminal::output::OutputArgs, waitlist_handle::WaitlistHandle},
    waitlist::{
        CALL_MAX, DeliveryResult, DeliveryStart, DeliveryState, DeliveryStatus, MessageId,
        StoreError,
    },
};

/// Gives up the people who were chosen by an interrupted send, and those whose message was deferred.
pub(super) fn abandon(
    list: &WaitlistHandle,
    id: &MessageId,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    if list.messages()?.iter().all(|message| message.id != *id) {
        bail!("no message {id} was sent; `landing messages` lists those that were");
    }
    let deliveries = list.deliveries(id)?;
    let starts: Vec<_> = (0..)
        .zip(&deliveries)
        .map(|(number, it)| it.start(number))
        .filter(|it| matches!(it.state, DeliveryState::Waiting | DeliveryState::Deferred))
        .collect();
    for starts in starts.chunks(CALL_MAX) {
        let results: Vec<_> = starts
            .iter()
            .map(|start| DeliveryResult {
                // Not a new attempt: if this is killed halfway, nobody's message is unknown.
                attempt: start.attempts,
                ..start.result(DeliveryStatus {
                    since: Some(SystemTime::now()),
                    ..DeliveryStatus::new(DeliveryState::Skipped)
                })
            })
            .collect();
        list.call(|list| {
            let finished = list.finish_deliveries(id, results);
            Box::pin(async {
                match finished.await {
                    // Another command has begun some of them since.
                    Err(StoreError::Superseded) => Ok(()),
                    finished => finished,
                }
            })
        })?;
    }
    let after = list.deliveries(id)?;
    let is_skipped = |it: &&DeliveryStart| {
        let delivery = after.get(it.number as usize);
        delivery.is_some_and(|it| it.status.state == DeliveryState::Skipped)
    };
    let abandoned = starts.iter().filter(is_skipped).count();
    let json = json!({ "message": id.as_str(), "abandoned": abandoned });
    output.print(&json, |out| writeln!(out, "{abandoned} given up"))
}
