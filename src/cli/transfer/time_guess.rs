//! Recognizes times in any of the usual notations.

use std::time::{Duration, SystemTime};

use crate::cli::time::{self, time_problem};

/// What a text that looks like a time means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TimeGuess {
    Valid,
    /// A time before e-mail existed, such as 1970-01-01, which programs write for "never".
    Never,
}

/// Recognizes a time. The order of day and month does not matter, because the time itself is not needed.
/// Returns `None` for a time in the future and for any other text.
pub(crate) fn guess_time(text: &str) -> Option<TimeGuess> {
    let (text, _) = text.split_once('[').unwrap_or((text, ""));
    if let Some(time) = time::parse(text).ok().or_else(|| parse_unix_time(text)) {
        return match time_problem(time) {
            None => Some(TimeGuess::Valid),
            Some(_) if time < SystemTime::now() => Some(TimeGuess::Never),
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
    (numbers >= 3 || has_month && numbers == 2).then_some(TimeGuess::Valid)
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

/// Whether a word is one of `words`, or at least its first three letters.
fn is_abbreviation_of(word: &str, words: &[&str]) -> bool {
    let word = word.to_lowercase();
    word.len() >= 3 && words.iter().any(|whole| whole.starts_with(&word))
}

/// Parses seconds or milliseconds since 1970, as databases write them.
pub(super) fn parse_unix_time(text: &str) -> Option<SystemTime> {
    let number: u64 = text.parse().ok()?;
    let since_epoch = match text.len() {
        9 | 10 => Duration::from_secs(number),
        12 | 13 => Duration::from_millis(number),
        _ => return None,
    };
    SystemTime::UNIX_EPOCH.checked_add(since_epoch)
}
