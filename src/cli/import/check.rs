//! Checks a file before anybody is added: makes the plan, and reads every row by it.

use std::{
    collections::{HashMap, HashSet},
    time::SystemTime,
};

use super::{
    brake::{self, NameKind},
    options::PlanOptions,
    person::{self, InvalidRow, Person},
    plan::{Plan, Use, Verdict},
    question::{Question, StatusReason, guess_status, open_questions},
    table::{Cells, Row, Table},
};
use crate::waitlist::Email;

/// A file that was read, and what became known about it. It is imported only without an [obstacle](Self::obstacle).
pub(super) struct Checked<'a> {
    pub(super) table: &'a Table,
    pub(super) plan: Plan,
    /// Nobody is imported before these are answered.
    pub(super) questions: Vec<Question>,
    /// The people of the rows that can be read.
    pub(super) people: Vec<Person>,
    /// The other rows, by their lines.
    pub(super) invalid: Vec<(u64, InvalidRow)>,
    /// Whether they are left out.
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
        checked.settle_verdicts();
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
        let is_obstacle = !self.invalid.is_empty() && !self.skips_invalid;
        is_obstacle.then(|| {
            format!(
                "{} of {} rows cannot be read, see above; correct the file, or leave them out with --skip-invalid",
                self.invalid.len(),
                self.table.rows.len()
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
        let mut unnamed = self.unnamed_columns();
        for Row { line, cells } in &self.table.rows {
            let cells = cells.as_ref().map_err(|it| InvalidRow::Malformed(it));
            let read =
                cells.and_then(|cells| Ok((person::read(*line, cells, &self.plan, now)?, cells)));
            match read {
                Ok((person, cells)) => {
                    if person.verdict == Verdict::Stays {
                        self.look_for_leavers(&mut unnamed, *line, cells);
                    }
                    self.people.push(person);
                }
                Err(reason) => self.invalid.push((*line, reason)),
            }
        }
    }

    /// Of several rows of a person, the greatest verdict counts.
    fn settle_verdicts(&mut self) {
        let mut verdicts = HashMap::new();
        for Person { email, verdict, .. } in &self.people {
            if *verdict != Verdict::Stays {
                let settled = verdicts.entry(email.key()).or_insert(*verdict);
                *settled = (*settled).max(*verdict);
            }
        }
        for person in &mut self.people {
            if let Some(verdict) = verdicts.get(&person.email.key()) {
                person.verdict = *verdict;
                person.entry = None;
            }
        }
    }

    /// Returns the columns that no option and no preset names.
    fn unnamed_columns(&self) -> HashMap<usize, NameKind> {
        let has_status = self.plan.has_status();
        let columns = self.table.columns.iter().zip(&self.plan.uses).enumerate();
        let is_unnamed = |used: &_| matches!(used, Some(Use::Ignored { is_named: false }));
        let unnamed = columns.filter(|(_, (_, used))| is_unnamed(*used));
        let kinds = unnamed.map(|(at, (column, _))| match brake::name_kind(&column.name) {
            // A no means something else if another column says who has left.
            NameKind::Unknown if has_status => (at, NameKind::Other),
            kind => (at, kind),
        });
        kinds.collect()
    }

    /// Looks at the unnamed cells of a person who would be added. The first one in a column that may say that the
    /// person has left is a question.
    fn look_for_leavers(
        &mut self,
        unnamed: &mut HashMap<usize, NameKind>,
        line: u64,
        cells: &Cells,
    ) {
        for (at, text) in cells.iter() {
            let is_suspicious = |kind: &NameKind| brake::may_mean_left(*kind, text);
            if unnamed.get(&at).is_some_and(is_suspicious) {
                unnamed.remove(&at);
                let text = text.to_owned();
                let reason = StatusReason::Suspicious { line, text };
                let question = guess_status(&self.table.columns[at], reason);
                self.questions.push(question);
            }
        }
    }
}
