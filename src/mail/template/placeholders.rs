//! The placeholders of a message: words in braces, such as `{product}`.

use std::borrow::Cow;

use super::error::TemplateProblem;
use crate::copy;

/// The placeholder for the unsubscribe link.
pub(super) const UNSUBSCRIBE: &str = "{unsubscribe}";

/// The placeholders.
const PLACEHOLDERS: [&str; 3] = ["{product}", "{position}", UNSUBSCRIBE];

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
    /// The message goes to people on the list. They can unsubscribe.
    Subscriber,
    /// The message goes to somebody who may not have signed up.
    Confirmation,
}

impl Placeholders<'_> {
    /// Returns why the person gets the message.
    pub(super) fn reason(&self) -> String {
        let reason = match self.footer {
            Footer::Subscriber => copy::mail::REASON,
            Footer::Confirmation => copy::mail::CONFIRM_REASON,
        };
        copy::fill_product(reason, self.product)
    }

    /// Replaces the placeholders in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        for part in split(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Placeholder(placeholder) => filled.push_str(&self.value(placeholder)),
            }
        }
        filled
    }

    fn value(&self, placeholder: &str) -> Cow<'_, str> {
        match placeholder {
            "{product}" => self.product.into(),
            "{position}" => self.position.to_string().into(),
            _ => self.unsubscribe.into(),
        }
    }
}

/// A part of a text.
pub(super) enum Part<'a> {
    Text(&'a str),
    Placeholder(&'static str),
}

/// Checks that each `{` of a text begins a placeholder. So no message begins with "Dear {Name}".
pub(super) fn check(text: &str) -> Result<(), TemplateProblem> {
    for part in split(text) {
        if let Part::Text(text) = part
            && let Some((_, after)) = text.split_once('{')
        {
            let found = match after.split_once('}') {
                Some((name, _)) => format!("{{{name}}}"),
                None => "{".to_owned(),
            };
            let known = PLACEHOLDERS.join(", ");
            return Err(TemplateProblem::UnknownPlaceholder { found, known });
        }
    }
    Ok(())
}

/// Returns whether a text has the placeholder of the unsubscribe link.
pub(super) fn has_unsubscribe(text: &str) -> bool {
    split(text).any(|part| matches!(part, Part::Placeholder(UNSUBSCRIBE)))
}

/// Splits a text into its placeholders, and the texts between them.
pub(super) fn split(text: &str) -> impl Iterator<Item = Part<'_>> {
    let find = |text: &str| {
        let found = PLACEHOLDERS.into_iter();
        found.filter_map(|it| Some((text.find(it)?, it))).min()
    };
    let mut rest = text;
    std::iter::from_fn(move || match find(rest) {
        _ if rest.is_empty() => None,
        Some((0, placeholder)) => {
            rest = &rest[placeholder.len()..];
            Some(Part::Placeholder(placeholder))
        }
        Some((at, _)) => {
            let before;
            (before, rest) = rest.split_at(at);
            Some(Part::Text(before))
        }
        None => Some(Part::Text(std::mem::take(&mut rest))),
    })
}
