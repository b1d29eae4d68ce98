//! Turns a rendered message into the bytes of an e-mail (RFC 5322), with lettre.

use std::{fmt::Display, time::SystemTime};

use lettre::{
    Message,
    message::{
        Mailbox, MessageBuilder, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
};

use super::{
    dkim::DkimSigner,
    template::{RenderedMessage, TemplateError},
};
use crate::{
    config::MailFrom,
    waitlist::{Email, ListKey},
};

/// What an e-mail has besides its text.
#[derive(Clone, Copy)]
pub struct MessageHeaders<'a> {
    /// The sender.
    pub from: &'a MailFrom,
    /// The recipient.
    pub to: &'a Email,
    /// The id of the e-mail, without angle brackets.
    pub message_id: &'a str,
    /// When it is sent.
    pub date: SystemTime,
    /// The host of the site, for `List-Id`.
    pub host: &'a str,
    /// The URL of the recipient's unsubscribe page, for one-click unsubscribing (RFC 8058).
    pub unsubscribe: Option<&'a str>,
    /// Signs the e-mail. Otherwise the mail server does.
    pub signer: Option<&'a DkimSigner>,
}

/// Why an e-mail cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ComposeError {
    /// The address of the recipient has a form that lettre rejects.
    #[error("the address cannot be written into an e-mail")]
    Address,
    /// The text of the message is malformed.
    #[error("the message cannot be written: {0}")]
    Template(#[from] TemplateError),
    /// The key cannot sign.
    #[error("cannot sign the message with the DKIM key: {0}")]
    Signing(#[from] tokio_rustls::rustls::Error),
    /// lettre rejects the message.
    #[error("the message cannot be written: {0}")]
    Message(#[from] lettre::error::Error),
}

/// Returns the bytes of an e-mail: plain text and HTML, in ASCII (quoted-printable), with lines that end with CRLF.
///
/// # Errors
/// [`ComposeError`].
pub fn compose(
    headers: &MessageHeaders<'_>,
    message: &RenderedMessage,
) -> Result<Vec<u8>, ComposeError> {
    let to = recipient_address(headers.to).parse();
    let to = Mailbox::new(None, to.map_err(|_| ComposeError::Address)?);
    // lettre would read the addresses from the headers, but does not understand quotation marks there.
    let (from, recipients) = (&headers.from.mailbox().email, vec![to.email.clone()]);
    let addresses = lettre::address::Envelope::new(Some(from.clone()), recipients)?;
    let builder = Message::builder()
        .envelope(addresses)
        .from(headers.from.mailbox().clone())
        .to(to)
        .subject(&message.subject)
        .date(headers.date)
        .message_id(Some(format!("<{}>", headers.message_id)));
    let mut fields = Vec::new();
    let mut add = |name, value: &str| fields.push(unfolded_header(name, value));
    if let Some(url) = headers.unsubscribe {
        add("List-Id", &format!("<waitlist.{}>", headers.host));
        add("List-Unsubscribe", &format!("<{url}>"));
        // RFC 8058, section 3.1: only for https.
        if url.starts_with("https:") {
            add("List-Unsubscribe-Post", "List-Unsubscribe=One-Click");
        }
    } else {
        // A program has sent it, so nobody's absence note is to reply to it (RFC 3834, section 5).
        add("Auto-Submitted", "auto-generated");
    }
    let builder = fields.into_iter().fold(builder, MessageBuilder::raw_header);
    let message = builder.multipart(
        MultiPart::alternative()
            .singlepart(quoted_printable(ContentType::TEXT_PLAIN, &message.text))
            .singlepart(quoted_printable(ContentType::TEXT_HTML, &message.html)),
    )?;
    let message = message.formatted();
    Ok(match headers.signer {
        Some(signer) => signer.sign(&message, headers.date)?,
        None => message,
    })
}

/// Returns a header in one line. A folded URL would not be one.
fn unfolded_header(name: &'static str, value: &str) -> HeaderValue {
    let name = HeaderName::new_from_ascii_str(name);
    HeaderValue::dangerous_new_pre_encoded(name, value.to_owned(), value.to_owned())
}

fn quoted_printable(content_type: ContentType, text: &str) -> SinglePart {
    use lettre::message::{Body, header::ContentTransferEncoding};
    // As bytes: lettre would look for line ends in a string once more, which takes as long as encoding it.
    let bytes = text.replace('\n', "\r\n").into_bytes();
    let body = Body::new_with_encoding(bytes, ContentTransferEncoding::QuotedPrintable);
    // It fails only for encodings that do not change the text.
    let body = body.unwrap_or_else(Body::new);
    SinglePart::builder().header(content_type).body(body)
}

/// Returns the id of a person's e-mail, without angle brackets. It is the same for each attempt, so that programs can
/// recognise an e-mail that arrives twice.
pub fn message_id(key: &ListKey, message: &impl Display, email: &Email, from: &MailFrom) -> String {
    let hash = key.hash(format!("{message}\n{}", email.key()));
    let bytes = hash.as_bytes().iter().map(|byte| u128::from(*byte));
    let number = bytes.fold(0, |number, byte| number << 8 | byte);
    format!("{number:032x}@{}", from.domain())
}

/// Returns the address of a recipient, as the person typed it, but with its domain in ASCII, and with quotation marks
/// around a local part that needs them (RFC 5321, section 4.1.2): some providers gave out addresses such as `.ann@…`.
pub fn recipient_address(email: &Email) -> String {
    let typed = email.as_typed();
    let Some((local, domain)) = typed.split_once('@') else {
        return typed.to_owned();
    };
    let domain = match domain.is_ascii() {
        true => domain.to_owned(),
        false => idna::domain_to_ascii(domain).unwrap_or_else(|_| domain.to_owned()),
    };
    match local.split('.').any(str::is_empty) {
        true => format!("\"{local}\"@{domain}"),
        false => format!("{local}@{domain}"),
    }
}
