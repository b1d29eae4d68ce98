//! The columns and words by which other programs say that somebody has left their list.

use std::time::SystemTime;

use super::time::{self, implausible};

/// The meaning of a column.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// A yes or a time says that somebody has left: `unsubscribed_at`, `EMAIL_BLACKLISTED`.
    Left,
    /// A no says that somebody has left: `subscribed`, `Email Marketing Consent`.
    Stayed,
    /// A word says it: `status`.
    Status,
    /// Any other column. A word such as "unsubscribed" in it is asked about.
    Other,
}

/// The meaning of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Says {
    /// It is empty, or means that: `-`, `N/A`.
    Nothing,
    /// A link by which people can leave.
    Link,
    Stayed,
    Left,
    LeftAt,
    Unknown,
}

/// Parts of the names of columns, in small letters and figures alone.
const LEFT: [&str; 17] = [
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
const STAYED: [&str; 25] = [
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
/// These are always used. The others are used if at least one of their values is known.
const SURELY_STAYED: [&str; 6] = [
    "subscribed",
    "issubscribed",
    "emailsubscribed",
    "subscribedtoemail",
    "subscribedtoemails",
    "emailmarketingconsent",
];
const SURELY_STATUS: [&str; 9] = [
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
/// Columns with these in their names hold something else, such as a reason or a link.
const ELSE: [&str; 11] = [
    "url", "link", "href", "reason", "campaign", "title", "count", "token", "comment", "feedback",
    "message",
];
/// Columns about other channels than e-mail, or about money and sales.
const OTHER_CHANNELS: [&str; 5] = ["sms", "phone", "whatsapp", "push", "postal"];
const OTHER_STATUS: [&str; 10] = [
    "payment", "order", "billing", "lead", "deal", "ticket", "stripe", "plan", "marital", "employ",
];

/// Returns the meaning of a column with this name, and whether that is certain before its values are
/// seen. Returns `None` for a column that is about something else.
pub(super) fn kind(name: &str) -> Option<(Kind, bool)> {
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&ELSE) || has(&OTHER_CHANNELS) && !name.contains("email") {
        return None;
    }
    if has(&LEFT) {
        Some((Kind::Left, true))
    } else if STAYED.contains(&name) {
        Some((Kind::Stayed, SURELY_STAYED.contains(&name)))
    } else if SURELY_STATUS.contains(&name) {
        Some((Kind::Status, true))
    } else if name == "state" || name.contains("status") && !has(&OTHER_STATUS) {
        Some((Kind::Status, false))
    } else {
        (!name.is_empty()).then_some((Kind::Other, false))
    }
}

/// Words for people who have left, as [`bare`] makes them: of Mailchimp, Brevo, Klaviyo, HubSpot,
/// ConvertKit, MailerLite, beehiiv, Constant Contact and listmonk.
const GONE: [&str; 41] = [
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
];
/// Words for people who are on the other list.
const PRESENT: [&str; 15] = [
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
];
/// Words that mean this whatever the column is called.
const SURELY_GONE: [&str; 16] = [
    "unsubscribed",
    "unsub",
    "nonsubscribed",
    "notsubscribed",
    "unsubscribedfromall",
    "bounced",
    "hardbounced",
    "complained",
    "spamcomplaint",
    "markedasspam",
    "optedout",
    "blacklisted",
    "blocklisted",
    "suppressed",
    "donotcontact",
    "abgemeldet",
];
const YES: [&str; 9] = ["yes", "true", "1", "y", "t", "on", "x", "ja", "checked"];
const NO: [&str; 8] = ["no", "false", "0", "n", "f", "off", "never", "nein"];
/// Words that some programs write into an empty cell.
const NOTHING: [&str; 7] = ["", "none", "null", "nil", "na", "nan", "undefined"];

/// Reduces a text to lowercase letters and digits, to compare names and statuses.
pub(super) fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a value means "empty": `-`, `N/A`, `[]` or `0000-00-00 00:00:00`.
pub(super) fn is_nothing(text: &str) -> bool {
    let bare = bare(text);
    NOTHING.contains(&&*bare) && (!has_sign(text) || ["[]", "{}"].contains(&text.trim()))
        || bare.len() > 1 && bare.bytes().all(|byte| byte == b'0')
}

/// Whether a value means that there is no time.
pub(super) fn is_no_time(text: &str) -> bool {
    is_nothing(text) || NO.contains(&&*bare(text))
}

/// Whether a value is empty, a yes, a no, a number or a time.
pub(super) fn is_plain(text: &str) -> bool {
    let word = bare(text);
    is_nothing(text)
        || YES.contains(&&*word)
        || NO.contains(&&*word)
        || !word.contains(char::is_alphabetic)
        || plausible_time(text).is_some()
}

/// Whether a text without letters has a meaning all the same, such as `✓` or `?`.
fn has_sign(text: &str) -> bool {
    let dashes = ['-', '–', '—', '.', '/', '_'];
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !dashes.contains(&c);
    bare(text).is_empty() && text.contains(is_sign)
}

/// Classifies a value of a column of this kind.
pub(super) fn says(kind: Kind, text: &str) -> Says {
    let (text, word) = (text.trim(), bare(text));
    let word = &*word;
    if kind == Kind::Other {
        let is_gone = SURELY_GONE.contains(&word);
        return if is_gone {
            Says::Unknown
        } else {
            Says::Nothing
        };
    }
    let if_yes = |is_yes: bool| match kind {
        Kind::Status | Kind::Other => Says::Unknown,
        Kind::Left | Kind::Stayed if (kind == Kind::Left) == is_yes => Says::Left,
        Kind::Left | Kind::Stayed => Says::Stayed,
    };
    if is_nothing(text) {
        Says::Nothing
    } else if GONE.contains(&word) {
        Says::Left
    } else if PRESENT.contains(&word) {
        Says::Stayed
    } else if YES.contains(&word) || ["✓", "✔"].contains(&text) {
        if_yes(true)
    } else if NO.contains(&word) {
        if_yes(false)
    } else {
        match (kind, plausible_time(text)) {
            (Kind::Left, _) if is_link(text) => Says::Link,
            (Kind::Left, Some(true)) => Says::LeftAt,
            (Kind::Left | Kind::Stayed, Some(false)) => Says::Nothing,
            (Kind::Stayed, Some(true)) => Says::Stayed,
            _ => Says::Unknown,
        }
    }
}

fn is_link(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("://") || text.starts_with("mailto:") || text.starts_with("www.")
}

/// Returns `true` for a plausible time and `false` for one before there was e-mail, which means "never".
/// The order of day and month does not matter here.
fn plausible_time(text: &str) -> Option<bool> {
    let (text, _) = text.split_once('[').unwrap_or((text, ""));
    if let Some(time) = time::parse(text).ok().or_else(|| since_1970(text)) {
        return match implausible(time) {
            None => Some(true),
            Some(_) if time < SystemTime::now() => Some(false),
            Some(_) => None,
        };
    }
    let mut numbers = 0;
    let mut has_month = false;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_same = |c: char| {
            if first.is_ascii_digit() {
                c.is_ascii_digit()
            } else {
                c.is_alphabetic() && first.is_alphabetic()
            }
        };
        let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
        if end == 0 {
            if !" /.-:,+T[]()_".contains(first) {
                return None;
            }
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let word;
        (word, rest) = rest.split_at(end);
        if first.is_ascii_digit() {
            numbers += 1;
        } else if is_word_of_times(word, &MONTHS) {
            has_month = true;
        } else if !is_word_of_times(word, &DAYS) && !IN_TIMES.contains(&&*word.to_lowercase()) {
            return None;
        }
    }
    (numbers >= 3 || has_month && numbers == 2).then_some(true)
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];
const IN_TIMES: [&str; 12] = [
    "t", "z", "am", "pm", "a", "p", "m", "utc", "gmt", "at", "th", "cet",
];

/// Whether a word is one of these, or its first letters.
fn is_word_of_times(word: &str, words: &[&str]) -> bool {
    let word = word.to_lowercase();
    word.len() >= 3 && words.iter().any(|whole| whole.starts_with(&word))
}

/// Seconds or milliseconds since 1970, as databases have them.
fn since_1970(text: &str) -> Option<SystemTime> {
    let number: u64 = text.parse().ok()?;
    let seconds = match text.len() {
        9 | 10 => number,
        12 | 13 => number / 1000,
        _ => return None,
    };
    SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds))
}
