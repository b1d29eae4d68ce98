//! The times of an imported file: RFC 3339 (ISO 8601), those of Go, and those that `--date-format` describes.

use std::{collections::HashSet, time::SystemTime};

use anyhow::ensure;
use jiff::{
    Timestamp,
    fmt::strtime::{self, BrokenDownTime},
};

use crate::cli::time;

/// Notations of the time of day after a date.
const CLOCKS: [&str; 4] = ["%I:%M:%S %p", "%I:%M %p", "%H:%M:%S%.f", "%H:%M"];
/// Cells that mean "no time".
const NO_TIMES: [&str; 4] = ["", "null", "NULL", "0000-00-00 00:00:00"];
/// The formats that the preview tries, the day first.
const COMMON_FORMATS: [&str; 7] = [
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d.%m.%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%b %d, %Y",
];
/// A time whose day, month and year all differ, and cannot be taken for each other: 2026-09-08T07:06:05Z.
const SAMPLE: Timestamp = Timestamp::constant(1_788_851_165, 0);

/// Returns whether a cell means that there is no time.
pub(super) fn means_no_time(text: &str) -> bool {
    NO_TIMES.contains(&text.trim())
}

/// Parses a time. Without a zone it is in UTC. Another column may have RFC 3339 beside a format, unless the format also
/// begins with the year: `%Y-%d-%m` would read a date in two ways.
pub(super) fn parse(text: &str, format: Option<&str>) -> Option<SystemTime> {
    match format {
        Some(format) if format.starts_with("%Y") => parse_with(format, text),
        Some(format) => parse_with(format, text).or_else(|| parse_default(text)),
        None => parse_default(text),
    }
}

/// Parses RFC 3339, or a time as Go writes it: `2026-11-21 08:00:00.5 +0100 CET`, or only `UTC` at the end.
fn parse_default(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    let in_utc = text.trim_end_matches(" UTC").trim_end_matches(" GMT");
    // The offset says the same as the name of the zone after it.
    let with_offset = text
        .trim_end_matches(|c: char| c.is_ascii_uppercase())
        .trim_end();
    let go = || Timestamp::strptime("%Y-%m-%d %H:%M:%S%.f %z", with_offset).ok();
    time::parse(in_utc).or_else(|| go().map(Into::into))
}

/// Parses a text that begins with a date in this format. Unless the format has one, a time of day may follow, and a zone
/// such as `+01:00`, `UTC` or `GMT+1`.
fn parse_with(format: &str, text: &str) -> Option<SystemTime> {
    // Browsers put a narrow space before AM and PM.
    let text = text.trim().replace(['\u{a0}', '\u{202f}'], " ");
    let (parsed, length) = BrokenDownTime::parse_prefix(format, &text).ok()?;
    let rest = text.get(length..)?;
    if let Ok(timestamp) = parsed.to_timestamp() {
        return rest.is_empty().then(|| timestamp.into());
    }
    // `%Y` also reads the `26` of `21.11.26`.
    let date = parsed.to_date().ok().filter(|date| date.year() >= 1000)?;
    let rest = rest.trim_start_matches([' ', ',', 'T']);
    let clock = |format: &&str| {
        let (parsed, length) = BrokenDownTime::parse_prefix(format, rest).ok()?;
        Some((parsed.to_time().ok()?, rest.get(length..)?))
    };
    let clock = CLOCKS
        .iter()
        .find_map(clock)
        .filter(|_| parsed.hour().is_none());
    let (clock, zone) = clock.or_else(|| Some((parsed.to_time().ok()?, rest)))?;
    let zone = zone.trim().trim_start_matches("GMT");
    let zone = zone.trim_start_matches("UTC");
    // RFC 3339 has two digits.
    let zone = match zone.as_bytes() {
        [b'+' | b'-', _] | [b'+' | b'-', _, b':', ..] => format!("{}0{}", &zone[..1], &zone[1..]),
        _ => zone.to_owned(),
    };
    time::parse(&format!("{date}T{clock}{zone}"))
}

/// Checks that a date can be written in a format, and read again.
pub(super) fn parse_format(format: &str) -> anyhow::Result<String> {
    let written = strtime::format(format, SAMPLE).unwrap_or_default();
    ensure!(
        day(format, &written).as_deref() == Some("8 September 2026"),
        "write the date with %d, %m and %Y, as in %d.%m.%Y for 21.11.2026; a time of day after it is recognised; %s is \
         seconds since 1970"
    );
    Ok(format.to_owned())
}

/// Returns the first time that means different days in these formats, or else the first one.
pub(super) fn distinguishing<'a>(
    formats: &[&str],
    mut times: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let days = |time: &&str| HashSet::<_>::from_iter(formats.iter().map(|it| day(it, time)));
    let differing = times.clone().find(|time| days(time).len() > 1);
    differing.or_else(|| times.next())
}

/// Returns the day that a time in a format means: `21 November 2026`.
fn day(format: &str, time: &str) -> Option<String> {
    let time = Timestamp::try_from(parse_with(format, time)?).ok()?;
    Some(time.strftime("%-d %B %Y").to_string())
}

/// Returns the common formats in which all these times can be read. With two of them, nobody but the owner knows
/// whether the day or the month comes first.
pub(super) fn candidates<'a>(times: impl Iterator<Item = &'a str> + Clone) -> Vec<&'static str> {
    let reads_all = |format: &&str| times.clone().all(|it| parse_with(format, it).is_some());
    COMMON_FORMATS.into_iter().filter(reads_all).collect()
}
