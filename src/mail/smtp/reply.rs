//! The replies of a mail server: what they may show, and what they mean.

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use smtp_proto::Response;

use crate::waitlist::ServerReply;

/// How an address shows: `@`, the same in a URL, and the full-width one.
const AT_SIGNS: [&str; 3] = ["@", "%40", "\u{ff20}"];

/// The shortest part of a secret that hides a word, in bytes. Shorter ones are in ordinary words, and tell nobody a token of
/// more than 100 characters.
const SECRET_PART_BYTES: usize = 6;

/// Replies that are about the conversation: syntax and order of commands (RFC 5321, section 4.2.2), a server that takes no
/// mail (RFC 7504), and a login that is missing, too weak or failing (RFC 4954, section 6). With 454, Amazon SES also says
/// that its quota is used up.
const CONVERSATION_CODES: [u16; 8] = [454, 500, 502, 503, 521, 530, 534, 538];

/// The same, but with these servers also reject the form of a recipient's address.
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

/// Words that no reply may show, because the ledger and the log keep the words of the server. Some servers repeat what they
/// were sent.
#[derive(Clone)]
pub(super) struct HiddenWords {
    /// The address of the recipient, if there is one.
    pub(super) recipient: String,
    /// The secrets of the login and of the message.
    pub(super) secrets: Vec<String>,
}

impl HiddenWords {
    /// Hides the password of a login, also as the server is sent it. Some servers repeat what they did not understand.
    pub(super) fn of_login(login: Option<&(String, String)>) -> Self {
        let secrets = login.map(|(user, password)| {
            let plain = format!("\0{user}\0{password}");
            vec![
                password.clone(),
                BASE64.encode(password),
                BASE64.encode(plain),
            ]
        });
        Self {
            recipient: String::new(),
            secrets: secrets.unwrap_or_default(),
        }
    }

    /// Returns a reply in one line, such as `550 5.1.1 User unknown`, without control characters, addresses and hidden words.
    pub(super) fn reply(&self, response: &Response<String>) -> ServerReply {
        let is_separator = |c: char| c.is_whitespace() || c.is_control() || is_direction(c);
        let words = response.message().split(is_separator);
        let words = words.filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| self.hide(word)).collect();
        let [class, subject, detail] = response.esc;
        let text = match class {
            0 => words.join(" "),
            _ => format!("{class}.{subject}.{detail} {}", words.join(" ")),
        };
        ServerReply::new(response.code, text.trim_end())
    }

    /// Returns what takes the place of a word, if it names a recipient (its local part, its mailbox, its domain, or any address), or
    /// contains a part of a secret. A server that quotes a message may have broken its lines anywhere, with `=` at their ends.
    fn hide<'a>(&self, word: &'a str) -> &'a str {
        let recipient = self.recipient.to_lowercase();
        let (local, domain) = recipient.rsplit_once('@').unwrap_or((&recipient, ""));
        let local = local.trim_matches('"');
        // A server may name the mailbox without its tag, and the domain as it is typed.
        let mailbox = local.split_once('+').map_or(local, |(mailbox, _)| mailbox);
        let (typed_domain, _) = idna::domain_to_unicode(domain);
        let names = [local, mailbox, domain, &typed_domain];
        let lower = word.to_lowercase();
        let is_address = AT_SIGNS.iter().any(|sign| word.contains(sign));
        if is_address || names.iter().any(|name| has_name(&lower, name)) {
            return "<address>";
        }
        let unfolded = word.replace('=', "");
        let has_part = |secret: &String| {
            let secret = secret.replace('=', "");
            let length = SECRET_PART_BYTES.min(secret.len()).max(1);
            let mut parts = secret.as_bytes().windows(length);
            parts.any(|part| unfolded.as_bytes().windows(length).any(|it| it == part))
        };
        match self.secrets.iter().any(has_part) {
            true => "<hidden>",
            false => word,
        }
    }
}

/// What a reply means.
impl ServerReply {
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
        let is_in = |classes: &[&str]| classes.iter().any(|it| self.text().starts_with(it));
        let is_about_form = ADDRESS_FORM_CODES.contains(&self.code) || is_in(&["5.5.", "5.6."]);
        is_in(&["4.7.", "5.7.", "5.3."])
            || (is_about_form && part != MessagePart::Recipient)
            || CONVERSATION_CODES.contains(&self.code)
    }

    /// Returns whether the server refuses the address: it is malformed, or its mailbox or its domain does not exist (501 and
    /// 504, RFC 5321, section 4.2.2; 5.1.x, RFC 3463, section 3.2, without those of the sender's address).
    pub fn is_bad_address(&self) -> bool {
        let is_sender = ["5.1.7", "5.1.8"].contains(&self.first_word());
        matches!(self.code, 501 | 504) || self.text().starts_with("5.1.") && !is_sender
    }

    /// Returns whether the mailbox does not exist (RFC 3463, section 3.2).
    pub fn is_no_such_mailbox(&self) -> bool {
        self.code >= 500 && self.first_word() == "5.1.1"
    }

    fn first_word(&self) -> &str {
        self.text().split(' ').next().unwrap_or_default()
    }

    /// Returns whether the text begins with an enhanced code.
    pub fn has_enhanced_code(&self) -> bool {
        ["2.", "4.", "5."]
            .iter()
            .any(|it| self.text().starts_with(it))
    }
}

/// Returns whether a character changes the direction of the text that follows on a terminal.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a word has a name that neither a letter nor a digit continues.
fn has_name(word: &str, name: &str) -> bool {
    let is_edge = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    let is_found = |(at, _): (usize, &str)| {
        is_edge(word[..at].chars().next_back()) && is_edge(word[at + name.len()..].chars().next())
    };
    !name.is_empty() && word.match_indices(name).any(is_found)
}
