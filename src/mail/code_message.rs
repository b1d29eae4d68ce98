//! The message that asks a person to confirm the address, and its code.

use std::time::SystemTime;

use super::template::{Placeholders, RenderedMessage, Template, TemplateError};
use crate::{
    copy,
    waitlist::{Email, ListKey, unix_seconds},
};

/// Number of digits of a code.
pub const CODE_LEN: usize = 6;

/// Returns the code of a sign-up: six digits. Only someone with the key of the list can compute it, so no table of codes is
/// needed. All messages about a sign-up have the same one, because they may arrive late and in any order. A new code for each
/// would not be harder to guess: the number of tries for each message is the same.
pub fn confirmation_code(key: &ListKey, email: &Email, joined_at: SystemTime) -> String {
    let joined_at = unix_seconds(joined_at);
    // No address has a line break, so this input never equals an address.
    let hash = key.hash(format!("code\n{joined_at}\n{}", email.key()));
    let number = hash.as_bytes().iter().fold(0, |remainder, byte| {
        (remainder * 256 + u32::from(*byte)) % 10_u32.pow(CODE_LEN as u32)
    });
    format!("{number:0CODE_LEN$}")
}

/// Returns the message with a code, and with a link that confirms the address.
///
/// # Errors
/// [`TemplateError`], if the text of the message is malformed.
pub fn confirmation_message(
    product: &str,
    postal_address: Option<&str>,
    code: &str,
    link: &str,
) -> Result<RenderedMessage, TemplateError> {
    let text = copy::mail::CONFIRM
        .replace("{code}", code)
        .replace("{link}", link);
    let message = Template::parse("confirmation.md", &text)?;
    Ok(message.render(&Placeholders {
        product,
        position: 1,
        invite_link: "",
        unsubscribe: None,
        postal_address,
    }))
}
