//! The names of columns by which other programs and people say who has unsubscribed, as
//! [`normalize`](super::text::normalize) returns them.

/// Parts of names of columns in which a yes means "unsubscribed".
pub(super) const UNSUBSCRIBED_PARTS: [&str; 23] = [
    "unsub",
    "optout",
    "optedout",
    "blacklist",
    "blocklist",
    "suppress",
    "complain",
    "bounced",
    "hardbounce",
    "emaildisabled",
    "donotemail",
    "donotmail",
    "donotcontact",
    "donotsend",
    "dontemail",
    "dontmail",
    "dontcontact",
    "dontsend",
    "cleantime",
    "cleaned",
    "removeddate",
    "removedat",
    "deletedat",
];
/// Names of columns in which a yes means "subscribed".
pub(super) const SUBSCRIBED_NAMES: [&str; 25] = [
    "subscribed",
    "issubscribed",
    "emailsubscribed",
    "subscribedtoemail",
    "subscribedtoemails",
    "optin",
    "optedin",
    "emailoptin",
    "emailoptedin",
    "marketingoptin",
    "emailmarketingoptin",
    "acceptsmarketing",
    "acceptsemailmarketing",
    "emailmarketing",
    "emailmarketingconsent",
    "marketingconsent",
    "emailconsent",
    "consent",
    "emailpermission",
    "marketingpermission",
    "marketingpermissions",
    "marketingemails",
    "newsletter",
    "active",
    "isactive",
];
/// Those of `SUBSCRIBED_NAMES` that are used only if at least one of their values is known.
pub(super) const AMBIGUOUS_NAMES: [&str; 8] = [
    "emailmarketing",
    "emailpermission",
    "marketingpermission",
    "marketingpermissions",
    "marketingemails",
    "newsletter",
    "active",
    "isactive",
];
pub(super) const STATUS_NAMES: [&str; 9] = [
    "status",
    "subscriptionstatus",
    "subscriberstatus",
    "subscriberstate",
    "subscriptionstate",
    "emailstatus",
    "memberstatus",
    "contactstatus",
    "liststatus",
];
/// A status column is certain if its name contains one of these.
pub(super) const STATUS_PARTS: [&str; 9] = [
    "marketing",
    "contact",
    "mail",
    "subscri",
    "member",
    "list",
    "newsletter",
    "consent",
    "optin",
];
/// Parts of names that may be about unsubscribing, or about something else.
pub(super) const MAYBE_UNSUBSCRIBED_PARTS: [&str; 24] = [
    "delet",
    "archiv",
    "remov",
    "bounce",
    "quarantin",
    "exclud",
    "inactiv",
    "deactiv",
    "disabled",
    "cancel",
    "churn",
    "blocked",
    "banned",
    "invalid",
    "undeliver",
    "spam",
    "withdr",
    "revok",
    "donot",
    "objected",
    "lapsed",
    "abgemeld",
    "abmeld",
    "desabon",
];
/// Whole words of such names.
pub(super) const MAYBE_UNSUBSCRIBED_WORDS: [&str; 5] = ["left", "leave", "leaving", "quit", "gone"];
/// Parts of names that may be about consent, or about something else. `subscription` is not among them: it may be
/// a paid one.
pub(super) const MAYBE_SUBSCRIBED_PARTS: [&str; 23] = [
    "optin",
    "optedin",
    "consent",
    "subscribe",
    "receive",
    "newsletter",
    "gdpr",
    "dsgvo",
    "permission",
    "permit",
    "agree",
    "accept",
    "marketing",
    "mailing",
    "allow",
    "einwillig",
    "zustimm",
    "angemeldet",
    "contactable",
    "mailable",
    "keepme",
    "emailme",
    "contactme",
];
/// Words with which a question or a wish begins: `May we email you?`, `Stay in touch`.
pub(super) const ASKING_WORDS: [&str; 20] = [
    "may",
    "can",
    "could",
    "would",
    "should",
    "shall",
    "want",
    "like",
    "ok",
    "okay",
    "please",
    "send",
    "stay",
    "keep",
    "get",
    "darf",
    "dürfen",
    "möchte",
    "möchtest",
    "möchten",
];
/// Words that negate a wish: `No emails please`.
pub(super) const NEGATING_WORDS: [&str; 8] = [
    "no", "not", "never", "dont", "without", "kein", "keine", "nicht",
];
/// Parts of the words for messages. A question or a wish with one of them may be about consent.
pub(super) const MESSAGE_PARTS: [&str; 13] = [
    "mail",
    "contact",
    "write",
    "writing",
    "hear",
    "updat",
    "touch",
    "news",
    "notif",
    "inform",
    "schreib",
    "kontakt",
    "nachricht",
];
/// Parts of names of columns that hold a detail, such as a reason or a link.
pub(super) const DETAIL_PARTS: [&str; 11] = [
    "url", "link", "href", "reason", "campaign", "title", "count", "token", "comment", "feedback",
    "message",
];
/// Parts of names about channels other than e-mail.
pub(super) const OTHER_CHANNEL_PARTS: [&str; 5] = ["sms", "phone", "whatsapp", "push", "postal"];
/// Parts of names of a status that is not about a list, such as the status of a payment.
pub(super) const OTHER_STATUS_PARTS: [&str; 10] = [
    "payment", "order", "billing", "lead", "deal", "ticket", "stripe", "plan", "marital", "employ",
];
