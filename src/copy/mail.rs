//! The texts of messages to the people on the list. The owner writes the rest.

/// Why the person gets the message, in the footer.
pub const REASON: &str = "You get this message because you joined the waitlist of {product}.";
/// The unsubscribe link.
pub const UNSUBSCRIBE: &str = "Unsubscribe";
