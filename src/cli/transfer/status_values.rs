//! The words by which other programs say that somebody has left their list.

use super::{
    column_kind::{Kind, words},
    time_guess::plausible_time,
};

/// The meaning of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Says {
    /// It is empty, or means that: `-`, `N/A`.
    Nothing,
    /// A link by which people can leave.
    Link,
    Stayed,
    /// A yes in a column that only may say who agrees.
    Ticked,
    Left,
    LeftAt,
    Unknown,
}

/// Words for people who have left, as [`bare`] makes them: of Mailchimp, Brevo, Klaviyo, HubSpot,
/// ConvertKit, MailerLite, beehiiv, Constant Contact and listmonk.
const GONE: [&str; 42] = [
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
const PRESENT: [&str; 22] = [
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
const SELDOM_GONE: [&str; 1] = ["left"];
/// Texts with one of these say that somebody has left, whatever else they say, and in any column.
const PLAINLY_GONE: [&str; 19] = [
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
const WITHDRAWN: [&str; 8] = [
    "withdr", "revok", "declin", "refus", "reject", "denied", "longer", "lapsed",
];
/// Words that make the opposite of a text.
const NEGATIONS: [&str; 8] = ["no", "not", "non", "never", "dont", "nein", "nicht", "kein"];
const YES: [&str; 9] = ["yes", "true", "1", "y", "t", "on", "x", "ja", "checked"];
const NO: [&str; 8] = ["no", "false", "0", "n", "f", "off", "never", "nein"];
/// Words that some programs write into an empty cell.
const NOTHING: [&str; 7] = ["", "none", "null", "nil", "na", "nan", "undefined"];

/// Reduces a text to lowercase letters and digits, to compare names and statuses.
pub(crate) fn bare(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a value means "empty": `-`, `N/A`, `[]` or `0000-00-00 00:00:00`.
pub(crate) fn is_nothing(text: &str) -> bool {
    let bare = bare(text);
    NOTHING.contains(&&*bare) && (!has_sign(text) || ["[]", "{}"].contains(&text.trim()))
        || bare.len() > 1 && bare.bytes().all(|byte| byte == b'0')
}

/// Whether a value means that there is no time.
pub(crate) fn is_no_time(text: &str) -> bool {
    is_nothing(text) || NO.contains(&&*bare(text))
}

/// Whether a value is empty, a yes, a no, a number or a time.
pub(crate) fn is_plain(text: &str) -> bool {
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
pub(crate) fn says(kind: Kind, text: &str) -> Says {
    let text = text.trim();
    match kind {
        Kind::Left | Kind::Stayed | Kind::Status => decide(kind, text),
        Kind::MaybeLeft | Kind::MaybeStayed | Kind::Aside | Kind::Other => {
            if may_say_left(kind, text) {
                Says::Unknown
            } else if kind == Kind::MaybeStayed && is_yes(text) {
                Says::Ticked
            } else {
                Says::Nothing
            }
        }
    }
}

/// Classifies a value of a column that says who has left.
fn decide(kind: Kind, text: &str) -> Says {
    let word = &*bare(text);
    let if_yes = |is_yes: bool| match kind {
        Kind::Left | Kind::Stayed if (kind == Kind::Left) == is_yes => Says::Left,
        Kind::Left | Kind::Stayed => Says::Stayed,
        _ => Says::Unknown,
    };
    if is_nothing(text) {
        Says::Nothing
    } else if GONE.contains(&word) {
        Says::Left
    } else if PRESENT.contains(&word) {
        Says::Stayed
    } else if is_yes(text) {
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

/// Whether a value of a column that does not decide it may say that somebody has left.
fn may_say_left(kind: Kind, text: &str) -> bool {
    let word = bare(text);
    let is_time = || plausible_time(text) == Some(true);
    match kind {
        _ if is_nothing(text) => false,
        _ if !gone_parts(text).is_empty() => true,
        Kind::MaybeLeft => {
            let is_number = text
                .chars()
                .all(|c| c.is_ascii_digit() || " .,+-%".contains(c));
            let is_no = NO.contains(&&*word) || PRESENT.contains(&&*word) || is_link(text);
            let is_never = plausible_time(text) == Some(false);
            is_yes(text) || is_time() || !is_number && !is_no && !is_never
        }
        Kind::MaybeStayed => {
            let is_cross = has_sign(text) && !is_yes(text);
            NO.contains(&&*word) || is_cross || sounds_withdrawn(kind, text)
        }
        // Counts and tokens are numbers too.
        Kind::Aside => {
            let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
            !is_number && (is_yes(text) || is_time())
        }
        Kind::Left | Kind::Stayed | Kind::Status | Kind::Other => false,
    }
}

/// Whether an unknown value makes a question of a column that may be about something else.
pub(crate) fn sounds_withdrawn(kind: Kind, text: &str) -> bool {
    let word = bare(text);
    let is_negated = || {
        let is_negation = |it: &String| NEGATIONS.contains(&&**it);
        kind != Kind::Status
            && words(&text.replace(['\'', '’'], ""))
                .iter()
                .any(is_negation)
    };
    WITHDRAWN.iter().any(|part| word.contains(part)) || is_negated() || !gone_parts(text).is_empty()
}

/// The texts that a question about an unknown value shows, which are also those that an answer can name.
pub(crate) fn asked_parts(kind: Kind, text: &str) -> Vec<String> {
    let parts = if kind.decides() {
        Vec::new()
    } else {
        gone_parts(text)
    };
    if !parts.is_empty() {
        return parts;
    }
    let is_time = !kind.decides() && plausible_time(text) == Some(true);
    vec![if is_time { A_TIME } else { text }.to_owned()]
}

/// Shown in place of single times.
pub(crate) const A_TIME: &str = "a time";

/// The parts of a text that plainly say that somebody has left: a text may be a list.
fn gone_parts(text: &str) -> Vec<String> {
    let whole = bare(text);
    let may_be = GONE
        .iter()
        .chain(&PLAINLY_GONE)
        .any(|word| whole.contains(word));
    if !may_be {
        return Vec::new();
    }
    let is_gone = |part: &String| {
        let word = bare(part);
        let is_known = GONE.contains(&&*word) && !SELDOM_GONE.contains(&&*word);
        is_known
            || PLAINLY_GONE.iter().any(|it| word.contains(it))
            || words(part).iter().any(|it| it == "unsub")
    };
    items(text).into_iter().filter(is_gone).collect()
}

/// The items of a text that is a list: `vip; news (unsubscribed)` has three. Links are left out.
pub(crate) fn items(text: &str) -> Vec<String> {
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
    YES.contains(&&*bare(text)) || ["✓", "✔", "☑", "✅"].contains(&text)
}

fn is_link(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("://") || text.starts_with("mailto:") || text.starts_with("www.")
}
