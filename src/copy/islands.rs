//! The texts of the islands. In TypeScript, they are `COPY`.

/// A line of the demo terminal: its kind and its text.
pub type DemoLine = (&'static str, &'static str);

/// The sample revenue of the demo (spec §9).
macro_rules! sample_revenue {
    () => {
        "$29.99"
    };
}
/// The sample revenue of the demo (spec §9), for the texts around the terminal.
pub const SAMPLE_REVENUE: &str = sample_revenue!();

/// The lines of the demo terminal (spec §4): a deploy command, six progress checks, the SMS about a first customer
/// with the sample revenue, and the live site.
pub const DEMO_LINES: [DemoLine; 9] = [
    ("command", "agent deploy --idea \"small-batch hot sauce\""),
    ("check", "Business plan written"),
    ("check", "Logo and product photos ready"),
    ("check", "Website built"),
    ("check", "Payments connected"),
    ("check", "Launch campaign running"),
    ("check", "Customer support online"),
    (
        "sms",
        concat!("SMS: First customer! First sale: ", sample_revenue!()),
    ),
    ("result", "Live at https://hot-sauce.example"),
];

/// Accessible name of the terminal.
pub const DEMO_LABEL: &str = "A launch, line by line";

/// Title bar of the terminal.
pub const DEMO_DIRECTORY: &str = "~/hot-sauce";

/// Accessible name of the terminal's button: what it does while a run plays, while it is paused, and after its end.
pub const DEMO_BUTTON: [&str; 3] = ["Pause the demo", "Play the demo", "Replay the demo"];

/// Label of the address field.
pub const EMAIL_LABEL: &str = "Email address";
/// Placeholder of the address field.
pub const EMAIL_PLACEHOLDER: &str = "you@example.com";
/// Text below the address field. It makes the same promise as the success toast.
pub const PROMISE: &str = "We'll email you when {product} is ready.";
/// Label of the honeypot field, which people do not see.
pub const LEAVE_EMPTY: &str = "Leave this empty";
/// Label of the button.
pub const SUBMIT: &str = "Join the Waitlist";
/// Label of the button during a sign-up (spec §4).
pub const SUBMITTING: &str = "Adding...";
/// Text after the number in the count line (spec §3).
pub const COUNT: &str = "entrepreneurs already on the list";

/// Title of the success toast (spec §8).
pub const JOINED_TITLE: &str = "Success!";
/// Text of the success toast (spec §8).
pub const JOINED: &str =
    "You've been added to the waitlist. We'll notify you when {product} is ready.";
/// Title of every error toast (spec §8).
pub const ERROR_TITLE: &str = "Error";
/// The address is already on the list: 409 (spec §8).
pub const ALREADY_LISTED: &str = "Email already on waitlist";
/// The address is invalid: 400 (spec §8).
pub const INVALID_EMAIL: &str = "Please enter a valid email address";
/// The field is empty (spec §8).
pub const EMPTY_EMAIL: &str = "Please enter your email address";
/// Any other failure, such as a rate limit or a store that does not respond (spec §8).
pub const FAILED: &str = "Failed to add to waitlist. Please try again.";

/// Label of the field for the code that confirms the address.
pub const CODE_LABEL: &str = "Got a code by email? Enter it here";
/// Label of its button.
pub const CODE_SUBMIT: &str = "Confirm";
/// The address is confirmed.
pub const CONFIRMED: &str = "Your address is confirmed.";
/// The code is wrong, or was tried too often.
pub const WRONG_CODE: &str =
    "That code is not right. Check the message again, or open the link in it.";
/// The address could not be confirmed.
pub const CODE_FAILED: &str = "Failed to confirm. Please try again.";

/// Label of the e-mail link.
pub const CONTACT_LABEL: &str = "Email us";
/// Tooltip of the e-mail link.
pub const CONTACT_TIP: &str = "Opens your email app";
/// Label of the social link.
pub const SOCIAL_LABEL: &str = "Follow the launch";
/// Tooltip of the social link.
pub const SOCIAL_TIP: &str = "Opens our social profile";

/// Accessible name of the toast region, with its keyboard shortcut (spec §9).
pub const TOASTS_LABEL: &str = "Notifications (F8)";
/// Accessible name of a toast's close button.
pub const TOAST_CLOSE: &str = "Close";
