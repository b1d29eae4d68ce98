//! The replies of a mail server.

use std::fmt;

use smtp_proto::Response;

/// The reply of a mail server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SmtpReply {
    /// The code, such as 550 (RFC 5321).
    pub code: u16,
    /// The text in one line, with its enhanced code, such as `5.1.1 User unknown` (RFC 3463). Addresses in it are
    /// replaced by `<address>`.
    pub text: String,
}

impl SmtpReply {
    pub(super) fn new(reply: &Response<String>) -> Self {
        let [class, subject, detail] = reply.esc;
        let message = one_line(reply.message());
        let text = match class {
            0 => message,
            _ => format!("{class}.{subject}.{detail} {message}"),
        };
        Self {
            code: reply.code,
            text: text.trim_end().to_owned(),
        }
    }

    /// Returns whether the server asks to try again later.
    pub fn is_transient(&self) -> bool {
        (400..500).contains(&self.code)
    }

    /// Returns whether the server closes the connection after this reply (RFC 5321, section 3.8).
    pub fn is_closing(&self) -> bool {
        self.code == 421
    }

    /// Returns whether the server objects to the sender, to the content or to the conversation, and not to the recipient:
    /// the enhanced codes 4.7.x and 5.7.x (security and policy), 5.3.x (the mail system), 5.5.x (the protocol) and 5.6.x
    /// (the content), see RFC 3463, section 3.
    pub fn is_objection(&self) -> bool {
        let starts = ["4.7.", "5.7.", "5.3.", "5.5.", "5.6."];
        starts.iter().any(|start| self.text.starts_with(start))
    }

    /// Returns the reply without words that contain one of these secrets, or are the beginning of one.
    pub(super) fn without(&self, secrets: &[String]) -> Self {
        let is_secret = |word: &str| {
            let is_part = |secret: &String| {
                word.contains(secret.as_str()) || word.len() >= 6 && secret.starts_with(word)
            };
            secrets.iter().any(is_part)
        };
        let words = self.text.split(' ');
        let words = words.map(|word| if is_secret(word) { "<hidden>" } else { word });
        Self {
            code: self.code,
            text: words.collect::<Vec<_>>().join(" "),
        }
    }
}

impl fmt::Display for SmtpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// Returns a text in one line, without control characters and addresses.
fn one_line(text: &str) -> String {
    let is_separator = |c: char| c.is_whitespace() || c.is_control();
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        if word.contains('@') {
            "<address>"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}
