//! A message in Markdown: what the owner writes, and what it becomes for one person.
//!
//! - `front_matter`: the lines before the message: its subject and its id.
//! - `placeholders`: the words in braces.
//! - `markdown`: parses the message, and rejects what an e-mail cannot have.
//! - `html`, `text`: the two forms of the message.
//! - `error`: the problem of a message, and its line.

mod error;
mod front_matter;
mod html;
mod markdown;
mod placeholders;
mod text;

use pulldown_cmark::Event;
use ring::digest::{SHA256, digest};

use crate::waitlist::MessageId;
use front_matter::FrontMatter;

pub use error::{TemplateError, TemplateProblem};
pub use placeholders::{Footer, Placeholders};

/// Maximum size of a message in Markdown, in bytes. No text that fits into [`HTML_MAX_BYTES`] is longer.
const TEMPLATE_MAX_BYTES: usize = 64 << 10;

/// Maximum size of a message in HTML, in bytes. Gmail cuts messages after 102 KB, and the way out is at the end.
const HTML_MAX_BYTES: usize = 100_000;

/// A message in Markdown.
#[derive(Clone, Debug)]
pub struct Template {
    id: MessageId,
    subject: String,
    text_digest: [u8; 32],
    events: Vec<Event<'static>>,
    has_unsubscribe_link: bool,
}

/// A message for one person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RenderedMessage {
    /// The subject.
    pub subject: String,
    /// The message as plain text.
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
            return Err(TemplateProblem::TooLong(TEMPLATE_MAX_BYTES).at(1));
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
        let events = markdown::parse(body, body_line)?;
        // As an entity, such as `&#1;`.
        let is_hidden = |c: char| c.is_control() && !matches!(c, '\t' | '\n');
        let has_hidden = |event: &Event<'_>| match event {
            Event::Text(text) | Event::Code(text) => text.contains(is_hidden),
            _ => false,
        };
        if events.iter().any(has_hidden) {
            let at = body
                .find("&#")
                .or_else(|| body.find(is_hidden))
                .unwrap_or(0);
            return Err(TemplateProblem::Control.at(body_line + body[..at].matches('\n').count()));
        }
        let is_visible = |event: &Event<'_>| matches!(event, Event::Text(_) | Event::Code(_));
        if !events.iter().any(is_visible) {
            return Err(TemplateProblem::Empty.at(body_line));
        }
        let has_unsubscribe_link = events.iter().any(markdown::has_unsubscribe_link);
        Ok(Self {
            id,
            subject,
            text_digest: digest_text(body),
            events,
            has_unsubscribe_link,
        })
    }

    /// Checks the size of a message.
    ///
    /// # Errors
    /// [`TemplateProblem::TooLongAsHtml`].
    pub fn check_size(message: &RenderedMessage) -> Result<(), TemplateProblem> {
        let (found, max) = (message.html.len(), HTML_MAX_BYTES);
        if found > max {
            return Err(TemplateProblem::TooLongAsHtml { found, max });
        }
        Ok(())
    }

    /// Returns the id.
    pub fn id(&self) -> &MessageId {
        &self.id
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
        let events: Vec<_> = self
            .events
            .iter()
            .map(|event| markdown::fill(event, values))
            .collect();
        let link_in_footer = values.footer == Footer::Subscriber && !self.has_unsubscribe_link;
        RenderedMessage {
            html: html::render(&subject, &events, values, link_in_footer),
            text: text::render(&events, values, link_in_footer),
            subject,
        }
    }
}

fn digest_text(text: &str) -> [u8; 32] {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    let digest = digest(&SHA256, lines.join("\n").trim_matches('\n').as_bytes());
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest.as_ref());
    bytes
}
