//! Compares texts of an imported file, and quotes them in messages.

/// Reduces a text to lowercase letters and digits, to compare names and statuses.
pub(crate) fn normalize(text: &str) -> String {
    let letters = text.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Reduces a value or a column name to the form that is compared: its letters and digits if it has any,
/// otherwise the trimmed text.
pub(crate) fn comparison_key(text: &str) -> String {
    let key = normalize(text);
    if key.is_empty() {
        return text.trim().to_owned();
    }
    key
}

/// Splits a text into lowercase words, also at the capital letter of `leftAt`.
pub(crate) fn split_words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lowercase = false;
    for c in text.chars() {
        let is_end = !c.is_alphanumeric() || was_lowercase && c.is_uppercase();
        was_lowercase = c.is_lowercase();
        if is_end && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}

/// Maximum length of a quoted text, in characters.
const QUOTED_MAX_CHARS: usize = 60;

/// Replaces a text that contains an address, because addresses are never printed.
const REDACTED: &str = "@";

/// Shortens a text and hides addresses.
pub(crate) fn shorten(text: &str) -> String {
    if text.contains(['@', '＠']) {
        return REDACTED.to_owned();
    }
    let mut short: String = text.chars().take(QUOTED_MAX_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Formats a text for a message: short, without addresses, on one line, and quoted.
pub(crate) fn quoted(text: &str) -> String {
    match &*shorten(text) {
        REDACTED => "a value with an address in it".to_owned(),
        text => format!("{text:?}"),
    }
}

/// Maximum length of a plain word, in characters.
const PLAIN_WORD_MAX_CHARS: usize = 20;

/// Returns a text if it is one short word of letters, such as `bob`. Other texts in a column of addresses may be an
/// address in disguise (`bob at example.com`) or a telephone number, which are never printed.
pub(crate) fn plain_word(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = text.chars().all(char::is_alphabetic);
    let is_short = text.chars().nth(PLAIN_WORD_MAX_CHARS).is_none();
    (is_plain && is_short && !text.is_empty()).then(|| text.to_owned())
}

/// Escapes control characters, so that a file name stays on one line of a report.
pub(crate) fn escape_control(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            escaped.extend(c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    escaped
}
