//! The words by which other programs say that a person has unsubscribed, as
//! [`normalize`](super::text::normalize) returns them.

/// Words for unsubscribed people, as Mailchimp, Brevo, Klaviyo, HubSpot, ConvertKit, MailerLite, beehiiv,
/// Constant Contact and listmonk write them.
pub(super) const UNSUBSCRIBED_WORDS: [&str; 42] = [
    "unsubscribed",
    "unsubscribe",
    "unsub",
    "nonsubscribed",
    "notsubscribed",
    "neversubscribed",
    "unsubscribedfromall",
    "cleaned",
    "archived",
    "bounced",
    "hardbounced",
    "hardbounce",
    "removed",
    "deleted",
    "inactive",
    "disabled",
    "cancelled",
    "canceled",
    "complained",
    "complaint",
    "complaints",
    "spam",
    "spamcomplaint",
    "markedasspam",
    "reportedspam",
    "junk",
    "optout",
    "optedout",
    "blacklisted",
    "blocklisted",
    "blocked",
    "suppressed",
    "donotcontact",
    "donotemail",
    "noconsent",
    "undeliverable",
    "bounce",
    "manualsuppression",
    "invalidemail",
    "left",
    "abgemeldet",
    "deactivated",
];
/// Words for people who are still on the other list.
pub(super) const SUBSCRIBED_WORDS: [&str; 22] = [
    "subscribed",
    "active",
    "confirmed",
    "verified",
    "enabled",
    "optin",
    "optedin",
    "joined",
    "waiting",
    "waitlisted",
    "free",
    "paid",
    "comped",
    "aktiv",
    "angemeldet",
    "agreed",
    "accepted",
    "granted",
    "given",
    "express",
    "implied",
    "marketingcontact",
];
/// Words for unsubscribed people that mean something else in most columns.
pub(super) const AMBIGUOUS_WORDS: [&str; 1] = ["left"];
/// In any column, a text that contains one of these means "unsubscribed", whatever else it says.
pub(super) const UNSUBSCRIBED_PARTS: [&str; 19] = [
    "unsubscribed",
    "nonsubscribed",
    "notsubscribed",
    "neversubscribed",
    "longersubscribed",
    "optout",
    "optedout",
    "blacklisted",
    "blocklisted",
    "suppressed",
    "donotcontact",
    "donotemail",
    "donotmail",
    "bounced",
    "hardbounce",
    "spamcomplaint",
    "complained",
    "undeliverable",
    "abgemeldet",
];
/// A text that contains one of these may mean that a person no longer agrees.
pub(super) const WITHDRAWN_PARTS: [&str; 8] = [
    "withdr", "revok", "declin", "refus", "reject", "denied", "longer", "lapsed",
];
/// Words that negate a text.
pub(super) const NEGATIONS: [&str; 8] =
    ["no", "not", "non", "never", "dont", "nein", "nicht", "kein"];
pub(super) const YES_WORDS: [&str; 9] = ["yes", "true", "1", "y", "t", "on", "x", "ja", "checked"];
pub(super) const NO_WORDS: [&str; 8] = ["no", "false", "0", "n", "f", "off", "never", "nein"];
/// Words that some programs write in place of an empty cell.
pub(super) const EMPTY_WORDS: [&str; 7] = ["", "none", "null", "nil", "na", "nan", "undefined"];
