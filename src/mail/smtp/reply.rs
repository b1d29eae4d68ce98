//! The replies of a mail server.

use std::fmt;

use smtp_proto::Response;

use crate::waitlist::ServerReply;

/// What takes the place of an address.
const ADDRESS: &str = "<address>";
/// How an address shows: `@`, the same in a URL, and the full-width one.
const AT_SIGNS: [&str; 3] = ["@", "%40", "\u{ff20}"];

/// The shortest part of a secret that hides a word, in bytes. Shorter ones are in ordinary words, and tell nobody a token of
/// 60 characters.
const SECRET_PART_BYTES: usize = 6;

/// Replies that are about the conversation: syntax and order of commands (RFC 5321, section 4.2.2), a server that takes no
/// mail (RFC 7504), and a login that is missing, too weak or failing (RFC 4954, section 6). With 454, Amazon SES also says
/// that its quota is used up.
const CONVERSATION_CODES: [u16; 10] = [454, 500, 501, 502, 503, 504, 521, 530, 534, 538];

/// Those of them with which servers reject the form of a recipient's address.
const ADDRESS_FORM_CODES: [u16; 2] = [501, 504];

/// A part of a message, in the order in which the server gets them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum MessagePart {
    /// The address of the sender (`MAIL`).
    Sender,
    /// The address of the recipient (`RCPT`).
    Recipient,
    /// The message itself (`DATA`).
    Content,
}

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

    /// Returns whether the server objects to the sender, to the content or to the conversation, and not to the recipient, with
    /// this reply to a part of a message: the enhanced codes 4.7.x and 5.7.x (security and policy), 5.3.x (the mail system),
    /// 5.5.x (the protocol) and 5.6.x (the content), see RFC 3463, section 3; or codes that are never about a recipient.
    ///
    /// In the reply to a recipient, 501, 504 and 5.5.x mean that the server rejects the form of this address, and 5.6.x that it
    /// cannot write it.
    pub fn is_objection(&self, part: MessagePart) -> bool {
        let mut classes = vec!["4.7.", "5.7.", "5.3."];
        let mut codes = CONVERSATION_CODES.to_vec();
        match part {
            MessagePart::Recipient => codes.retain(|code| !ADDRESS_FORM_CODES.contains(code)),
            MessagePart::Sender | MessagePart::Content => classes.extend(["5.5.", "5.6."]),
        }
        codes.contains(&self.code) || classes.iter().any(|it| self.text.starts_with(it))
    }

    /// Returns whether the server refuses the address: it is malformed, or its mailbox or its domain does not exist (501 and
    /// 504, RFC 5321, section 4.2.2; 5.1.x, RFC 3463, section 3.2, without those of the sender's address).
    pub fn is_bad_address(&self) -> bool {
        let is_sender = ["5.1.7", "5.1.8"].contains(&self.first_word());
        matches!(self.code, 501 | 504) || self.text.starts_with("5.1.") && !is_sender
    }

    /// Returns whether the mailbox does not exist (RFC 3463, section 3.2).
    pub fn is_no_such_mailbox(&self) -> bool {
        self.code >= 500 && self.first_word() == "5.1.1"
    }

    fn first_word(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// Returns whether the text begins with an enhanced code.
    pub(in crate::mail) fn has_enhanced_code(&self) -> bool {
        ["2.", "4.", "5."]
            .iter()
            .any(|it| self.text.starts_with(it))
    }

    /// Returns the reply without words that name a recipient: its local part, its domain, or any address.
    pub(super) fn without_address(&self, address: &str) -> Self {
        let (local, domain) = address.rsplit_once('@').unwrap_or((address, ""));
        let names = [local.trim_matches('"'), domain].map(str::to_lowercase);
        self.without_words(ADDRESS, |word| {
            let word = word.to_lowercase();
            names.iter().any(|name| has_name(&word, name))
        })
    }

    /// Returns the reply without words that contain a part of one of these secrets. A server that quotes a message may have
    /// broken its lines anywhere, with `=` at their ends.
    pub(in crate::mail) fn without(&self, secrets: &[String]) -> Self {
        self.without_words("<hidden>", |word| {
            let word = word.replace('=', "");
            let has_part = |secret: &String| {
                let secret = secret.replace('=', "");
                let length = SECRET_PART_BYTES.min(secret.len()).max(1);
                let mut parts = secret.as_bytes().windows(length);
                parts.any(|part| word.as_bytes().windows(length).any(|it| it == part))
            };
            secrets.iter().any(has_part)
        })
    }

    fn without_words(&self, replacement: &str, is_hidden: impl Fn(&str) -> bool) -> Self {
        // Not the enhanced code, whatever the words are.
        let is_code = |at: usize, word: &str| {
            at == 0 && word.bytes().all(|it| it.is_ascii_digit() || it == b'.')
        };
        let words = self.text.split(' ').enumerate();
        let words = words.map(|(at, word)| match !is_code(at, word) && is_hidden(word) {
            true => replacement,
            false => word,
        });
        Self {
            code: self.code,
            text: words.collect::<Vec<_>>().join(" "),
        }
    }
}

/// The reply that the ledger keeps.
impl From<&ServerReply> for SmtpReply {
    fn from(reply: &ServerReply) -> Self {
        Self {
            code: reply.code,
            text: reply.text().to_owned(),
        }
    }
}

impl fmt::Display for SmtpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.code, self.text)
    }
}

/// Returns whether a character changes the direction of the text that follows on a terminal.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns a text in one line, without control characters and addresses.
fn one_line(text: &str) -> String {
    let is_separator = |c: char| c.is_whitespace() || c.is_control() || is_direction(c);
    let words = text.split(is_separator).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let is_address = AT_SIGNS.iter().any(|sign| word.contains(sign));
        if is_address { ADDRESS } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Returns whether a word has a name that neither a letter nor a digit continues.
fn has_name(word: &str, name: &str) -> bool {
    let is_edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let is_found = |(at, _): (usize, &str)| {
        is_edge(word[..at].chars().next_back()) && is_edge(word[at + name.len()..].chars().next())
    };
    !name.is_empty() && word.match_indices(name).any(is_found)
}
