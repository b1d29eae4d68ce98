//! `landing send`: sends a message to people on the list.
//!
//! - `recipients`: chooses the people, and finds their addresses.
//! - `outbox`: the messages that are waiting, shared by the connections.
//! - `message_writer`: writes the e-mail for each person.
//! - `sender`: sends over one connection.
//! - `brake`: stops a send that harms the sender's reputation.
//! - `pace`: the messages per second.
//! - `preview`: the first message as it would look.

mod brake;
mod message_writer;
mod outbox;
mod pace;
mod preview;
mod recipients;
mod sender;

use std::{
    fs,
    io::{self, BufRead, IsTerminal, Write},
    path::PathBuf,
    time::SystemTime,
};

use anyhow::{Context, anyhow, bail};
use serde_json::json;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use super::{
    address::parse_listed_address,
    selection::SelectionArgs,
    store_location::StoreArgs,
    terminal::{output::OutputArgs, progress::entry_progress, signals},
    waitlist_handle::WaitlistHandle,
};
use crate::{
    config::{ConfirmSwitch, InvalidMailSetting, MailOptions, Origin, number, parse_product_name},
    exit::print_stderr,
    mail::{
        DkimSigner, PersonTokens, SmtpClient, SmtpTimeouts, Template, TemplateError, TokenPurpose,
    },
    waitlist::{DeliveryState, Email, Message},
};
use message_writer::MessageWriter;
use outbox::{Outbox, Stop};
use recipients::{Audience, Plan, RecipientCriteria, Unconfirmed};
use sender::Sender;

#[derive(clap::Args)]
#[command(override_usage = "\
landing send [OPTIONS] <FILE> --next <N>
       landing send [OPTIONS] <FILE> --all
       landing send [OPTIONS] <FILE> --to <EMAIL>")]
#[command(after_help = "\
Examples:
  landing send open.md --next 100 --dry-run
  landing send open.md --next 100
  landing send open.md --to ann@example.com

FILE is Markdown with front matter:

  ---
  subject: {product} is ready for you
  ---
  You are number {position} on the list. [Create your account](https://steward.example/start).

The placeholders are {product}, {position} and {unsubscribe}. Every message ends with your postal address and a link \
to unsubscribe.

The list remembers who has had which message, by the message's id: that of the front matter, or the name of the file. \
Nobody gets the same message twice. An interrupted send is continued by the same command. A message of which nobody \
knows whether it was sent, because the connection broke at the last moment, is reported and not sent again, unless \
you ask for it.")]
pub(super) struct SendArgs {
    /// The message, in Markdown
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    recipients: RecipientArgs,
    /// Also send to people whose result is unknown; some may get the message twice
    #[arg(long)]
    resend_unknown: bool,
    /// Also send to people whose message the mail server refused, unless the mailbox does not exist
    #[arg(long)]
    resend_refused: bool,
    /// Print who would get the message, and the first one, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask before sending
    #[arg(long)]
    yes: bool,
    /// Do not wait to try deferred messages again
    #[arg(long)]
    no_wait: bool,
    /// Messages per second, at most; 0 removes the limit
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = number::<u32>(0..=10_000))]
    rate: u32,
    /// Connections to the mail server
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = number::<usize>(1..=64))]
    connections: usize,
    /// Name of the product
    #[arg(long, env = "LANDING_PRODUCT", value_name = "NAME", default_value = crate::copy::PRODUCT,
          value_parser = parse_product_name)]
    product: String,
    /// Public URL of the site, for the unsubscribe links
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL")]
    origin: Option<Origin>,
    #[command(flatten)]
    mail: MailOptions,
    #[command(flatten)]
    confirm: ConfirmSwitch,
    /// Send also to people who have not confirmed their address, although people are asked to
    #[arg(long)]
    include_unconfirmed: bool,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Who gets the message.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct RecipientArgs {
    /// The N people who have waited longest and have not had the message
    #[arg(long, value_name = "N", value_parser = number::<u32>(1..=u32::MAX.into()))]
    next: Option<u32>,
    /// Everybody who has not had the message
    #[arg(long)]
    all: bool,
    /// One person
    #[arg(
        long,
        value_name = "EMAIL",
        value_parser = parse_listed_address,
        conflicts_with_all = ["source", "domain", "since", "until", "confirmed", "unconfirmed"]
    )]
    to: Option<Email>,
}

