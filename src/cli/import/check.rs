//! Checks a file before anybody is added: makes the plan, and reads every row by it.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow, bail, ensure};
use csv::StringRecord;

use super::{
    left_words::{self, NameKind},
    options::PlanOptions,
    plan::{Field, Plan, Use, Verdict},
    question::{Question, guess_status, open_questions},
    table::{CROSSED_OUT, Row, Table, UNCLOSED, is_crossed_out},
    text::quoted,
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

impl Person {
    /// Takes another row of the person into account. The greatest verdict counts, and the earliest sign-up, with its spelling
    /// and source. So do the earliest confirmation and, without one, the earliest promise to ask for it: in doubt, the site
    /// asks.
    fn merge(&mut self, other: &Self) {
        self.verdict = self.verdict.max(other.verdict);
        if let (Some(entry), Some(known)) = (&mut self.entry, &other.entry) {
            let earliest = |times: [Option<SystemTime>; 2]| times.into_iter().flatten().min();
            let confirmed_at = earliest([entry.confirmed_at, known.confirmed_at]);
            let asked_at = earliest([entry.asked_at, known.asked_at]);
            if known.joined_at < entry.joined_at {
                *entry = known.clone();
                self.email = other.email.clone();
                self.has_no_time = other.has_no_time;
                self.has_invalid_source = other.has_invalid_source;
            }
            entry.confirmed_at = confirmed_at;
            entry.asked_at = asked_at.filter(|_| confirmed_at.is_none());
        }
    }
}

/// A file that was read, and what became known about it. It is imported only without an [obstacle](Self::obstacle).
pub(super) struct Checked<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: Plan,
    /// Nobody is imported before these are answered.
    pub(super) questions: Vec<Question>,
    /// The people of the rows that can be read.
    pub(super) people: Vec<Person>,
    /// The lines of the other rows, and why they cannot be read.
    pub(super) invalid: Vec<(u64, String)>,
    /// Whether they are left out, if that is possible.
    skips_invalid: bool,
}

/// Checks a file. Rows without a sign-up time get the current time.
///
/// # Errors
/// If an option is wrong.
pub(super) fn check<'a>(table: &'a Table, options: &PlanOptions) -> anyhow::Result<Checked<'a>> {
    let plan = Plan::new(table, options)?;
    let mut checked = Checked {
        questions: open_questions(table, &plan),
        table,
        plan,
        people: Vec::new(),
        invalid: Vec::new(),
        skips_invalid: options.skip_invalid,
    };
    if checked.questions.is_empty() {
        checked.read_rows(SystemTime::now());
    }
    Ok(checked)
}

impl Checked<'_> {
    /// Returns why the file is not imported: each question and how to answer it, or the number of invalid rows.
    pub(super) fn obstacle(&self) -> Option<String> {
        if !self.questions.is_empty() {
            let questions = self.questions.iter().filter_map(|it| it.text.as_deref());
            return Some(questions.collect::<Vec<_>>().join("\n  "));
        }
        let rows = &self.table.rows;
        // Nobody knows how many people are in a row that is not closed.
        let can_skip = rows.iter().all(|row| row.cells != Err(UNCLOSED));
        let are_skipped = self.skips_invalid && can_skip;
        let is_obstacle = !self.invalid.is_empty() && !are_skipped;
        let or_skip = match can_skip {
            true => ", or leave them out with --skip-invalid",
            false => "",
        };
        is_obstacle.then(|| {
            format!(
                "{} of {} rows cannot be read, see above; correct the file{or_skip}",
                self.invalid.len(),
                rows.len()
            )
        })
    }

    /// Returns the people to add.
    pub(super) fn staying(&self) -> Vec<&Person> {
        let people = self.people.iter();
        people.filter(|it| it.verdict == Verdict::Stays).collect()
    }

    /// Returns the people who have left, each once.
    pub(super) fn leavers(&self) -> Vec<Email> {
        let mut seen = HashSet::new();
        let left = self.people.iter().filter(|it| it.verdict == Verdict::Left);
        let left = left.map(|person| &person.email);
        left.filter(|email| seen.insert(email.key()))
            .cloned()
            .collect()
    }

    fn read_rows(&mut self, now: SystemTime) {
        let mut readable = Vec::new();
        for Row { line, cells } in &self.table.rows {
            let cells = cells.as_ref().map_err(|it| anyhow!(*it));
            let read = cells.and_then(|cells| Ok((read(*line, cells, &self.plan, now)?, cells)));
            match read {
                Ok((person, cells)) => {
                    readable.push((*line, cells));
                    self.people.push(person);
                }
                Err(reason) => self.invalid.push((*line, reason.to_string())),
            }
        }
        self.merge_rows();
        let rows = readable.into_iter().zip(&self.people);
        let staying = rows.filter(|(_, person)| person.verdict == Verdict::Stays);
        let staying: Vec<_> = staying.map(|(row, _)| row).collect();
        self.look_for_leavers(&staying);
    }

    /// Merges the rows of each person into the first one, whose verdict the others get.
    fn merge_rows(&mut self) {
        let mut first_rows = HashMap::<_, usize>::new();
        for row in 0..self.people.len() {
            let (before, rest) = self.people.split_at_mut(row);
            let person = &rest[0];
            match first_rows.entry(person.email.key()) {
                Entry::Occupied(first) => before[*first.get()].merge(person),
                Entry::Vacant(unseen) => drop(unseen.insert(row)),
            }
        }
        for row in 0..self.people.len() {
            let first = first_rows[&self.people[row].email.key()];
            let verdict = self.people[first].verdict;
            let person = &mut self.people[row];
            person.verdict = verdict;
            person.entry.take_if(|_| verdict != Verdict::Stays);
        }
    }

    /// Looks at the columns of which nobody has said what they mean. If one may say that somebody has left who would be added, it is
    /// a question.
    fn look_for_leavers(&mut self, staying: &[(u64, &StringRecord)]) {
        let columns = self.table.columns.iter().zip(&self.plan.uses);
        for (at, (column, used)) in columns.enumerate() {
            let Some(Use::Unnamed) = used else {
                continue;
            };
            let kind = match left_words::name_kind(&column.name) {
                // A no means something else if another column says who has left.
                NameKind::Unknown if self.plan.has_status() => NameKind::Other,
                kind => kind,
            };
            let says_left = |(line, cells): &(u64, &StringRecord)| {
                let value = cells
                    .get(at)
                    .filter(|it| left_words::may_mean_left(kind, it));
                Some((*line, quoted(value?)))
            };
            if let Some((line, value)) = staying.iter().find_map(says_left) {
                let text = format!(
                    "line {line}: column {} says {value}, but the person would be added; answer with --left and --stay if \
                     the column says who has left, otherwise with --ignore COLUMN",
                    quoted(&column.name),
                );
                self.questions.push(guess_status(column, Some(text)));
            }
        }
    }
}

