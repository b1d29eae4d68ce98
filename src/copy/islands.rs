//! What the islands say. TypeScript knows it as `COPY`.

/// One line of the demo terminal: what kind of line it is, and its text.
pub type DemoLine = (&'static str, &'static str);

/// Spec §4: a deploy command, six progress checks, the SMS of a first customer with the sample
/// revenue of spec §9, and the live site.
pub const DEMO_LINES: [DemoLine; 9] = [
    ("command", "agent deploy --idea \"small-batch hot sauce\""),
    ("check", "Business plan written"),
    ("check", "Logo and product photos ready"),
    ("check", "Website built"),
    ("check", "Payments connected"),
    ("check", "Launch campaign running"),
    ("check", "Customer support online"),
    ("sms", "SMS: First customer! You earned $29.99"),
    ("result", "Live at https://hot-sauce.example"),
];
/// Accessible name of the terminal.
pub const DEMO_LABEL: &str = "A launch, line by line";

/// What stands in the terminal's title bar.
pub const DEMO_DIRECTORY: &str = "~/hot-sauce";

/// Label of the address field.
pub const EMAIL_LABEL: &str = "Email address";
/// Hint inside the empty field.
pub const EMAIL_PLACEHOLDER: &str = "you@example.com";
/// Below the field. It promises what the success toast promises.
pub const PROMISE: &str = "We'll email you when {product} is ready.";
/// Label of the honeypot field, which only bots see.
pub const LEAVE_EMPTY: &str = "Leave this empty";
/// The button.
pub const SUBMIT: &str = "Join the Waitlist";
/// The button while a sign-up is under way (spec §4).
pub const SUBMITTING: &str = "Adding...";
/// Follows the number in the count line (spec §3).
pub const COUNT: &str = "entrepreneurs already on the list";

/// Spec §8, success.
pub const JOINED_TITLE: &str = "Success!";
/// Spec §8, success.
pub const JOINED: &str =
    "You've been added to the waitlist. We'll notify you when {product} is ready.";
/// Spec §8, every failure.
pub const ERROR_TITLE: &str = "Error";
/// Spec §8, 409.
pub const ALREADY_LISTED: &str = "Email already on waitlist";
/// Spec §8, 400.
pub const INVALID_EMAIL: &str = "Please enter a valid email address";
/// Spec §8, nothing typed.
pub const EMPTY_EMAIL: &str = "Please enter your email address";
/// Spec §8, any other failure.
pub const FAILED: &str = "Failed to add to waitlist. Please try again.";

/// The mailto link.
pub const CONTACT_LABEL: &str = "Email us";
/// Its tooltip.
pub const CONTACT_TIP: &str = "Opens your email app";
/// The social link.
pub const SOCIAL_LABEL: &str = "Follow the launch";
/// Its tooltip.
pub const SOCIAL_TIP: &str = "Opens our social profile";

/// Accessible name of the toast region, with its hotkey (spec §9).
pub const TOASTS_LABEL: &str = "Notifications (F8)";
/// Accessible name of a toast's close button.
pub const TOAST_CLOSE: &str = "Close";

/// Every constant above under its own name, for `islands/bindings/copy.ts`.
#[cfg(test)]
pub(crate) fn exported() -> serde_json::Value {
    macro_rules! by_name {
        ($($name:ident),* $(,)?) => { serde_json::json!({ $(stringify!($name): $name),* }) };
    }
    by_name!(
        DEMO_LINES,
        DEMO_LABEL,
        DEMO_DIRECTORY,
        EMAIL_LABEL,
        EMAIL_PLACEHOLDER,
        PROMISE,
        LEAVE_EMPTY,
        SUBMIT,
        SUBMITTING,
        COUNT,
        JOINED_TITLE,
        JOINED,
        ERROR_TITLE,
        ALREADY_LISTED,
        INVALID_EMAIL,
        EMPTY_EMAIL,
        FAILED,
        CONTACT_LABEL,
        CONTACT_TIP,
        SOCIAL_LABEL,
        SOCIAL_TIP,
        TOASTS_LABEL,
        TOAST_CLOSE,
    )
}
