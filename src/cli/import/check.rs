//! Reads a file before anybody is added: makes the plan, reads every row by it, and finds the people who have left.

use std::{collections::HashSet, time::SystemTime};

use super::{
    brake::{self, NameKind},
    error::FileError,
    options::PlanOptions,
    person::{self, InvalidRow, Person},
    plan::{Plan, Use, Verdict},
    row::Row,
    rows::Rows,
    survey::{Column, Survey},
};
use crate::waitlist::Email;

/// A file that was read, and what became known about it. It is imported only if it is [ready](Self::is_ready).
pub(super) struct Checked {
    pub(super) survey: Survey,
    pub(super) plan: Plan,
    pub(super) outsiders: Outsiders,
    /// The first invalid rows, by their lines.
    pub(super) invalid: Vec<(u64, InvalidRow)>,
    pub(super) invalid_count: u64,
    /// Number of rows, also of those that cannot be read.
    pub(super) rows: u64,
    /// Number of rows of people who stay.
    pub(super) staying: u64,
}

/// The people of a file who are not added.
#[derive(Default)]
pub(super) struct Outsiders {
    /// Those who have left by at least one of their rows.
    pub(super) leavers: Vec<Email>,
    left: HashSet<String>,
    undecided: HashSet<String>,
}

/// Maximum number of invalid rows that are listed.
const INVALID_SHOWN_MAX: usize = 10_000;

/// Reads a file twice: its values, then its rows.
///
/// # Errors
/// [`FileError`].
pub(super) fn check(text: &str, options: &PlanOptions) -> Result<Checked, FileError> {
    let survey = Survey::read(text)?;
    let mut checked = Checked {
        plan: Plan::new(&survey, options),
        survey,
        outsiders: Outsiders::default(),
        invalid: Vec::new(),
        invalid_count: 0,
        rows: 0,
        staying: 0,
    };
    if checked.plan.questions.is_empty() {
        checked.read_rows(text)?;
    }
    Ok(checked)
}

impl Checked {
    /// Whether nothing stops the import.
    pub(super) fn is_ready(&self, options: &PlanOptions) -> bool {
        self.plan.questions.is_empty() && (self.invalid_count == 0 || options.skip_invalid)
    }

    fn read_rows(&mut self, text: &str) -> Result<(), FileError> {
        let mut unnamed = self.unnamed_columns();
        for Row { line, cells } in Rows::open(text)? {
            self.rows += 1;
            let read = cells.map_err(InvalidRow::Malformed).and_then(|cells| {
                let person = person::read(&cells, &self.plan, SystemTime::UNIX_EPOCH)?;
                Ok((person, cells))
            });
            match read {
                Ok((person, cells)) if person.verdict == Verdict::Stays => {
                    self.staying += 1;
                    self.look_for_leavers(&mut unnamed, line, &cells);
                }
                Ok((person, _)) => self.outsiders.add(&person),
                Err(reason) => {
                    self.invalid_count += 1;
                    if self.invalid.len() < INVALID_SHOWN_MAX {
                        self.invalid.push((line, reason));
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the columns that no option and no preset names.
    fn unnamed_columns(&self) -> Vec<(usize, NameKind)> {
        let columns = self.survey.columns.iter().zip(&self.plan.uses).enumerate();
        let is_unnamed =
            |used: &Option<Use>| matches!(used, Some(Use::Ignored { is_named: false }));
        let unnamed = columns.filter(|(_, (_, used))| is_unnamed(used));
        let decides = self.plan.decides();
        let kind = |column: &Column| match brake::name_kind(&column.name) {
            // A no means something else if another column says who has left.
            NameKind::Unknown if decides => NameKind::Other,
            kind => kind,
        };
        unnamed
            .map(|(at, (column, _))| (at, kind(column)))
            .collect()
    }

    /// Looks at the unnamed cells of a person who would be added. The first one in a column that may say that the
    /// person has left is a question.
    fn look_for_leavers(
        &mut self,
        unnamed: &mut Vec<(usize, NameKind)>,
        line: u64,
        cells: &[String],
    ) {
        unnamed.retain(|(at, kind)| {
            let text = cells.get(*at).map_or("", String::as_str);
            let is_suspicious = brake::may_mean_left(*kind, text);
            if is_suspicious {
                let suspicion = (*at, line, text.to_owned());
                self.plan.questions.may_have_left.push(suspicion);
            }
            !is_suspicious
        });
    }
}

impl Outsiders {
    fn add(&mut self, person: &Person) {
        let seen = match person.verdict {
            Verdict::Left => &mut self.left,
            _ => &mut self.undecided,
        };
        if seen.insert(person.email.key()) && person.verdict == Verdict::Left {
            self.leavers.push(person.email.clone());
        }
    }

    /// Returns what a file says about a person, whose rows may disagree.
    pub(super) fn verdict(&self, person: &Person) -> Verdict {
        let key = person.email.key();
        match person.verdict {
            _ if self.left.contains(&key) => Verdict::Left,
            _ if self.undecided.contains(&key) => Verdict::Undecided,
            verdict => verdict,
        }
    }
}