impl RecipientArgs {
    fn audience(&self) -> Audience {
        match (&self.to, self.next) {
            (Some(email), _) => Audience::Person(email.clone()),
            (None, Some(count)) => Audience::Next(count as usize),
            (None, None) => Audience::All,
        }
    }
}

impl SendArgs {
    /// Returns the states of deliveries that are done, and are sent again all the same.
    fn resend(&self) -> Vec<DeliveryState> {
        let options = [
            (self.resend_unknown, DeliveryState::Unknown),
            (self.resend_refused, DeliveryState::Refused),
        ];
        let chosen = options.into_iter().filter(|(is_chosen, _)| *is_chosen);
        chosen.map(|(_, state)| state).collect()
    }
}

pub(super) fn run(args: &SendArgs) -> anyhow::Result<()> {
    let name = args.file.display().to_string();
    let text = fs::read(&args.file).with_context(|| format!("cannot read {name}"))?;
    let text =
        String::from_utf8(text).map_err(|_| anyhow!("{name} is not UTF-8; save it as UTF-8"))?;
    let template = Template::parse(&name, &text)
        .map_err(|TemplateError { line, problem }| anyhow!("{name}:{line}: {problem}"))?;
    if template.id().is_confirmation() {
        bail!(
            "{name}: the id {} is for messages that ask to confirm an address; choose another name",
            template.id()
        );
    }
    let settings = args.mail.settings()?;
    let signer = DkimSigner::from_settings(&settings)?;
    let origin = args.origin.as_ref();
    let origin = origin.ok_or(InvalidMailSetting::NoOrigin)?;
    if origin.as_str().starts_with("http:") {
        print_stderr(
            "warning: --origin is not https, so mail programs show no button to unsubscribe (RFC 8058)",
        );
    }
    let location = args.store.announce_location()?;
    let list = if args.dry_run {
        location.open_to_read()?
    } else {
        location.open()?
    };
    let keys = [list.key()?];
    let plan = Plan::build(
        &list,
        template.id(),
        &keys,
        &RecipientCriteria {
            audience: args.recipients.audience(),
            selection: args.selection.selection()?,
            unconfirmed: unconfirmed(args, &list)?,
            resend: args.resend(),
        },
    )?;
    let writer = MessageWriter {
        template: &template,
        settings: &settings,
        origin,
        product: &args.product,
        tokens: PersonTokens::new(&keys, TokenPurpose::Unsubscribe),
        key: keys.first().copied(),
        signer,
    };
    let longest = writer.render(plan.max_position(), &writer.sample_url());
    Template::check_size(&longest).map_err(|problem| anyhow!("{name}: {problem}"))?;
    if args.dry_run {
        return preview::print(&plan, &writer, &args.output);
    }
    if plan.is_empty() {
        args.output.print(&plan.to_json(), |out| {
            writeln!(out, "nobody to send to: {}", plan.why_empty())
        })?;
        return check_under_way(plan.under_way(), &template);
    }
    warn_of_other_subject(&list, &template)?;
    if !args.yes {
        confirm(&plan, &template, &location.to_string())?;
    }
    let hello_name = settings.from.domain();
    let client = SmtpClient::new(&settings.smtp, hello_name, SmtpTimeouts::default())?;
    // Before anything is recorded: a wrong password must not begin a message.
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let connection = runtime.block_on(client.connect());
    let connection = connection.with_context(|| format!("{}: nothing was sent", settings.smtp))?;
    runtime.block_on(connection.quit());
    list.add_message(&Message::new(
        template.id().clone(),
        SystemTime::now(),
        template.subject(),
    ))?;
    let (under_way, unknown) = (plan.under_way(), plan.unknown());
    let plan = plan.record(&list, template.id())?;
    let total = plan.len();
    let connections = args.connections.clamp(1, total.max(1));
    let outbox = Outbox::new(plan, connections, args.rate, !args.no_wait);
    let (interrupted, give_up) = (outbox.stop_handle(), CancellationToken::new());
    let given_up = give_up.clone();
    signals::on_interrupt_flag(move || {
        interrupted.stop(Stop::Interrupted);
        given_up.cancel();
        print_stderr("waiting for the results of the messages that are written; interrupt again to stop at once; their results will then be unknown");
    })
        .context("cannot handle signals")?;
    let bar = entry_progress(total as u64, "sending");
    let sender = Sender {
        list: &list,
        client: &client,
        writer: &writer,
        outbox: &outbox,
        connections,
        give_up,
        bar: &bar,
    };
    sender.send_all();
    bar.finish_and_clear();
    report(args, &outbox, &template)?;
    if unknown > 0 {
        print_stderr(&format!(
            "{unknown} earlier results are unknown, and were not sent again: --resend-unknown sends to them"
        ));
    }
    check_under_way(under_way, &template)
}

