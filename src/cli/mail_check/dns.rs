//! The DNS records that the domain of the sender needs.

use serde::Serialize;

use crate::{config::MailSettings, mail::DkimSigner};

/// A record.
#[derive(Serialize)]
pub(super) struct Record {
    pub(super) name: String,
    pub(super) kind: &'static str,
    pub(super) value: String,
    /// What it is for.
    pub(super) note: &'static str,
}

/// What the SPF record of a sender must include, by the end of the mail server's name. From the documentation of each
/// provider, November 2026.
const SPF_INCLUDES: [(&str, &str); 7] = [
    ("amazonaws.com", "include:amazonses.com"),
    ("sendgrid.net", "include:sendgrid.net"),
    ("mailgun.org", "include:mailgun.org"),
    ("postmarkapp.com", "include:spf.mtasv.net"),
    ("google.com", "include:_spf.google.com"),
    ("gmail.com", "include:_spf.google.com"),
    ("office365.com", "include:spf.protection.outlook.com"),
];

/// Returns the records.
pub(super) fn records(settings: &MailSettings, signer: Option<&DkimSigner>) -> Vec<Record> {
    let domain = settings.from.domain();
    let bounce_domain = settings.bounce_address.rsplit('@').next().unwrap_or(domain);
    let host = settings.smtp.host.to_ascii_lowercase();
    let include = SPF_INCLUDES.iter().find(|(end, _)| host.ends_with(end));
    let (include, spf_note) = match include {
        Some((_, include)) => (
            *include,
            "SPF: which servers may send for the domain. Add the include to a record that you have",
        ),
        None => (
            "a:THE-SERVER-THAT-DELIVERS",
            "SPF: which servers may send for the domain. Write what the provider of your mail server names",
        ),
    };
    vec![
        Record {
            name: bounce_domain.to_owned(),
            kind: "TXT",
            value: format!("\"v=spf1 {include} ~all\""),
            note: spf_note,
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
