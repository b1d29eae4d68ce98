//! The texts of messages to the people on the list. The owner writes the rest.

/// Why the person gets the message, in the footer.
pub const REASON: &str = "You get this message because you joined the waitlist of {product}.";
/// The unsubscribe link.
pub const UNSUBSCRIBE: &str = "Unsubscribe";

/// The message that asks a person to confirm the address, in Markdown. The code and the link take the place of `{code}`
/// and `{link}`.
pub const CONFIRM: &str = "\
---
subject: \"{code} is your code for {product}\"
---
# {code}

Enter this code where you signed up, or confirm your address with this link:

[Confirm my address]({link})

Then we will email you when {product} is ready.
";
/// Why the person gets that message, in its footer.
pub const CONFIRM_REASON: &str = "You get this message because somebody entered your address on the waitlist of \
    {product}. If it was not you, ignore this message, and we will erase the address.";
/// The subject of that message in the list of messages.
pub const CONFIRM_SUBJECT: &str = "the code to confirm the address";
