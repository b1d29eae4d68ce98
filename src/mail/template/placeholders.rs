//! The placeholders of a message: words in braces, such as `{product}`.

use std::borrow::Cow;

use super::error::TemplateProblem;
use crate::copy;

/// The names of the placeholders.
pub(super) const NAMES: [&str; 3] = ["product", "position", UNSUBSCRIBE];

/// The name of the placeholder for the unsubscribe link.
pub(super) const UNSUBSCRIBE: &str = "unsubscribe";

/// What takes the place of the placeholders, and is in the footer.
#[derive(Clone, Copy, Debug)]
pub struct Placeholders<'a> {
    /// The name of the product.
    pub product: &'a str,
    /// The person's position on the list, from 1.
    pub position: u64,
    /// The URL of the person's unsubscribe page.
    pub unsubscribe: &'a str,
    /// The owner's postal address.
    pub postal_address: Option<&'a str>,
    /// What the footer says.
    pub footer: Footer,
}

/// What the footer of a message says besides the postal address.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Footer {
    /// The message goes to people on the list, who can unsubscribe.
    Subscriber,
    /// The message goes to somebody who may not have signed up.
    Stranger,
}

impl Placeholders<'_> {
    /// Returns why the person gets the message.
    pub(super) fn reason(&self) -> String {
        let reason = match self.footer {
            Footer::Subscriber => copy::mail::REASON,
            Footer::Stranger => copy::mail::CONFIRM_REASON,
        };
        copy::fill_product(reason, self.product)
    }

    /// Replaces the placeholders in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        for part in split(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Placeholder(name) => filled.push_str(&self.value(name)),
            }
        }
        filled
    }

    fn value(&self, name: &str) -> Cow<'_, str> {
        match name {
            "product" => self.product.into(),
            "position" => self.position.to_string().into(),
            _ => self.unsubscribe.into(),
        }
    }
}

/// A part of a text.
pub(super) enum Part<'a> {
    Text(&'a str),
    /// The name of a placeholder, without its braces.
    Placeholder(&'a str),
}

/// Checks that a text has only known placeholders. A placeholder is a word of lower-case letters in braces; other
/// braces are ordinary characters.
pub(super) fn check(text: &str) -> Result<(), TemplateProblem> {
    for part in split(text) {
        if let Part::Placeholder(name) = part
            && !NAMES.contains(&name)
        {
            let known: Vec<_> = NAMES.iter().map(|name| format!("{{{name}}}")).collect();
            return Err(TemplateProblem::UnknownPlaceholder {
                name: name.to_owned(),
                known: known.join(", "),
            });
        }
    }
    Ok(())
}

/// Splits a text into its placeholders, and the texts between them.
pub(super) fn split(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut search_from = 0;
        while let Some(at) = rest[search_from..].find('{') {
            let open = search_from + at;
            let after = &rest[open + 1..];
            let name_len = after
                .bytes()
                .take_while(|byte| byte.is_ascii_lowercase() || *byte == b'_')
                .count();
            if name_len > 0 && after[name_len..].starts_with('}') {
                if open > 0 {
                    let (before, found) = rest.split_at(open);
                    rest = found;
                    return Some(Part::Text(before));
                }
                rest = &after[name_len + 1..];
                return Some(Part::Placeholder(&after[..name_len]));
            }
            search_from = open + 1;
        }
        Some(Part::Text(std::mem::take(&mut rest)))
    })
}
