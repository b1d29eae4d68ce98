//! `landing mail-check`: finds out whether messages will arrive, before the first one is sent.
//!
//! - `dns`: the records that the domain of the sender needs.
//! - `source`: examines a message as it arrived.

mod dns;
mod source;

use std::{
    fs,
    io::{self, Read},
    path::PathBuf,
};

use anyhow::{Context, bail};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::{
    link_check::check_link_of_nobody,
    terminal::output::{OutputArgs, counted},
};
use crate::{
    config::{MailOptions, MailSettings, Origin},
    mail::{ConnectProgress, DkimSigner, SmtpClient, SmtpConnection, SmtpTimeouts},
};

#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  landing mail-check
  landing mail-check --source message.eml

The command connects to the mail server and logs in, asks the site whether its unsubscribe links work, and prints the \
DNS records that the domain of the sender needs. Then send a copy of your message to yourself with `landing send FILE --test`, \
open it in your mail program, save its source (\"Show original\"), and let --source examine it: it says whether the \
signature (DKIM) covers the headers for unsubscribing, which Gmail and Yahoo require.")]
pub(super) struct MailCheckArgs {
    /// Examine the source of a message that arrived, and nothing else; - is standard input
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// Public URL of the site, whose unsubscribe links are tried
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL")]
    origin: Option<Origin>,
    #[command(flatten)]
    output: OutputArgs,
    // The last one: its heading is that of all options that follow.
    #[command(flatten)]
    mail: MailOptions,
}

/// A finding.
#[derive(Serialize)]
pub(super) struct Finding {
    /// Whether it needs nothing to be done.
    ok: bool,
    text: String,
}

impl Finding {
    pub(super) fn ok(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: true, text }
    }

    pub(super) fn problem(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: false, text }
    }
}

/// What the command has found.
#[derive(Default, Serialize)]
struct Report {
    findings: Vec<Finding>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    dns_records: Vec<dns::Record>,
}

pub(super) fn run(args: &MailCheckArgs) -> anyhow::Result<()> {
    let mut report = Report::default();
    if let Some(file) = &args.source {
        report.findings = source::examine(&read_source(file)?);
        return finish(&report, &args.output);
    }
    let settings = args.mail.settings()?;
    let signer = DkimSigner::from_settings(&settings)?;
    let runtime = Runtime::new().context("cannot start the runtime")?;
    match connect(&settings, &runtime, &mut report) {
        Ok(connection) => runtime.block_on(connection.quit()),
        Err(error) => report.findings.push(Finding::problem(error)),
    }
    report.findings.push(match &args.origin {
        Some(origin) => try_links(origin, &runtime),
        None => Finding::problem("--origin is not set, so the unsubscribe links cannot be tried"),
    });
    if settings.postal_address.is_none() {
        report.findings.push(Finding::problem(
            "--postal-address is not set; some laws require it in messages to many people (CAN-SPAM, for example)",
        ));
    }
    report.dns_records = dns::records(&settings, signer.as_ref());
    finish(&report, &args.output)
}

fn read_source(file: &PathBuf) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if file.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes)?;
    } else {
        bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Connects, and notes each step.
fn connect(
    settings: &MailSettings,
    runtime: &Runtime,
    report: &mut Report,
) -> Result<SmtpConnection, String> {
    let client = SmtpClient::new(
        &settings.smtp,
        settings.from.domain(),
        SmtpTimeouts::default(),
    );
    let client = client.map_err(|error| error.to_string())?;
    let mut is_encrypted = false;
    let mut note = |progress: ConnectProgress| {
        report.findings.push(match progress {
            ConnectProgress::Connected(address) => {
                Finding::ok(format!("connected to {} ({address})", settings.smtp))
            }
            ConnectProgress::Encrypted(version) => {
                is_encrypted = true;
                let version = version.map(|version| format!("{version:?}").replace('_', "."));
                Finding::ok(format!(
                    "encrypted with {}; the certificate is valid",
                    version.unwrap_or_else(|| "TLS".into())
                ))
            }
            ConnectProgress::Greeted(reply) => Finding::ok(format!("the server says: {reply}")),
            ConnectProgress::LoggedIn => Finding::ok("logged in"),
        });
    };
    let connected = runtime.block_on(client.connect_with_progress(&mut note));
    let connection = connected.map_err(|error| error.to_string())?;
    if !is_encrypted {
        let text = "not encrypted, because the server is on this machine";
        report.findings.push(Finding::ok(text));
    }
    Ok(connection)
}

/// Asks the site whether its unsubscribe links work.
fn try_links(origin: &Origin, runtime: &Runtime) -> Finding {
    let site = origin.as_str();
    match runtime.block_on(check_link_of_nobody(origin)) {
        Ok(()) if site.starts_with("http:") => Finding::problem(format!(
            "the unsubscribe links of {site} work, but mail programs only use https: links"
        )),
        Ok(()) => Finding::ok(format!("the unsubscribe links of {site} work")),
        Err(error) => Finding::problem(format!(
            "the unsubscribe links of {site} do not work: {error:#}"
        )),
    }
}

/// Prints the report. Fails if something needs to be done.
fn finish(report: &Report, output: &OutputArgs) -> anyhow::Result<()> {
    output.print(report, |out| {
        for Finding { ok, text } in &report.findings {
            let mark = if *ok { "ok     " } else { "problem" };
            writeln!(out, "{mark}  {text}")?;
        }
        if !report.dns_records.is_empty() {
            writeln!(out, "\nThe sender's domain needs these DNS records:\n")?;
        }
        for dns::Record {
            name,
            kind,
            value,
            note,
        } in &report.dns_records
        {
            writeln!(out, "{name}  {kind}  {value}\n  {note}")?;
        }
        Ok(())
    })?;
    let problems = report.findings.iter().filter(|it| !it.ok).count();
    match problems as u64 {
        0 => Ok(()),
        count => bail!("{}, see above", counted(count, "problem", "problems")),
    }
}
