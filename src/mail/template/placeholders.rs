//! The placeholders of a message: words in braces, such as `{product}`.

use html_escape::encode_quoted_attribute;

use super::{PLACEHOLDERS, error::TemplateProblem};
use crate::copy;

/// The placeholder for the position on the list.
pub(super) const POSITION: &str = "{position}";
/// The placeholder for the unsubscribe link.
pub(super) const UNSUBSCRIBE: &str = "{unsubscribe}";
/// The placeholder for the link by which the person invites others.
pub(super) const INVITE_LINK: &str = "{invite_link}";
/// The placeholders that are links.
pub(super) const LINKS: [&str; 2] = [UNSUBSCRIBE, INVITE_LINK];

/// What takes the place of the placeholders, and is in the footer.
#[derive(Clone, Copy)]
pub struct Placeholders<'a> {
    /// The name of the product.
    pub product: &'a str,
    /// The person's position on the list, from 1.
    pub position: u64,
    /// The URL by which the person invites others.
    pub invite_link: &'a str,
    /// The URL of the person's unsubscribe page. `None` in the message that asks to confirm an address, which goes to somebody
    /// who may not have signed up.
    pub unsubscribe: Option<&'a str>,
    /// The owner's postal address.
    pub postal_address: Option<&'a str>,
}

impl Placeholders<'_> {
    /// Returns why the person gets the message.
    pub(super) fn reason(&self) -> String {
        let reason = match self.unsubscribe {
            Some(_) => copy::mail::REASON,
            None => copy::mail::CONFIRM_REASON,
        };
        copy::fill_product(reason, self.product)
    }

    /// Replaces the placeholders in a text.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = text.to_owned();
        for (placeholder, value) in PLACEHOLDERS {
            filled = filled.replace(placeholder, &value(self));
        }
        filled
    }

    /// Replaces the placeholders in HTML, also in its URLs, whose braces are encoded.
    pub(super) fn fill_html(&self, html: &str) -> String {
        let mut filled = html.to_owned();
        for (placeholder, value) in PLACEHOLDERS {
            let value = value(self);
            let value = encode_quoted_attribute(&value);
            let in_url = placeholder.replace('{', "%7B").replace('}', "%7D");
            filled = filled.replace(placeholder, &value).replace(&in_url, &value);
        }
        filled
    }
}

/// Checks that each `{` of a text begins a placeholder. So no message begins with "Dear {Name}".
pub(super) fn check(text: &str) -> Result<(), TemplateProblem> {
    for (at, _) in text.match_indices('{') {
        let rest = &text[at..];
        if PLACEHOLDERS.iter().any(|(it, _)| rest.starts_with(it)) {
            continue;
        }
        let found = match rest[1..].split_once('}') {
            Some((name, _)) if !name.contains('{') => format!("{{{name}}}"),
            _ => "{".to_owned(),
        };
        return Err(TemplateProblem::UnknownPlaceholder(found));
    }
    Ok(())
}
