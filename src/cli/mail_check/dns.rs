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

/// Returns the records.
pub(super) fn records(settings: &MailSettings, signer: Option<&DkimSigner>) -> Vec<Record> {
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