const NOT_UTF_8: &str = "invalid UTF-8; save the file as UTF-8";
/// Spreadsheets leave out empty cells at the end, and so does a download that broke off.
const CUT: &str = "the row ends before the column that says who has left; add the missing cells, or export the file again";

/// Reads a row. Without a sign-up time, the entry has the time `now`.
///
/// # Errors
/// Also in the row of a person who is not added: another row may have the same person. An error quotes nothing, because any
/// text may be an address in disguise.
pub(super) fn read(
    line: u64,
    cells: &StringRecord,
    plan: &Plan,
    now: SystemTime,
) -> anyhow::Result<Person> {
    let typed = cell(cells, plan, Field::Email)?;
    // An export may have people who signed up with such an address.
    ensure!(plan.is_own || !is_crossed_out(typed), CROSSED_OUT);
    let email = parse_email(typed)?;
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
        // The list that they join has not asked people who have confirmed. It would welcome them, perhaps once more.
        let asked_at = time(cells, plan, Field::AskedAt)?;
        entry.asked_at = asked_at.filter(|_| entry.confirmed_at.is_none());
        person.has_no_time = joined_at.is_none();
        person.has_invalid_source = entry.source.is_none() && !source.is_empty();
        person.entry = Some(entry);
    }
    Ok(person)
}

/// Returns what the row says about the person. If several columns disagree, the greatest verdict counts.
fn verdict(cells: &StringRecord, plan: &Plan) -> anyhow::Result<Verdict> {
    let mut verdict = plan.everybody.unwrap_or(Verdict::Stays);
    for (at, used) in plan.uses.iter().enumerate() {
        if let Some(Use::Status(listed)) = used {
            let value = cells.get(at).context(CUT)?;
            ensure!(!value.contains(char::REPLACEMENT_CHARACTER), NOT_UTF_8);
            // The plan lists all values.
            verdict = verdict.max(listed.verdict(value).unwrap_or(Verdict::Undecided));
        }
    }
    Ok(verdict)
}

/// Returns the cell of a field without the white space around it, or an empty one.
fn cell<'a>(cells: &'a StringRecord, plan: &Plan, field: Field) -> anyhow::Result<&'a str> {
    let cell = plan.column(field).and_then(|at| cells.get(at));
    let cell = cell.unwrap_or_default().trim();
    // Other text was replaced when the row was read.
    ensure!(!cell.contains(char::REPLACEMENT_CHARACTER), NOT_UTF_8);
    Ok(cell)
}

fn time(cells: &StringRecord, plan: &Plan, field: Field) -> anyhow::Result<Option<SystemTime>> {
    let text = cell(cells, plan, field)?;
    if times::means_no_time(text) {
        return Ok(None);
    }
    let time = times::parse(text, plan.date_format.as_deref());
    let time = time
        .with_context(|| format!("invalid time in column {}; see --date-format", field.name()))?;
    match time_problem(time) {
        // The clock of a server may have been wrong. As the time of a confirmation, it may mean that there was none.
        // No list has a time before 1970.
        Some(problem) if !plan.is_own || field == Field::ConfirmedAt || time < UNIX_EPOCH => {
            bail!("column {}: {problem}", field.name())
        }
        _ => Ok(Some(time)),
    }
}

fn parse_email(typed: &str) -> anyhow::Result<Email> {
    // Google writes several addresses of a person like this.
    let first = typed.split(" ::: ").next().unwrap_or_default();
    Email::parse(without_name(first)).map_err(|error| match error {
        InvalidEmail::Empty => anyhow!("missing address"),
        error => anyhow!("invalid address: {error}"),
    })
}
