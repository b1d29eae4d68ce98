//! The problems of a message.

use super::{HTML_MAX_BYTES, PLACEHOLDERS, TEMPLATE_MAX_BYTES};

/// A message that cannot be sent.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TemplateError {
    /// The line, from 1.
    pub line: usize,
    /// The problem.
    pub problem: TemplateProblem,
}

/// A problem in a line of a message.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TemplateProblem {
    /// The file does not begin with front matter.
    #[error(
        "the front matter is missing; begin the file with three lines: ---, subject: …, and ---"
    )]
    NoFrontMatter,
    /// The front matter does not end.
    #[error("the front matter does not end; write --- after it")]
    UnclosedFrontMatter,
    /// A line of the front matter is not a key and a value.
    #[error("expected a key and a value in the front matter, such as subject: We are open")]
    NotAKey,
    /// The front matter has another key.
    #[error("unknown key {0:?} in the front matter; the keys are subject and id")]
    UnknownKey(String),
    /// The front matter has a key twice.
    #[error("the front matter has {0} twice; remove one")]
    DuplicateKey(String),
    /// The front matter has no subject.
    #[error("the subject is missing; write it in the front matter, as subject: We are open")]
    NoSubject,
    /// The id is invalid.
    #[error("invalid id {0:?}: an id has 1 to 64 lower-case letters (a-z), digits and hyphens")]
    Id(String),
    /// The name of the file gives no id.
    #[error("the name of the file gives no id; write one in the front matter, as id: launch")]
    NoId,
    /// The message is empty.
    #[error("the message is empty; write it after the front matter")]
    Empty,
    /// The file is too long.
    #[error(
        "the file is longer than {TEMPLATE_MAX_BYTES} bytes, and some programs would cut the message"
    )]
    TooLong,
    /// The HTML is too long; the number of its bytes.
    #[error(
        "the message has {0} bytes as HTML, and Gmail cuts messages after {HTML_MAX_BYTES}; shorten it"
    )]
    TooLongAsHtml(usize),
    /// A brace, or a text in braces, is no placeholder.
    #[error(
        "unknown placeholder {0}; the placeholders are {known}. Put other braces into `code`, and write %7B in a URL",
        known = PLACEHOLDERS.map(|(placeholder, _)| placeholder).join(", ")
    )]
    UnknownPlaceholder(String),
    /// The unsubscribe link is a part of another URL.
    #[error(
        "{{unsubscribe}} is a whole link; write it in the text, or as [leave the list]({{unsubscribe}})"
    )]
    PartOfUrl,
    /// The link of a person is in the subject.
    #[error("a subject cannot have {0}, which is a link")]
    LinkInSubject(&'static str),
    /// The message has control characters.
    #[error("the message has control characters; remove them")]
    Control,
    /// The message has an image.
    #[error(
        "images are not supported: many programs hide them, and they reveal when the message is read; write a link"
    )]
    Image,
    /// The message has HTML.
    #[error("HTML is not supported; write Markdown, and put < into `code`")]
    Html,
    /// A link has another scheme, or none.
    #[error("a link must begin with https:, http: or mailto:, and this one is {0:?}")]
    Link(String),
}

impl TemplateProblem {
    pub(super) fn at(self, line: usize) -> TemplateError {
        TemplateError {
            line,
            problem: self,
        }
    }
}
