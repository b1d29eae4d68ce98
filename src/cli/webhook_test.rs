//! `landing webhook-test`: sends an example to the webhook, and prints the response.

use std::time::Duration;

use anyhow::{Context, ensure};
use axum::body::Body;
use futures_util::StreamExt;
use tokio::time::timeout;

use super::{terminal::output::print_to_stdout, wait_for};
use crate::{
    config::{InvalidWebhookSetting, WebhookOptions},
    server::WebhookSender,
    waitlist::{Email, Event},
};

/// Maximum number of bytes of the response that are printed.
const REPLY_MAX_BYTES: usize = 2048;
/// Maximum time to read them.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing webhook-test --webhook https://hooks.example/landing

The event has the type person.test and the address ann@example.com. The list is neither read nor changed.")]
pub(super) struct WebhookTestArgs {
    #[command(flatten)]
    webhook: WebhookOptions,
}

pub(super) fn run(args: &WebhookTestArgs) -> anyhow::Result<()> {
    let settings = args.webhook.settings()?;
    let settings = settings.ok_or(InvalidWebhookSetting::NoUrl)?;
    let origin = settings.origin.clone();
    let sender = WebhookSender::new(settings)?;
    let example = Event::now("test", Email::parse("ann@example.com")?, None);
    let tested = wait_for(async {
        let response = sender.send(&example).await?;
        let status = response.status();
        anyhow::Ok((status, read_beginning(response.into_body()).await))
    });
    let (status, reply) = tested.with_context(|| format!("cannot send to {origin}"))?;
    print_to_stdout(|out| writeln!(out, "{origin} replies {status}\n{reply}"))?;
    ensure!(
        status.is_success(),
        "the webhook has not accepted the event; its response is above"
    );
    Ok(())
}

/// Reads the beginning of a body, as text that changes nothing on a terminal.
async fn read_beginning(body: Body) -> String {
    let first = timeout(REPLY_TIMEOUT, body.into_data_stream().next()).await;
    let first = first.ok().flatten().and_then(Result::ok);
    let first = first.unwrap_or_default();
    let text = String::from_utf8_lossy(&first[..first.len().min(REPLY_MAX_BYTES)]);
    let is_printable = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(is_printable).collect()
}
