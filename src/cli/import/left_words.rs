//! The words by which `--ignore-rest` and `--nobody-left` notice that a column may say who has left. They only stop an
//! import until the column is named: more words would never be enough to decide by.

use super::text::fold;

/// Parts of names of columns in which any text may mean that a person has left.
const LEFT_NAMES: &str = "\
    unsub optout optedout blacklist blocklist suppress bounce complain clean donotemail \
    donotmail donotcontact leftat lefton deleted removed cancelled canceled abgemeld abmeld désab désinscri";
/// Parts of names of columns in which a no may mean it.
const CONSENT_NAMES: &str =
    "optin optedin consent subscribe newsletter marketing permission einwillig";
/// Parts of names about something else.
const OTHER_NAMES: &str = "sms phone whatsapp push reason campaign title url link token source";
/// Values that mean it in any column.
const LEFT_VALUES: &str = "\
    unsubscribe unsubscribed notsubscribed nonsubscribed optedout optout bounce bounced hardbounce \
    hardbounced softbounce softbounced cleaned complained blacklisted blocklisted suppressed \
    donotcontact left unsub abgemeldet désabonné";
/// Answers to the question that the name of a column may be.
const NO_ANSWERS: &str = "no non nein";
/// What programs write if there is no time of leaving, or no reason.
const NOTHING: &str = "null none nan nat nil na undefined 00000000 00000000000000";
/// What also means no where a name is about consent.
const NO_VALUES: &str = "n f false 0 never off";

/// What a value in a column may mean, by its words.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NameKind {
    Left,
    Consent,
    /// Any name, such as a question in another language.
    Unknown,
    /// Something that says nothing about who has left.
    Other,
}

/// Returns what the name of a column may mean.
pub(super) fn name_kind(name: &str) -> NameKind {
    let name = letters(name);
    let has = |parts: &str| parts.split_whitespace().any(|part| name.contains(part));
    let is_left = has(LEFT_NAMES) || name == "left";
    match (has(OTHER_NAMES), is_left, has(CONSENT_NAMES)) {
        (true, ..) => NameKind::Other,
        (_, true, _) => NameKind::Left,
        (_, _, true) => NameKind::Consent,
        _ => NameKind::Unknown,
    }
}

/// Returns whether a value may mean that the person has left. A cell of tags has several values.
pub(super) fn may_mean_left(kind: NameKind, value: &str) -> bool {
    let mut parts = value.split([',', ';', '|', ':']).map(letters);
    let value = letters(value);
    let is_in = |values: &str| values.split_whitespace().any(|it| it == value);
    let is_answer = is_in(NO_ANSWERS);
    let is_no = is_answer || is_in(NO_VALUES);
    is_in(LEFT_VALUES)
        || parts.any(|part| LEFT_VALUES.split_whitespace().any(|it| it == part))
        || match kind {
            NameKind::Left => !value.is_empty() && !is_no && !is_in(NOTHING),
            NameKind::Consent => is_no,
            NameKind::Unknown => is_answer,
            NameKind::Other => false,
        }
}

/// Returns the lowercase letters and digits of a text.
fn letters(text: &str) -> String {
    fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}