/// Fails if some messages were begun before this send, and have no result.
fn check_under_way(count: u64, template: &Template) -> anyhow::Result<()> {
    let id = template.id();
    match count {
        0 => Ok(()),
        count => bail!(
            "{count} begun by another command, or by one that was killed less than 20 minutes ago; run the command again \
             later. `landing messages {id}` lists them"
        ),
    }
}

/// Returns the people to leave out. People are asked to confirm their address if the option says so, or if a server has asked
/// somebody. So a command without the server's settings does not write to those who have not confirmed.
fn unconfirmed(args: &SendArgs, list: &WaitlistHandle) -> anyhow::Result<Unconfirmed> {
    if args.include_unconfirmed {
        return Ok(Unconfirmed::Include);
    }
    let messages = list.messages()?;
    let has_asked = messages.iter().any(|message| message.id.is_confirmation());
    Ok(match args.confirm.is_on() || has_asked {
        true => Unconfirmed::Exclude,
        false => Unconfirmed::ExcludeAsked,
    })
}

/// Warns if a message with this id but another subject was sent before: nobody who had that one gets this one.
fn warn_of_other_subject(list: &WaitlistHandle, template: &Template) -> anyhow::Result<()> {
    let messages = list.messages()?;
    let sent = Message::new(template.id().clone(), SystemTime::now(), template.subject());
    let other = messages
        .iter()
        .find(|it| it.id == sent.id && it.subject() != sent.subject());
    if let Some(other) = other {
        print_stderr(&format!(
            "warning: {} was begun with the subject {:?}; if this is another message, give it another id",
            other.id,
            other.subject()
        ));
    }
    Ok(())
}

/// Asks on the terminal.
fn confirm(plan: &Plan, template: &Template, location: &str) -> anyhow::Result<()> {
    if !io::stdin().is_terminal() {
        bail!(
            "standard input is not a terminal, so nobody can confirm; add --yes, or try --dry-run first"
        );
    }
    let mut stderr = io::stderr();
    write!(
        stderr,
        "Send {:?} ({}) to {} on the waitlist in {location}? [y/N] ",
        template.subject(),
        template.id(),
        plan.describe(),
    )?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    if !["y", "yes"].contains(&answer.trim().to_ascii_lowercase().as_str()) {
        bail!("nothing was sent");
    }
    Ok(())
}

/// Prints the results. Fails if some messages were not sent.
fn report(args: &SendArgs, outbox: &Outbox, template: &Template) -> anyhow::Result<()> {
    let counts = outbox.counts();
    let mut json = json!({ "message": template.id().as_str() });
    for (state, count) in counts.iter() {
        json[state.as_str()] = count.into();
    }
    args.output
        .print(&json, |out| writeln!(out, "{}", counts.describe()))?;
    let id = template.id();
    match outbox.stop() {
        Some(stop) => bail!("{stop}"),
        None if counts.get(DeliveryState::Sending) > 0 => {
            check_under_way(counts.get(DeliveryState::Sending), template)
        }
        None if counts.unfinished() > 0 => bail!(
            "{} not sent yet; run the command again in a while. `landing messages {id}` lists them",
            counts.unfinished()
        ),
        None => Ok(()),
    }
}
