//! Classifies the values by which other programs say that a person has unsubscribed.

use super::{
    column_kind::ColumnKind,
    status_words::{
        AMBIGUOUS_WORDS, EMPTY_WORDS, NEGATIONS, NO_WORDS, SUBSCRIBED_WORDS, UNSUBSCRIBED_PARTS,
        UNSUBSCRIBED_WORDS, WITHDRAWN_PARTS, YES_WORDS,
    },
    text::{normalize, split_words},
    time_guess::{TimeGuess, guess_time},
};

/// The meaning of a value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Meaning {
    /// No value, or a text for none: `-`, `N/A`.
    Empty,
    /// A link to unsubscribe.
    Link,
    Subscribed,
    /// A yes in a column that may be about consent.
    Agreed,
    Unsubscribed,
    UnsubscribedAt,
    Unknown,
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

/// Whether a text without letters and digits still has a meaning, such as `✓` or `?`.
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

/// Classifies a value of a column whose values decide which people are skipped.
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
            (ColumnKind::Unsubscribed, Some(TimeGuess::Valid)) => Meaning::UnsubscribedAt,
            (ColumnKind::Unsubscribed | ColumnKind::Subscribed, Some(TimeGuess::Never)) => {
                Meaning::Empty
            }
            (ColumnKind::Subscribed, Some(TimeGuess::Valid)) => Meaning::Subscribed,
            _ => Meaning::Unknown,
        }
    }
}

/// Whether a value may mean "unsubscribed" in a column that does not decide it.
fn may_mean_unsubscribed(kind: ColumnKind, text: &str) -> bool {
    let word = normalize(text);
    let is_time = || guess_time(text) == Some(TimeGuess::Valid);
    match kind {
        _ if is_empty_value(text) => false,
        _ if !unsubscribed_parts(text).is_empty() => true,
        ColumnKind::MaybeUnsubscribed => {
            let is_number = text
                .chars()
                .all(|c| c.is_ascii_digit() || " .,+-%".contains(c));
            let is_no =
                NO_WORDS.contains(&&*word) || SUBSCRIBED_WORDS.contains(&&*word) || is_link(text);
            let is_never = guess_time(text) == Some(TimeGuess::Never);
            is_yes(text) || is_time() || !is_number && !is_no && !is_never
        }
        ColumnKind::MaybeSubscribed => {
            let is_cross = is_symbol(text) && !is_yes(text);
            NO_WORDS.contains(&&*word) || is_cross || may_mean_withdrawn(kind, text)
        }
        // A number may be a count or a token.
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

/// Whether an unknown value shows that an uncertain column is about unsubscribing, so the owner is asked.
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

/// The texts that a question about an unknown value shows. An option can name each of them.
pub(crate) fn question_parts(kind: ColumnKind, text: &str) -> Vec<String> {
    let parts = if kind.is_decisive() {
        Vec::new()
    } else {
        unsubscribed_parts(text)
    };
    if !parts.is_empty() {
        return parts;
    }
    let is_time = !kind.is_decisive() && guess_time(text) == Some(TimeGuess::Valid);
    vec![if is_time { A_TIME } else { text }.to_owned()]
}

/// Stands for all times of a column in questions and options.
pub(crate) const A_TIME: &str = "a time";

/// The items of a text that plainly mean "unsubscribed". A text may be a list.
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

/// Splits a text into its items, without links: `vip; news (unsubscribed)` has three.
pub(crate) fn list_items(text: &str) -> Vec<String> {
    let is_not_link = |word: &&str| !is_link(word);
    let text: Vec<_> = text.split_whitespace().filter(is_not_link).collect();
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
