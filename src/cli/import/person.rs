//! A row of a file as a person, by a plan.

use std::time::SystemTime;

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::{
    field::Field,
    plan::{Plan, Use, Verdict},
    times,
};
use crate::{
    cli::{address::without_name, time::time_problem},
    waitlist::{Email, InvalidEmail, WaitlistEntry},
};

/// A person as a row describes them.
pub(super) struct Person {
    pub(super) verdict: Verdict,
    /// The position of the column that says so, if one does.
    pub(super) decided_by: Option<usize>,
    pub(super) email: Email,
    /// The entry of a person who stays.
    pub(super) entry: Option<WaitlistEntry>,
    /// The row has no sign-up time, so the entry has the current time.
    pub(super) has_no_time: bool,
    /// The source has other characters than a source may have, so the entry has none.
    pub(super) has_invalid_source: bool,
}

/// Why a row cannot be read.
#[derive(Clone, Debug, Error)]
pub(super) enum InvalidRow {
    #[error("missing address")]
    MissingAddress,
    #[error("invalid address{}: an address needs an @", .0.as_deref().map(|word| format!(" {word:?}")).unwrap_or_default())]
    MissingAt(Option<String>),
    #[error("invalid address: {0}")]
    InvalidEmail(InvalidEmail),
    #[error("invalid time in column {0}; see --date-format")]
    InvalidTime(&'static str),
    #[error("{0}")]
    Malformed(&'static str),
}

const NOT_UTF_8: InvalidRow = InvalidRow::Malformed("invalid UTF-8; save the file as UTF-8");
/// Spreadsheets leave out empty cells at the end, and so does a download that broke off.
const CUT: InvalidRow = InvalidRow::Malformed(
    "the row ends before the column that says who has left; add the missing cells, or export the file again",
);

/// Reads a row. Without a sign-up time, the entry has the time `now`.
///
/// # Errors
/// [`InvalidRow`], also in the row of a person who is not added: another row may have the same person.
pub(super) fn read(cells: &[String], plan: &Plan, now: SystemTime) -> Result<Person, InvalidRow> {
    let (verdict, decided_by) = verdict(cells, plan)?;
    let email = parse_email(cell(cells, plan, Field::Email)?)?;
    if verdict != Verdict::Stays {
        return Ok(Person {
            verdict,
            decided_by,
            email,
            entry: None,
            has_no_time: false,
            has_invalid_source: false,
        });
    }
    let joined_at = time(cells, plan, Field::JoinedAt)?;
    let mut entry = WaitlistEntry::new(email.clone(), joined_at.unwrap_or(now));
    let source = cell(cells, plan, Field::Source)?;
    entry.source = source.parse().ok();
    entry.confirmed_at = time(cells, plan, Field::ConfirmedAt)?;
    entry.asked_at = time(cells, plan, Field::AskedAt)?;
    Ok(Person {
        verdict,
        decided_by,
        email,
        has_no_time: joined_at.is_none(),
        has_invalid_source: entry.source.is_none() && !source.is_empty(),
        entry: Some(entry),
    })
}

/// Returns what the row says about the person, and the column that says it.
fn verdict(cells: &[String], plan: &Plan) -> Result<(Verdict, Option<usize>), InvalidRow> {
    let mut verdict = (plan.everybody.unwrap_or(Verdict::Stays), None);
    for (at, used) in plan.uses.iter().enumerate() {
        if let Some(Use::Decides(decisions)) = used
            && verdict.0 != Verdict::Left
        {
            let value = match cells.get(at) {
                Some(value) => value,
                None if plan.is_table => return Err(CUT),
                None => "",
            };
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(NOT_UTF_8);
            }
            // The plan lists all values.
            let decided = decisions.decide(value).unwrap_or(Verdict::Undecided);
            if decided > verdict.0 {
                verdict = (decided, Some(at));
            }
        }
    }
    Ok(verdict)
}

/// Returns the cell of a field without the white space around it, or an empty one.
fn cell<'a>(cells: &'a [String], plan: &Plan, field: Field) -> Result<&'a str, InvalidRow> {
    let is_field = |it: &Option<Use>| matches!(it, Some(Use::Map(mapped)) if *mapped == field);
    let at = plan.uses.iter().position(is_field);
    let cell = at
        .and_then(|at| cells.get(at))
        .map_or("", |cell| cell.trim());
    // Other text was replaced when the row was read.
    match cell.contains(char::REPLACEMENT_CHARACTER) {
        true => Err(NOT_UTF_8),
        false => Ok(cell),
    }
}

fn time(cells: &[String], plan: &Plan, field: Field) -> Result<Option<SystemTime>, InvalidRow> {
    let text = cell(cells, plan, field)?;
    if times::means_no_time(text) {
        return Ok(None);
    }
    let time = times::parse(text, plan.date_format.as_ref());
    let time = time.ok_or(InvalidRow::InvalidTime(field.name()))?;
    match time_problem(time) {
        // The clock of a server may have been wrong.
        Some(problem) if !plan.is_own => Err(InvalidRow::Malformed(problem)),
        _ => Ok(Some(time)),
    }
}

fn parse_email(typed: &str) -> Result<Email, InvalidRow> {
    // Google writes several addresses of a person like this.
    let first = typed.split(" ::: ").next().unwrap_or_default();
    let typed = without_name(first);
    Email::parse(typed).map_err(|error| match error {
        InvalidEmail::Empty => InvalidRow::MissingAddress,
        InvalidEmail::MissingAt => InvalidRow::MissingAt(plain_word(typed)),
        error => InvalidRow::InvalidEmail(error),
    })
}

/// Maximum length of a plain word, in characters.
const PLAIN_WORD_MAX_CHARS: usize = 20;

/// Returns a text if it is one short word of letters, such as `bob`. Other texts may be an address in disguise (`bob at
/// example.com`) or a telephone number, which are never printed.
fn plain_word(text: &str) -> Option<String> {
    let is_plain = text.chars().all(char::is_alphabetic);
    let is_short = text.chars().nth(PLAIN_WORD_MAX_CHARS).is_none();
    (is_plain && is_short).then(|| text.to_owned())
}

impl Serialize for InvalidRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
