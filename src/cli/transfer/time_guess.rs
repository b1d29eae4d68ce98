//! Whether a text is a time that can be right, however it is written.

use std::time::SystemTime;

use crate::cli::time::{self, time_problem};

/// Returns `true` for a plausible time and `false` for one before there was e-mail, which means "never".
/// The order of day and month does not matter here.
pub(crate) fn guess_time(text: &str) -> Option<bool> {
    let (text, _) = text.split_once('[').unwrap_or((text, ""));
    if let Some(time) = time::parse(text).ok().or_else(|| parse_unix_time(text)) {
        return match time_problem(time) {
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
        } else if is_abbreviation_of(word, &MONTHS) {
            has_month = true;
        } else if !is_abbreviation_of(word, &DAYS) && !TIME_WORDS.contains(&&*word.to_lowercase()) {
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
const TIME_WORDS: [&str; 12] = [
    "t", "z", "am", "pm", "a", "p", "m", "utc", "gmt", "at", "th", "cet",
];

/// Whether a word is one of these, or its first letters.
fn is_abbreviation_of(word: &str, words: &[&str]) -> bool {
    let word = word.to_lowercase();
    word.len() >= 3 && words.iter().any(|whole| whole.starts_with(&word))
}

/// Seconds or milliseconds since 1970, as databases have them.
fn parse_unix_time(text: &str) -> Option<SystemTime> {
    let number: u64 = text.parse().ok()?;
    let seconds = match text.len() {
        9 | 10 => number,
        12 | 13 => number / 1000,
        _ => return None,
    };
    SystemTime::UNIX_EPOCH.checked_add(std::time::Duration::from_secs(seconds))
}
