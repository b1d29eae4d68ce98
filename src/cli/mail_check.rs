//! `landing mail-check`: finds out whether messages will arrive, before the first one is sent.

use anyhow::bail;
use serde::Serialize;

use super::{
    link_check::check_link_of_nobody,
    terminal::output::{OutputArgs, counted},
    wait_for,
};
use crate::{
    config::{MailOptions, MailSettings, Origin},
    mail::{DkimSigner, SmtpClient, SmtpTimeouts},
};

#[derive(clap::Args)]
#[command(after_help = "\
Example: landing mail-check --origin https://steward.example

The command connects to the mail server and logs in, asks the site whether its unsubscribe links work, and prints the \
DNS records that the domain of the sender needs. Then send a copy of your message to yourself with `landing send FILE --test`, \
and look at its source: docs/mail.md says what it must have.")]
pub(super) struct MailCheckArgs {
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
struct Finding {
    /// Whether it needs nothing to be done.
    ok: bool,
    text: String,
}

impl Finding {
    fn ok(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: true, text }
    }

    fn problem(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: false, text }
    }
}

/// What the command has found.
#[derive(Default, Serialize)]
struct Report {
    findings: Vec<Finding>,
    dns_records: Vec<Record>,
}

pub(super) fn run(args: &MailCheckArgs) -> anyhow::Result<()> {
    let mut report = Report::default();
    let settings = args.mail.settings()?;
    let signer = DkimSigner::from_settings(&settings)?;
    if let Err(error) = wait_for(connect(&settings, &mut report)) {
        report.findings.push(Finding::problem(error.to_string()));
    }
    report.findings.push(match &args.origin {
        Some(origin) => try_links(origin),
        None => Finding::problem("--origin is not set, so the unsubscribe links cannot be tried"),
    });
    if settings.postal_address.is_none() {
        report.findings.push(Finding::problem(
            "--postal-address is not set; some laws require it in messages to many people (CAN-SPAM, for example)",
        ));
    }
    report.dns_records = records(&settings, signer.as_ref());
    finish(&report, &args.output)
}

/// Connects, and notes what that has found.
async fn connect(settings: &MailSettings, report: &mut Report) -> anyhow::Result<()> {
    let (smtp, host) = (&settings.smtp, settings.from.domain());
    let client = SmtpClient::new(smtp, host, SmtpTimeouts::default())?;
    let connection = client.connect().await?;
    let info = connection.info.clone();
    let encryption = match info.encryption {
        Some(version) => {
            let version = format!("{version:?}").replace('_', ".");
            format!("encrypted with {version}; the certificate is valid")
        }
        None => "not encrypted, because the server is on this machine".to_owned(),
    };
    let mut note = |text| report.findings.push(Finding::ok(text));
    note(format!("connected to {smtp} ({})", info.address));
    note(encryption);
    note(format!("the server says: {}", info.greeting));
    if smtp.credentials.is_some() {
        note("logged in".to_owned());
    }
    connection.quit().await;
    Ok(())
}

/// Asks the site whether its unsubscribe links work.
fn try_links(origin: &Origin) -> Finding {
    let site = origin.as_str();
    match wait_for(check_link_of_nobody(origin)) {
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
        writeln!(out, "\nThe sender's domain needs these DNS records:\n")?;
        for Record {
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

/// A DNS record.
#[derive(Serialize)]
struct Record {
    name: String,
    kind: &'static str,
    value: String,
    /// What it is for.
    note: &'static str,
}

/// Returns the DNS records that the domain of the sender needs.
fn records(settings: &MailSettings, signer: Option<&DkimSigner>) -> Vec<Record> {
    let domain = settings.from.domain();
    let bounce_domain = settings.bounce_address.rsplit('@').next().unwrap_or(domain);
    vec![
        Record {
            name: bounce_domain.to_owned(),
            kind: "TXT",
            value: "\"v=spf1 a:THE-SERVER-THAT-DELIVERS ~all\"".to_owned(),
            note: "SPF: which servers may send for the domain. Write what the provider of your mail server names",
        },
        match signer {
            Some(signer) => Record {
                name: signer.record_name(),
                kind: "TXT",
                value: signer.record_value(),
                note: "DKIM: the key of the signature, from --dkim-key",
            },
            None => Record {
                name: format!("SELECTOR._domainkey.{domain}"),
                kind: "TXT",
                value: "\"v=DKIM1; k=rsa; p=PUBLIC-KEY\"".to_owned(),
                note: "DKIM: the key of the signature. The provider of your mail server signs, and names the record",
            },
        },
        Record {
            name: format!("_dmarc.{domain}"),
            kind: "TXT",
            value: format!(
                "\"v=DMARC1; p=none; rua=mailto:{}\"",
                settings.bounce_address
            ),
            note: "DMARC: what happens to mail that fails both. Gmail and Yahoo require the record for bulk mail",
        },
    ]
}
