//! `landing send`: sends a message to people on the list.
//!
//! - `args`: the options.
//! - `identity`: whether a message is the one that a file name or a subject suggests.
//! - `recipients`: chooses the people, and finds their addresses. `plan`: the result.
//! - `preview`: the first e-mail as it would look.
//! - `test_copy`: sends a copy to any address. `abandon`: gives up the rest of an interrupted send.
//! - `sender`: sends the messages.
//! - `brake`: stops a send that harms the sender's reputation.

mod abandon;
mod args;
mod brake;
mod identity;
mod plan;
mod preview;
mod recipients;
mod sender;
mod test_copy;

use anyhow::{Context, anyhow, bail};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    delivery_counts::DeliveryCounts,
    link_check::check_link_of,
    terminal::{
        question::{ask, can_ask},
        signals,
    },
    wait_for,
    waitlist_handle::WaitlistHandle,
};
use crate::{
    exit::print_stderr,
    mail::{DkimSigner, MessageWriter, SmtpClient, SmtpTimeouts, Template},
    waitlist::{DeliveryState, ListKey, MessageId},
};
use plan::{Plan, Recipient, SkipReason};
use sender::Sender;

pub(in crate::cli) use args::SendArgs;
pub(in crate::cli) use identity::read_template;

pub(super) fn run(args: &SendArgs) -> anyhow::Result<()> {
    let template = read_template(&args.file)?;
    let location = args.common.store.announce_location()?;
    if args.recipients.abandon {
        return abandon::abandon(&location.open()?, template.id(), &args.common.output);
    }
    let settings = args.mail.settings()?;
    let signer = DkimSigner::from_settings(&settings)?;
    let origin = args.origin()?;
    let list = location.open()?;
    let key = list.list_key()?;
    let writer = MessageWriter {
        template: &template,
        id: template.id().clone(),
        settings: &settings,
        origin,
        product: &args.product,
        signer: signer.as_ref(),
    };
    let (smtp, host) = (&settings.smtp, settings.from.domain());
    let client = || SmtpClient::new(smtp, host, SmtpTimeouts::default());
    let check_size = |max_position| {
        let checked = writer.check_size(max_position);
        checked.map_err(|problem| anyhow!("{}: {problem}", args.file.display()))
    };
    if let Some(to) = &args.recipients.test {
        check_size(1)?;
        return test_copy::send(&writer, &key, &client()?, to, &args.common.output);
    }
    identity::check(&list, &template, args.new_message)?;
    let plan = recipients::choose(&list, template.id(), key, args)?;
    check_size(plan.max_position())?;
    if args.dry_run || plan.recipients.is_empty() {
        preview::print(&plan, &writer, &args.common.output)?;
        return match args.dry_run {
            true => Ok(()),
            false => check_results(&DeliveryCounts::default(), None, &plan, template.id()),
        };
    }
    plan.print_notes();
    if !args.yes {
        confirm(&plan, &template, &location.to_string())?;
    }
    let client = client()?;
    check_connections(args, &writer, &key, &client, &plan)?;
    send(args, &list, &writer, key, &client, plan)
}

/// Checks the site and the mail server before anything is recorded: a wrong password must not begin a message.
fn check_connections(
    args: &SendArgs,
    writer: &MessageWriter<'_>,
    key: &ListKey,
    client: &SmtpClient,
    plan: &Plan,
) -> anyhow::Result<()> {
    let email = plan.people().find_map(Recipient::email);
    let link = email.map(|email| (email, writer.unsubscribe_url(key, email)));
    if let (Some((email, url)), false) = (link, args.skip_link_check) {
        let checked = wait_for(check_link_of(email, &url));
        checked.with_context(|| {
            format!(
                "nothing was sent, because the unsubscribe links would not work (--skip-link-check skips this check): \
                 {}/unsubscribe/…",
                writer.origin.as_str()
            )
        })?;
    }
    let connection = wait_for(client.connect());
    let connection =
        connection.with_context(|| format!("{}: nothing was sent", writer.settings.smtp))?;
    wait_for(connection.quit());
    Ok(())
}

/// Sends the messages, and prints the results.
fn send(
    args: &SendArgs,
    list: &WaitlistHandle,
    writer: &MessageWriter<'_>,
    key: ListKey,
    client: &SmtpClient,
    mut plan: Plan,
) -> anyhow::Result<()> {
    let id = &writer.id;
    let mut json = preview::to_json(&plan, writer);
    list.call(|list| list.add_message(identity::message(writer.template)))?;
    let recipients = plan.record(list, id)?;
    let give_up = CancellationToken::new();
    let given_up = give_up.clone();
    signals::on_interrupt(move || {
        if given_up.is_cancelled() {
            return Some("interrupted again; the message under way is unknown".to_owned());
        }
        given_up.cancel();
        print_stderr("waiting for the result of the message that is written; interrupt again to stop at once; its result will then be unknown");
        None
    })
    .context("cannot handle signals")?;
    let sender = Sender::new(list, writer, key, client, args.rate, give_up);
    let (counts, stop) = sender.send_all(&recipients);
    json["results"] = json!(counts);
    args.common
        .output
        .print(&json, |out| writeln!(out, "{}", counts.describe()))?;
    check_results(&counts, stop, &plan, id)
}

/// Fails if the send has stopped, or if somebody may not have got the message.
fn check_results(
    counts: &DeliveryCounts,
    stop: Option<String>,
    plan: &Plan,
    id: &MessageId,
) -> anyhow::Result<()> {
    let mut problems: Vec<_> = stop.into_iter().collect();
    let cases = [
        (
            counts.get(DeliveryState::Sending) + plan.skipped.get(SkipReason::UnderWay),
            "begun by another command, or by one that was killed less than 20 minutes ago: run the command again later",
        ),
        (
            counts.get(DeliveryState::Unknown),
            "unknown: the connection broke, and they may have the message; --resend-unknown sends it to them again",
        ),
        (
            counts.get(DeliveryState::Waiting) + counts.get(DeliveryState::Deferred),
            "not sent yet: --continue sends to them, and --abandon gives them up",
        ),
    ];
    let cases = cases.into_iter().filter(|(count, _)| *count > 0);
    problems.extend(cases.map(|(count, text)| format!("{count} {text}")));
    if problems.is_empty() {
        return Ok(());
    }
    bail!(
        "{}. `landing messages {id}` lists them",
        problems.join("; ")
    )
}

/// Asks on the terminal.
fn confirm(plan: &Plan, template: &Template, location: &str) -> anyhow::Result<()> {
    if !can_ask() {
        bail!("there is no terminal to ask on; add --yes, or try --dry-run first");
    }
    let question = format!(
        "Send {:?} ({}) to {} on the waitlist in {location}?",
        template.subject(),
        template.id(),
        plan.describe(),
    );
    if ask(&question, "yn").context("nothing was sent")? != 'y' {
        bail!("nothing was sent");
    }
    Ok(())
}
