//! The words by which other programs say that somebody has left their list.

use super::{
    column_kind::{ColumnKind, split_words},
    time_guess::guess_time,
};

/// The meaning of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Meaning {
    /// It is empty, or means that: `-`, `N/A`.
    Empty,
    /// A link by which people can leave.
    Link,
    Subscribed,
    /// A yes in a column that only may say who agrees.
    Agreed,
    Unsubscribed,
    UnsubscribedAt,
    Unknown,
}

/// Words for people who have left, as [`normalize`] makes them: of Mailchimp, Brevo, Klaviyo, HubSpot,
/// ConvertKit, MailerLite, beehiiv, Constant Contact and listmonk.
const UNSUBSCRIBED_WORDS: [&str; 42] = [
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
/// Words for people who are on the other list.
const SUBSCRIBED_WORDS: [&str; 22] = [
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
/// Of those, the ones that mean something else in most columns.
const AMBIGUOUS_WORDS: [&str; 1] = ["left"];
/// Texts with one of these say that somebody has left, whatever else they say, and in any column.
const UNSUBSCRIBED_PARTS: [&str; 19] = [
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
/// Texts with one of these may say that somebody agrees no longer.
const WITHDRAWN_PARTS: [&str; 8] = [
    "withdr", "revok", "declin", "refus", "reject", "denied", "longer", "lapsed",
];
/// Words that make the opposite of a text.
const NEGATIONS: [&str; 8] = ["no", "not", "non", "never", "dont", "nein", "nicht", "kein"];
const YES_WORDS: [&str; 9] = ["yes", "true", "1", "y", "t", "on", "x", "ja", "checked"];
const NO_WORDS: [&str; 8] = ["no", "false", "0", "n", "f", "off", "never", "nein"];
/// Words that some programs write into an empty cell.
const EMPTY_WORDS: [&str; 7] = ["", "none", "null", "nil", "na", "nan", "undefined"];

/// Reduces a text to lowercase letters and digits, to compare names and statuses.
pub(crate) fn normalize(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a value means "empty": `-`, `N/A`, `[]` or `0000-00-00 00:00:00`.
pub(crate) fn is_empty_value(text: &str) -> bool {
    let normalized = normalize(text);
    EMPTY_WORDS.contains(&&*normalized) && (!is_symbol(text) || ["[]", "{}"].contains(&text.trim()))
        || normalized.len() > 1 && normalized.bytes().all(|byte| byte == b'0')
}

/// Whether a value means that there is no time.
pub(crate) fn means_no_time(text: &str) -> bool {
    is_empty_value(text) || NO_WORDS.contains(&&*normalize(text))
}

/// Whether a value is empty, a yes, a no, a number or a time.
pub(crate) fn is_generic_value(text: &str) -> bool {
    let word = normalize(text);
    is_empty_value(text)
        || YES_WORDS.contains(&&*word)
        || NO_WORDS.contains(&&*word)
        || !word.contains(char::is_alphabetic)
        || guess_time(text).is_some()
}

/// Whether a text without letters has a meaning all the same, such as `✓` or `?`.
fn is_symbol(text: &str) -> bool {
    let dashes = ['-', '–', '—', '.', '/', '_'];
    let is_sign = |c: char| !c.is_alphanumeric() && !c.is_whitespace() && !dashes.contains(&c);
    normalize(text).is_empty() && text.contains(is_sign)
}

/// Classifies a value of a column of this kind.
pub(crate) fn classify(kind: ColumnKind, text: &str) -> Meaning {
    let text = text.trim();
    match kind {
        ColumnKind::Unsubscribed | ColumnKind::Subscribed | ColumnKind::Status => {
            classify_decisive(kind, text)
        }
        ColumnKind::MaybeUnsubscribed
        | ColumnKind::MaybeSubscribed
        | ColumnKind::Detail
        | ColumnKind::Other => {
            if may_mean_unsubscribed(kind, text) {
                Meaning::Unknown
            } else if kind == ColumnKind::MaybeSubscribed && is_yes(text) {
                Meaning::Agreed
            } else {
                Meaning::Empty
            }
        }
    }
}

/// Classifies a value of a column that says who has left.
fn classify_decisive(kind: ColumnKind, text: &str) -> Meaning {
    let word = &*normalize(text);
    let from_flag = |is_yes: bool| match kind {
        ColumnKind::Unsubscribed | ColumnKind::Subscribed
            if (kind == ColumnKind::Unsubscribed) == is_yes =>
        {
            Meaning::Unsubscribed
        }
        ColumnKind::Unsubscribed | ColumnKind::Subscribed => Meaning::Subscribed,
        _ => Meaning::Unknown,
    };
    if is_empty_value(text) {
        Meaning::Empty
    } else if UNSUBSCRIBED_WORDS.contains(&word) {
        Meaning::Unsubscribed
    } else if SUBSCRIBED_WORDS.contains(&word) {
        Meaning::Subscribed
    } else if is_yes(text) {
        from_flag(true)
    } else if NO_WORDS.contains(&word) {
        from_flag(false)
    } else {
        match (kind, guess_time(text)) {
            (ColumnKind::Unsubscribed, _) if is_link(text) => Meaning::Link,
            (ColumnKind::Unsubscribed, Some(true)) => Meaning::UnsubscribedAt,
            (ColumnKind::Unsubscribed | ColumnKind::Subscribed, Some(false)) => Meaning::Empty,
            (ColumnKind::Subscribed, Some(true)) => Meaning::Subscribed,
            _ => Meaning::Unknown,
        }
    }
}

/// Whether a value of a column that does not decide it may say that somebody has left.
fn may_mean_unsubscribed(kind: ColumnKind, text: &str) -> bool {
    let word = normalize(text);
    let is_time = || guess_time(text) == Some(true);
    match kind {
        _ if is_empty_value(text) => false,
        _ if !unsubscribed_parts(text).is_empty() => true,
        ColumnKind::MaybeUnsubscribed => {
            let is_number = text
                .chars()
                .all(|c| c.is_ascii_digit() || " .,+-%".contains(c));
            let is_no =
                NO_WORDS.contains(&&*word) || SUBSCRIBED_WORDS.contains(&&*word) || is_link(text);
            let is_never = guess_time(text) == Some(false);
            is_yes(text) || is_time() || !is_number && !is_no && !is_never
        }
        ColumnKind::MaybeSubscribed => {
            let is_cross = is_symbol(text) && !is_yes(text);
            NO_WORDS.contains(&&*word) || is_cross || may_mean_withdrawn(kind, text)
        }
        // Counts and tokens are numbers too.
        ColumnKind::Detail => {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            !is_number && (is_yes(text) || is_time())
        }
        ColumnKind::Unsubscribed
        | ColumnKind::Subscribed
        | ColumnKind::Status
        | ColumnKind::Other => false,
    }
}

/// Whether an unknown value makes a question of a column that may be about something else.
pub(crate) fn may_mean_withdrawn(kind: ColumnKind, text: &str) -> bool {
    let word = normalize(text);
    let is_negated = || {
        let is_negation = |it: &String| NEGATIONS.contains(&&**it);
        kind != ColumnKind::Status
            && split_words(&text.replace(['\'', '’'], ""))
                .iter()
                .any(is_negation)
    };
    WITHDRAWN_PARTS.iter().any(|part| word.contains(part))
        || is_negated()
        || !unsubscribed_parts(text).is_empty()
}

/// The texts that a question about an unknown value shows, which are also those that an answer can name.
pub(crate) fn question_parts(kind: ColumnKind, text: &str) -> Vec<String> {
    let parts = if kind.is_decisive() {
        Vec::new()
    } else {
        unsubscribed_parts(text)
    };
    if !parts.is_empty() {
        return parts;
    }
    let is_time = !kind.is_decisive() && guess_time(text) == Some(true);
    vec![if is_time { A_TIME } else { text }.to_owned()]
}

/// Shown in place of single times.
pub(crate) const A_TIME: &str = "a time";

/// The parts of a text that plainly say that somebody has left: a text may be a list.
fn unsubscribed_parts(text: &str) -> Vec<String> {
    let whole = normalize(text);
    let may_be = UNSUBSCRIBED_WORDS
        .iter()
        .chain(&UNSUBSCRIBED_PARTS)
        .any(|word| whole.contains(word));
    if !may_be {
        return Vec::new();
    }
    let is_unsubscribed = |part: &String| {
        let word = normalize(part);
        let is_known = UNSUBSCRIBED_WORDS.contains(&&*word) && !AMBIGUOUS_WORDS.contains(&&*word);
        is_known
            || UNSUBSCRIBED_PARTS.iter().any(|it| word.contains(it))
            || split_words(part).iter().any(|it| it == "unsub")
    };
    list_items(text)
        .into_iter()
        .filter(is_unsubscribed)
        .collect()
}

/// The items of a text that is a list: `vip; news (unsubscribed)` has three. Links are left out.
pub(crate) fn list_items(text: &str) -> Vec<String> {
    let is_no_link = |word: &&str| !is_link(word);
    let text: Vec<_> = text.split_whitespace().filter(is_no_link).collect();
    let text = text.join(" ");
    let items = text.split([
        ';', ',', '|', '/', ':', '=', '"', '(', ')', '[', ']', '{', '}',
    ]);
    let items = items.map(str::trim).filter(|item| !item.is_empty());
    items.map(str::to_owned).collect()
}

fn is_yes(text: &str) -> bool {
    YES_WORDS.contains(&&*normalize(text)) || ["✓", "✔", "☑", "✅"].contains(&text)
}

fn is_link(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("://") || text.starts_with("mailto:") || text.starts_with("www.")
}
