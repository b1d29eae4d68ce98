//! The options that would answer the questions, as far as the values of a file suggest them. The owner completes them.

use super::{
    brake::{self, NameKind},
    field::{Field, Mapping},
    options::PlanOptions,
    plan::{Plan, Use},
    survey::{Column, Survey},
    text::shell_quoted,
    times::{self, DateFormat},
};
use crate::{cli::address::without_name, waitlist::Email};

/// Maximum number of values of a column that is proposed as the one that says who has left, and of such columns.
const STATUS_VALUES_MAX: usize = 12;
const STATUS_COLUMNS_MAX: usize = 5;
/// What the owner must replace by one of them, so that nobody runs the command without a decision.
const LEFT_OR_STAY: &str = "--left/--stay/--undecided";
const NOBODY_OR_EVERYBODY: &str = "--nobody-left/--everybody-left";

/// A column that says, or may say, who has left.
pub(super) struct Status {
    pub(super) column: String,
    /// The values that need an answer. `*` is any value.
    pub(super) values: Vec<String>,
    /// Whether nobody has said yet what the column is for.
    pub(super) is_guess: bool,
}

/// The best answers to the questions of a plan.
#[derive(Default)]
pub(super) struct Proposal {
    /// The column of addresses and that of sign-up times, if they are open.
    pub(super) fields: Vec<Mapping>,
    /// The formats in which all dates can be read.
    pub(super) date_formats: Vec<DateFormat>,
    /// A date that shows which of the formats is right.
    pub(super) date_example: String,
    pub(super) statuses: Vec<Status>,
    /// Whether no column is known to say who has left.
    pub(super) asks_who_has_left: bool,
    /// Whether other columns have no use yet.
    pub(super) has_rest: bool,
}

impl Proposal {
    pub(super) fn new(survey: &Survey, plan: &Plan) -> Self {
        let questions = &plan.questions;
        let column = |at: &usize| &survey.columns[*at];
        let unlisted = questions.unlisted.iter().map(|(at, values)| Status {
            column: column(at).name.clone(),
            values: values.clone(),
            is_guess: false,
        });
        let suspicious = questions.may_have_left.iter();
        let suspicious = suspicious.map(|(at, ..)| guess_status(survey, column(at)));
        let mut proposal = Self {
            statuses: unlisted.chain(suspicious).collect(),
            asks_who_has_left: questions.who_has_left,
            ..Self::default()
        };
        let mut times = questions.times.last().map(|(at, _)| column(at));
        let mut rest: Vec<_> = questions.unused.iter().map(column).collect();
        let is_mapped = |field| {
            let is_field = |it: &Use| matches!(it, Use::Map(mapped) if *mapped == field);
            plan.uses.iter().flatten().any(is_field)
        };
        if !is_mapped(Field::Email) {
            let addresses = rest.iter().filter(|it| has_addresses(it));
            let best = addresses.max_by_key(|it| it.filled).copied();
            proposal.map(Field::Email, best, &mut rest);
        }
        if !is_mapped(Field::JoinedAt) {
            // A birthday has no time of day. The first one of several is taken.
            let dates = rest.iter().rev().filter(|it| has_dates(it));
            let best = dates
                .max_by_key(|it| it.values[0].text.contains(':'))
                .copied();
            times = times.or(best);
            proposal.map(Field::JoinedAt, best, &mut rest);
        }
        let is_unreadable = |it: &str| times::parse(it, plan.date_format.as_ref()).is_none();
        if let Some(column) = times.filter(|column| column.times().all(is_unreadable)) {
            proposal.date_formats = DateFormat::candidates(column.times());
            let example = DateFormat::distinguishing(&proposal.date_formats, column.times());
            proposal.date_example = example.unwrap_or_default().to_owned();
        }
        if proposal.asks_who_has_left {
            let is_repeated = |it: &Column| (it.values.len() as u64) < it.filled;
            let statuses = rest
                .iter()
                .filter(|it| is_repeated(it) && has_few_values(survey, it));
            let statuses = statuses.take(STATUS_COLUMNS_MAX);
            let statuses = statuses.map(|it| guess_status(survey, it));
            proposal.statuses.extend(statuses);
            rest.retain(|it| {
                proposal
                    .statuses
                    .iter()
                    .all(|other| other.column != it.name)
            });
        }
        proposal.has_rest = !rest.is_empty();
        proposal
    }

    /// Proposes a column for a field, and removes it from the others.
    fn map(&mut self, field: Field, column: Option<&Column>, rest: &mut Vec<&Column>) {
        if let Some(column) = column {
            rest.retain(|it| it.name != column.name);
            let column = column.name.clone();
            self.fields.push(Mapping { field, column });
        }
    }

    /// Returns the whole command, with the options that the owner has given. `fixed` are its other arguments.
    pub(super) fn command(&self, fixed: &[String], options: &PlanOptions) -> String {
        let mut options = options.clone();
        options.map.extend(self.fields.iter().cloned());
        options.ignore_rest |= self.has_rest;
        options.nobody_left &= self.statuses.is_empty();
        if let Some(format) = self.date_formats.first() {
            options.date_format = Some(format.clone());
        }
        let mut args = vec!["landing".to_owned(), "import".to_owned()];
        args.extend(fixed.iter().cloned());
        args.extend(options.to_args());
        for Status { column, values, .. } in &self.statuses {
            for value in values {
                let has_left = brake::may_mean_left(NameKind::Other, value);
                let option = if has_left { "--left" } else { LEFT_OR_STAY };
                args.extend([option.to_owned(), format!("{column}={value}")]);
            }
        }
        if self.asks_who_has_left && self.statuses.is_empty() {
            args.push(NOBODY_OR_EVERYBODY.to_owned());
        }
        let args: Vec<_> = args.iter().map(|it| shell_quoted(it)).collect();
        args.join(" ")
    }
}

/// Whether at least half of the values are addresses.
fn has_addresses(column: &Column) -> bool {
    let is_address = |text: &str| Email::parse(without_name(text)).is_ok();
    let count = column
        .values
        .iter()
        .filter(|it| is_address(&it.text))
        .count();
    count > 0 && count * 2 >= column.values.len()
}

/// Whether all values are dates, in one format.
fn has_dates(column: &Column) -> bool {
    let is_date = |text: &str| times::parse(text, None).is_some();
    let mut times = column.times();
    column.times().next().is_some()
        && (times.all(is_date) || !DateFormat::candidates(column.times()).is_empty())
}

/// Whether a column has so few values that each can say whether a person has left.
fn has_few_values(survey: &Survey, column: &Column) -> bool {
    let values = column.values.len() + usize::from(survey.empty(column) > 0);
    !column.has_more && !has_dates(column) && (2..=STATUS_VALUES_MAX).contains(&values)
}

/// Returns what the owner should say about a column that may say who has left.
fn guess_status(survey: &Survey, column: &Column) -> Status {
    let values = match has_few_values(survey, column) {
        true => {
            let empty = (survey.empty(column) > 0).then(String::new);
            let values = column.values.iter().map(|it| it.text.clone());
            values.chain(empty).collect()
        }
        // Such as the time of leaving. An empty cell then means that the person stays.
        false => vec!["*".into()],
    };
    Status {
        column: column.name.clone(),
        values,
        is_guess: true,
    }
}
