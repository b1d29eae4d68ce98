//! A message in Markdown: what the owner writes, and what it becomes for one person. Its text form is the Markdown itself, with
//! its placeholders filled.
//!
//! - `front_matter`: the lines before the message: its subject and its id.
//! - `placeholders`: the words in braces.
//! - `markdown`: turns the message into HTML, and rejects what an e-mail cannot have.
//! - `html`: the document around it.
//! - `error`: the problem of a message, and its line.

mod error;
mod front_matter;
mod html;
mod markdown;
mod placeholders;

use ring::digest::{SHA256, digest};

use crate::{copy, waitlist::MessageId};
use front_matter::FrontMatter;
use markdown::HtmlBody;

pub use error::{TemplateError, TemplateProblem};
pub use placeholders::Placeholders;

/// Maximum size of a file, in bytes. Some programs cut longer messages.
const TEMPLATE_MAX_BYTES: usize = 64 << 10;

/// Maximum size of a message in HTML, in bytes. Gmail cuts messages after 102 KB, and the way out is at the end.
const HTML_MAX_BYTES: usize = 100_000;

/// A placeholder, and what takes its place.
type Placeholder = (&'static str, fn(&Placeholders<'_>) -> String);

/// The placeholders. The name of the product comes last, so nothing in it is replaced.
const PLACEHOLDERS: [Placeholder; 4] = [
    (placeholders::POSITION, |it| it.position.to_string()),
    (placeholders::INVITE_LINK, |it| it.invite_link.to_owned()),
    (placeholders::UNSUBSCRIBE, |it| {
        it.unsubscribe.unwrap_or("").to_owned()
    }),
    ("{product}", |it| it.product.to_owned()),
];

/// A message in Markdown.
#[derive(Clone, Debug)]
pub struct Template {
    id: MessageId,
    subject: String,
    text_digest: [u8; 32],
    /// The Markdown.
    text: String,
    body: HtmlBody,
}

/// A message for one person.
#[derive(Clone, Eq, PartialEq)]
pub struct RenderedMessage {
    /// The subject.
    pub subject: String,
    /// The message as plain text, which is Markdown.
    pub text: String,
    /// The message as a document in HTML.
    pub html: String,
}

impl Template {
    /// Parses a message. Its id is in the front matter, or else it is the name of the file.
    ///
    /// # Errors
    /// [`TemplateError`] has the number of the line.
    pub fn parse(file_name: &str, text: &str) -> Result<Self, TemplateError> {
        if text.len() > TEMPLATE_MAX_BYTES {
            return Err(TemplateProblem::TooLong.at(1));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let FrontMatter {
            subject,
            id,
            body,
            body_line,
        } = front_matter::parse(text)?;
        let id = id.map_or_else(|| front_matter::id_from_name(file_name), Ok)?;
        // `send --dry-run` would write them to the terminal.
        let is_forbidden = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        if let Some(at) = body.find(is_forbidden) {
            let line = body_line + body[..at].matches('\n').count();
            return Err(TemplateProblem::Control.at(line));
        }
        Ok(Self {
            id,
            subject,
            text_digest: digest_text(body),
            text: body
                .replace("\r\n", "\n")
                .replace('\r', "\n")
                .trim()
                .to_owned(),
            body: markdown::to_html(body, body_line)?,
        })
    }

    /// Checks the size of a message.
    ///
    /// # Errors
    /// [`TemplateProblem::TooLongAsHtml`].
    pub fn check_size(message: &RenderedMessage) -> Result<(), TemplateProblem> {
        match message.html.len() {
            length if length > HTML_MAX_BYTES => Err(TemplateProblem::TooLongAsHtml(length)),
            _ => Ok(()),
        }
    }

    /// Returns the id.
    pub fn id(&self) -> &MessageId {
        &self.id
    }

    /// Returns whether the message has the person's position, which the list must be read for.
    pub fn has_position(&self) -> bool {
        // Only the HTML has one that is written as `\{position\}`.
        [&self.subject, &self.text, &self.body.html]
            .iter()
            .any(|text| text.contains(placeholders::POSITION))
    }

    /// Returns the subject, with its placeholders.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the SHA-256 of the text in Markdown. Programs save the same text with other line ends, and with other white
    /// space at the ends of lines and of the text, so they do not count.
    pub fn text_digest(&self) -> [u8; 32] {
        self.text_digest
    }

    /// Returns the message for one person.
    pub fn render(&self, values: &Placeholders<'_>) -> RenderedMessage {
        let subject = values.fill(&self.subject);
        let HtmlBody {
            html,
            has_unsubscribe_link,
        } = &self.body;
        let footer_link = values.unsubscribe.filter(|_| !has_unsubscribe_link);
        let mut footer = vec![values.reason()];
        footer.extend(values.postal_address.map(str::to_owned));
        let html = html::render(&subject, &values.fill_html(html), &footer, footer_link);
        // Markdown may write a placeholder in a way that only the HTML shows, such as `\{unsubscribe\}`.
        let has_link_in_text = self.text.contains(placeholders::UNSUBSCRIBE);
        let text_link = values.unsubscribe.filter(|_| !has_link_in_text);
        footer.extend(text_link.map(|url| format!("{}: {url}", copy::mail::UNSUBSCRIBE)));
        let text = values.fill(&self.text);
        RenderedMessage {
            // The mark before a signature, which many programs show in grey (RFC 3676, section 4.3).
            text: format!("{text}\n\n-- \n{}\n", footer.join("\n")),
            html,
            subject,
        }
    }
}

fn digest_text(text: &str) -> [u8; 32] {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let digest = digest(&SHA256, lines.join("\n").trim_matches('\n').as_bytes());
    let bytes = digest.as_ref().try_into();
    bytes.expect("SHA-256 has 32 bytes")
}
