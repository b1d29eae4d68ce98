//! Compares texts of an imported file, and quotes them in messages.

/// Returns the form in which names of columns and values are compared.
pub(super) fn fold(text: &str) -> String {
    text.trim().to_lowercase()
}

/// Maximum length of a quoted text, in characters.
const QUOTED_MAX_CHARS: usize = 60;

/// Whether a value can be shown in full. A long one may be the words of a person, and addresses are never printed.
pub(super) fn is_showable(value: &str) -> bool {
    !value.contains(['@', '＠']) && value.chars().count() <= QUOTED_MAX_CHARS
}

/// Formats a text for a message: short, on one line, quoted, and without addresses, which are never printed.
pub(super) fn quoted(text: &str) -> String {
    if text.contains(['@', '＠']) {
        return "a value with an address in it".to_owned();
    }
    let mut short: String = text.chars().take(QUOTED_MAX_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// Quotes an argument for a shell, if it needs that. What a terminal would not print as it is, is escaped (`$'…'` of bash and
/// zsh).
pub(super) fn shell_quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        return argument.to_owned();
    }
    let is_hidden = |c: char| c.escape_debug().len() > 1 && !"'\"\\".contains(c);
    if !argument.contains(is_hidden) {
        return format!("'{}'", argument.replace('\'', r"'\''"));
    }
    let escaped = argument.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if is_hidden(c) => format!("\\U{:08x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("$'{}'", escaped.collect::<String>())
}
