//! `landing send --test`: sends a copy to any address. The ledger knows nothing of it.

use anyhow::{Context, bail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    cli::{terminal::output::OutputArgs, wait_for},
    mail::{Mailer, MessageWriter, SmtpClient},
    waitlist::{DeliveryState, Email, ListKey},
};

pub(super) fn send(
    writer: &MessageWriter<'_>,
    key: &ListKey,
    client: &SmtpClient,
    to: &Email,
    output: &OutputArgs,
) -> anyhow::Result<()> {
    let message = writer.write_copy(key, to)?;
    let server = &writer.settings.smtp;
    let mut mailer = Mailer::new(
        client,
        &writer.settings.bounce_address,
        CancellationToken::new(),
    );
    let sent = wait_for(async {
        mailer.connect().await?;
        let sent = mailer.send(to, &message.bytes, &message.secrets);
        let sent = sent.await;
        mailer.quit().await;
        sent
    });
    let sent = sent.with_context(|| format!("{server}: nothing was sent"))?;
    let status = sent.context("the mail server closed the connection")?;
    let reply = status.reply.map(|it| it.to_string());
    let reply = reply.unwrap_or_else(|| "the connection broke before the reply".to_owned());
    let state = status.state.as_str();
    if status.state != DeliveryState::Accepted {
        bail!(
            "{server}: the copy for {} is {state}: {reply}",
            to.as_typed()
        );
    }
    let json = json!({ "email": to.as_typed(), "state": state, "reply": reply });
    output.print(&json, |out| {
        writeln!(
            out,
            "a copy was sent to {}: {reply}; the list does not count it",
            to.as_typed()
        )
    })
}
