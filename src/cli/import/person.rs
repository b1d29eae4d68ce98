//! A row of a file as a person, by a plan.

use std::time::SystemTime;

use serde::{Serialize, Serializer};
use thiserror::Error;

use super::{
    field::Field,
    plan::{Plan, Use, Verdict},
    table::Cells,
    times,
};
use crate::{
    cli::{address::without_name, time::time_problem},
    waitlist::{Email, InvalidEmail, WaitlistEntry},
};

/// A person as a row describes them.
#[derive(Clone, Debug)]
pub struct Person {
    /// The number of the first line of the row.
    pub line: u64,
    /// What the file says about the person.
    pub verdict: Verdict,
    /// Their address.
    pub email: Email,
    /// The entry of a person who stays.
    pub entry: Option<WaitlistEntry>,
    /// The row has no sign-up time, so the entry has the current time.
    pub(super) has_no_time: bool,
    /// The source has other characters than a source may have, so the entry has none.
    pub(super) has_invalid_source: bool,
}

/// Why a row cannot be read. It quotes nothing, because any text may be an address in disguise.
#[derive(Clone, Debug, Error)]
pub(super) enum InvalidRow {
    #[error("missing address")]
    MissingAddress,
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
pub(super) fn read(
    line: u64,
    cells: &Cells,
    plan: &Plan,
    now: SystemTime,
) -> Result<Person, InvalidRow> {
    let email = parse_email(cell(cells, plan, Field::Email)?)?;
    let mut person = Person {
        line,
        verdict: verdict(cells, plan)?,
        email: email.clone(),
        entry: None,
        has_no_time: false,
        has_invalid_source: false,
    };
    if person.verdict == Verdict::Stays {
        let joined_at = time(cells, plan, Field::JoinedAt)?;
        let mut entry = WaitlistEntry::new(email, joined_at.unwrap_or(now));
        let source = cell(cells, plan, Field::Source)?;
        entry.source = source.parse().ok();
        entry.confirmed_at = time(cells, plan, Field::ConfirmedAt)?;
        entry.asked_at = time(cells, plan, Field::AskedAt)?;
        person.has_no_time = joined_at.is_none();
        person.has_invalid_source = entry.source.is_none() && !source.is_empty();
        person.entry = Some(entry);
    }
    Ok(person)
}

/// Returns what the row says about the person. If several columns disagree, the greatest verdict counts.
fn verdict(cells: &Cells, plan: &Plan) -> Result<Verdict, InvalidRow> {
    let mut verdict = plan.everybody.unwrap_or(Verdict::Stays);
    for (at, used) in plan.uses.iter().enumerate() {
        if let Some(Use::Status(listed)) = used {
            let value = cells.get(at).ok_or(CUT)?;
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(NOT_UTF_8);
            }
            // The plan lists all values.
            verdict = verdict.max(listed.verdict(value).unwrap_or(Verdict::Undecided));
        }
    }
    Ok(verdict)
}

/// Returns the cell of a field without the white space around it, or an empty one.
fn cell<'a>(cells: &'a Cells, plan: &Plan, field: Field) -> Result<&'a str, InvalidRow> {
    let cell = plan.column(field).and_then(|at| cells.get(at));
    let cell = cell.unwrap_or_default().trim();
    // Other text was replaced when the row was read.
    match cell.contains(char::REPLACEMENT_CHARACTER) {
        true => Err(NOT_UTF_8),
        false => Ok(cell),
    }
}

fn time(cells: &Cells, plan: &Plan, field: Field) -> Result<Option<SystemTime>, InvalidRow> {
    let text = cell(cells, plan, field)?;
    if times::means_no_time(text) {
        return Ok(None);
    }
    let time = times::parse(text, plan.date_format.as_deref());
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
    Email::parse(without_name(first)).map_err(|error| match error {
        InvalidEmail::Empty => InvalidRow::MissingAddress,
        error => InvalidRow::InvalidEmail(error),
    })
}

impl Serialize for InvalidRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
