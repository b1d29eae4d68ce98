//! Signs messages with DKIM (RFC 6376), with the algorithm `rsa-sha256` and the forms `relaxed/simple`.
//!
//! rustls signs, with ring, which it has for TLS. lettre's own `dkim` needs the `rsa` crate, whose timing reveals keys
//! (RUSTSEC-2023-0071); mail-auth needs a resolver and AWS-LC. This file brings the header into the form that is signed.

use std::{fs, path::Path, sync::Arc, time::SystemTime};

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use ring::digest::{SHA256, digest};
use tokio_rustls::rustls::{
    Error, SignatureScheme,
    crypto::ring::sign::RsaSigningKey,
    pki_types::{PrivateKeyDer, pem::PemObject},
    sign::SigningKey,
};

use super::setup_error::{DkimKeyError, MailSetupError};
use crate::{
    config::{DkimSettings, MailSettings},
    waitlist::unix_seconds,
};

/// The header fields that are signed, if the message has them (RFC 6376, section 5.4.1; RFC 8058, section 4).
const SIGNED_FIELDS: [&str; 12] = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "Auto-Submitted",
    "List-Id",
    "List-Unsubscribe",
    "List-Unsubscribe-Post",
];

/// Length of a line of the signature, in characters.
const SIGNATURE_LINE: usize = 72;

/// Maximum length of a string in a TXT record, in bytes. A longer value has several strings (RFC 1035, section 3.3.14).
const DNS_STRING_MAX: usize = 255;

/// Signs messages. Its `Debug` shows no key: rustls has none there.
#[derive(Clone, Debug)]
pub struct DkimSigner {
    key: Arc<RsaSigningKey>,
    domain: String,
    selector: String,
}

impl DkimSigner {
    /// Reads the key of the settings, if they have one.
    ///
    /// # Errors
    /// [`MailSetupError::DkimKey`].
    pub fn from_settings(settings: &MailSettings) -> Result<Option<Self>, MailSetupError> {
        let Some(DkimSettings {
            key: file,
            selector,
        }) = &settings.dkim
        else {
            return Ok(None);
        };
        let key = load_key(file).map_err(|error| MailSetupError::DkimKey {
            file: file.clone(),
            error,
        })?;
        Ok(Some(Self {
            key: Arc::new(key),
            domain: settings.from.domain().to_owned(),
            selector: selector.clone(),
        }))
    }

    /// Returns the name of the TXT record in the DNS that has the public key.
    pub fn record_name(&self) -> String {
        format!("{}._domainkey.{}", self.selector, self.domain)
    }

    /// Returns the value of that record, in quoted strings.
    pub fn record_value(&self) -> String {
        let key = self.key.public_key();
        let key = key.as_ref().map_or(&[][..], |key| key.as_ref());
        let value = format!("v=DKIM1; k=rsa; p={}", BASE64.encode(key));
        let strings = value.as_bytes().chunks(DNS_STRING_MAX);
        let quoted = strings.map(|it| format!("\"{}\"", String::from_utf8_lossy(it)));
        quoted.collect::<Vec<_>>().join(" ")
    }

    /// Returns a message with a signature in front. All its lines end with CRLF.
    ///
    /// # Errors
    /// If the key cannot sign.
    pub fn sign(&self, message: &[u8], date: SystemTime) -> Result<Vec<u8>, Error> {
        let text = String::from_utf8_lossy(message);
        let (header, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let fields = unfold(header);
        // Each field that is there, and `From` once more, so that nobody can add another one.
        let mut names = vec!["From"];
        let mut signed = String::new();
        for name in SIGNED_FIELDS {
            let found = fields.iter().find(|(it, _)| it.eq_ignore_ascii_case(name));
            if let Some((name_found, value)) = found {
                names.push(name);
                signed += &format!("{}\r\n", relaxed(name_found, value));
            }
        }
        // The simple form of a body: without empty lines at its end.
        let body = format!("{}\r\n", body.trim_end_matches("\r\n"));
        let body_hash = digest(&SHA256, body.as_bytes());
        let unsigned = format!(
            " v=1; a=rsa-sha256; c=relaxed/simple; d={}; s={};\r\n\t\
             t={}; h={};\r\n\tbh={};\r\n\tb=",
            self.domain,
            self.selector,
            unix_seconds(date),
            names.join(":\r\n\t "),
            BASE64.encode(body_hash),
        );
        const NAME: &str = "DKIM-Signature";
        signed += &relaxed(NAME, &unsigned);
        let signer = self.key.choose_scheme(&[SignatureScheme::RSA_PKCS1_SHA256]);
        let no_scheme = || Error::General("it is not an RSA key".into());
        let signature = signer.ok_or_else(no_scheme)?.sign(signed.as_bytes())?;
        let signature = BASE64.encode(signature);
        let lines = signature.as_bytes().chunks(SIGNATURE_LINE);
        let lines: Vec<_> = lines.map(String::from_utf8_lossy).collect();
        let mut output = format!("{NAME}:{unsigned}{}\r\n", lines.join("\r\n\t")).into_bytes();
        output.extend_from_slice(message);
        Ok(output)
    }
}

/// Reads a key from a PEM file (PKCS#1 or PKCS#8).
fn load_key(file: &Path) -> Result<RsaSigningKey, DkimKeyError> {
    let pem = fs::read(file)?;
    // `ENCRYPTED PRIVATE KEY` in PKCS#8, and `Proc-Type: 4,ENCRYPTED` in PKCS#1.
    if String::from_utf8_lossy(&pem).contains("ENCRYPTED") {
        return Err(DkimKeyError::Encrypted);
    }
    let key = PrivateKeyDer::from_pem_slice(&pem).map_err(|_| DkimKeyError::NoRsaKey)?;
    RsaSigningKey::new(&key).map_err(|_| DkimKeyError::NoRsaKey)
}

/// Returns the fields of a header, each in one line.
fn unfold(header: &str) -> Vec<(&str, String)> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for line in header.split("\r\n") {
        match (line.starts_with([' ', '\t']), fields.last_mut()) {
            (true, Some((_, value))) => *value += line,
            _ => fields.extend(
                line.split_once(':')
                    .map(|(name, value)| (name, value.to_owned())),
            ),
        }
    }
    fields
}

/// Returns the relaxed form of a field (RFC 6376, section 3.4.2), without the line break at its end.
fn relaxed(name: &str, value: &str) -> String {
    let words: Vec<_> = value.split_ascii_whitespace().collect();
    format!("{}:{}", name.to_ascii_lowercase(), words.join(" "))
}
