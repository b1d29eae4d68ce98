//! Guesses from the name of a column whether its values say that a person has unsubscribed.

use super::{
    column_words::{
        AMBIGUOUS_NAMES, ASKING_WORDS, DETAIL_PARTS, MAYBE_SUBSCRIBED_PARTS,
        MAYBE_UNSUBSCRIBED_PARTS, MAYBE_UNSUBSCRIBED_WORDS, MESSAGE_PARTS, NEGATING_WORDS,
        OTHER_CHANNEL_PARTS, OTHER_STATUS_PARTS, STATUS_NAMES, STATUS_PARTS, SUBSCRIBED_NAMES,
        UNSUBSCRIBED_PARTS,
    },
    text::{normalize, split_words},
};

/// How the values of a column are read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ColumnKind {
    /// A yes or a time means "unsubscribed": `unsubscribed_at`, `EMAIL_BLACKLISTED`.
    Unsubscribed,
    /// A no means "unsubscribed": `subscribed`, `Email Marketing Consent`.
    Subscribed,
    /// A word may mean "unsubscribed": `status`.
    Status,
    /// A yes, a time or any other text may mean "unsubscribed": `Archived`, `Bounce type`.
    MaybeUnsubscribed,
    /// A no may mean "unsubscribed": `GDPR consent`, `Receive marketing emails`.
    MaybeSubscribed,
    /// A detail about unsubscribing, such as a reason or a link. A yes or a time may mean "unsubscribed".
    Detail,
    /// Any other column. The owner is asked only about a value that plainly means "unsubscribed".
    Other,
}

impl ColumnKind {
    /// Whether the values decide which people are skipped. For other columns, the owner decides.
    pub(crate) fn is_decisive(self) -> bool {
        matches!(self, Self::Unsubscribed | Self::Subscribed | Self::Status)
    }
}

/// A column that may say who has unsubscribed from the list that the file comes from.
#[derive(Debug)]
pub(crate) struct StatusColumn {
    pub(crate) at: usize,
    pub(crate) kind: ColumnKind,
    /// See [`ColumnGuess::is_certain`].
    pub(crate) is_certain: bool,
    /// The column is inside a JSON object, which may describe one of several lists: the owner is asked.
    pub(crate) is_nested: bool,
}

impl StatusColumn {
    /// A column at the top level that is used only if one of its values is known.
    pub(crate) fn new(at: usize, kind: ColumnKind) -> Self {
        Self {
            at,
            kind,
            is_certain: false,
            is_nested: false,
        }
    }
}

/// What the name of a column says about it.
pub(crate) struct ColumnGuess {
    pub(crate) kind: ColumnKind,
    /// Otherwise the column is used only if one of its values is known.
    pub(crate) is_certain: bool,
}

/// Guesses the kind of a column from its name. Returns `None` for a column about subscriptions on
/// another channel, such as SMS.
pub(crate) fn guess_column(name: &str) -> Option<ColumnGuess> {
    let normalized = normalize(name);
    let words = split_words(&name.replace(['\'', '’'], ""));
    let has_word = |sought: &[&str]| words.iter().any(|word| sought.contains(&&**word));
    let has = |parts: &[&str]| parts.iter().any(|part| normalized.contains(part));
    let is_unsubscribed = has(&UNSUBSCRIBED_PARTS);
    let is_maybe_unsubscribed = has(&MAYBE_UNSUBSCRIBED_PARTS)
        || has_word(&MAYBE_UNSUBSCRIBED_WORDS)
        || has_word(&NEGATING_WORDS) && has(&MESSAGE_PARTS);
    let is_maybe_subscribed =
        has(&MAYBE_SUBSCRIBED_PARTS) || has_word(&ASKING_WORDS) && has(&MESSAGE_PARTS);
    let is_about_unsubscribing = is_unsubscribed || is_maybe_unsubscribed;
    let is_about_subscription =
        is_about_unsubscribing || is_maybe_subscribed || normalized.contains("status");
    if has(&OTHER_CHANNEL_PARTS) && !normalized.contains("mail") && is_about_subscription {
        return None;
    }
    let name = &*normalized;
    let (kind, is_certain) = if has(&DETAIL_PARTS) {
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
    };
    Some(ColumnGuess { kind, is_certain })
}
