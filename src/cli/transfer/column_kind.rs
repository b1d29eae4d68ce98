//! What the name of a column says about its meaning: whether it can say who has left a list.

use super::status_values::normalize;

/// The meaning of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ColumnKind {
    /// A yes or a time says that somebody has left: `unsubscribed_at`, `EMAIL_BLACKLISTED`.
    Unsubscribed,
    /// A no says that somebody has left: `subscribed`, `Email Marketing Consent`.
    Subscribed,
    /// A word says it: `status`.
    Status,
    /// A yes, a time or any other text may say that somebody has left: `Archived`, `Bounce type`.
    MaybeUnsubscribed,
    /// A no may say that somebody has left: `GDPR consent`, `Receive marketing emails`.
    MaybeSubscribed,
    /// Something about leaving, such as a reason or a link. A yes or a time may say that somebody has left.
    Detail,
    /// Any other column. Only a value that plainly says that somebody has left is asked about.
    Other,
}

impl ColumnKind {
    /// Whether its values say who has left. Those of the others are only asked about.
    pub(crate) fn is_decisive(self) -> bool {
        matches!(self, Self::Unsubscribed | Self::Subscribed | Self::Status)
    }
}

/// Parts of the names of columns, in small letters and figures alone.
const UNSUBSCRIBED_PARTS: [&str; 17] = [
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
    "donotcontact",
    "cleantime",
    "cleaned",
    "removeddate",
    "removedat",
    "deletedat",
];
/// Names of columns that say who agrees.
const SUBSCRIBED_NAMES: [&str; 25] = [
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
/// These are used only if at least one of their values is known. The others are always used.
const AMBIGUOUS_NAMES: [&str; 8] = [
    "emailmarketing",
    "emailpermission",
    "marketingpermission",
    "marketingpermissions",
    "marketingemails",
    "newsletter",
    "active",
    "isactive",
];
const STATUS_NAMES: [&str; 9] = [
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
/// A status is certain if its name has one of these.
const STATUS_PARTS: [&str; 9] = [
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
/// Parts of names that are about leaving, and also about other things.
const MAYBE_UNSUBSCRIBED_PARTS: [&str; 24] = [
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
/// The same, as whole words.
const MAYBE_UNSUBSCRIBED_WORDS: [&str; 5] = ["left", "leave", "leaving", "quit", "gone"];
/// Parts of names that are about agreeing, and also about other things. A paid subscription is no such thing.
const MAYBE_SUBSCRIBED_PARTS: [&str; 23] = [
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
/// Columns with these in their names hold something else, such as a reason or a link.
const DETAIL_PARTS: [&str; 11] = [
    "url", "link", "href", "reason", "campaign", "title", "count", "token", "comment", "feedback",
    "message",
];
/// Columns about other channels than e-mail, or about money and sales.
const OTHER_CHANNEL_PARTS: [&str; 5] = ["sms", "phone", "whatsapp", "push", "postal"];
const OTHER_STATUS_PARTS: [&str; 10] = [
    "payment", "order", "billing", "lead", "deal", "ticket", "stripe", "plan", "marital", "employ",
];

/// Returns the meaning of a column with this name, and whether that is certain before its values are
/// seen. Returns `None` for a column that says who has left another channel, such as SMS.
pub(crate) fn column_kind(name: &str) -> Option<(ColumnKind, bool)> {
    let normalized = normalize(name);
    let name_words = split_words(name);
    let has = |parts: &[&str]| parts.iter().any(|part| normalized.contains(part));
    let is_unsubscribed = has(&UNSUBSCRIBED_PARTS);
    let is_maybe_unsubscribed = has(&MAYBE_UNSUBSCRIBED_PARTS)
        || MAYBE_UNSUBSCRIBED_WORDS
            .iter()
            .any(|word| name_words.iter().any(|it| it == word));
    let is_maybe_subscribed = has(&MAYBE_SUBSCRIBED_PARTS);
    let is_about_unsubscribing = is_unsubscribed || is_maybe_unsubscribed;
    let is_about_people =
        is_about_unsubscribing || is_maybe_subscribed || normalized.contains("status");
    if has(&OTHER_CHANNEL_PARTS) && !normalized.contains("mail") && is_about_people {
        return None;
    }
    let name = &*normalized;
    Some(if has(&DETAIL_PARTS) {
        let kind = if is_about_unsubscribing {
            ColumnKind::Detail
        } else {
            ColumnKind::Other
        };
        (kind, false)
    } else if is_unsubscribed {
        (ColumnKind::Unsubscribed, true)
    } else if SUBSCRIBED_NAMES.contains(&name) {
        (ColumnKind::Subscribed, !AMBIGUOUS_NAMES.contains(&name))
    } else if STATUS_NAMES.contains(&name) {
        (ColumnKind::Status, true)
    } else if name == "state" || name.contains("status") && !has(&OTHER_STATUS_PARTS) {
        (ColumnKind::Status, has(&STATUS_PARTS))
    } else if is_maybe_unsubscribed {
        (ColumnKind::MaybeUnsubscribed, false)
    } else if is_maybe_subscribed {
        (ColumnKind::MaybeSubscribed, false)
    } else {
        (ColumnKind::Other, false)
    })
}

/// The words of a text in small letters, also those of `leftAt`.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in text.chars() {
        let is_end = !c.is_alphanumeric() || was_small && c.is_uppercase();
        was_small = c.is_lowercase();
        if is_end && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}
