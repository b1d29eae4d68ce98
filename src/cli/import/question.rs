//! The questions that the owner must answer with options before anybody is imported, with the best answers that the values of
//! a file suggest.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    brake::{self, NameKind},
    column::Column,
    field::{Field, Mapping},
    options::PlanOptions,
    plan::{Plan, StatusValues, Use},
    table::Table,
    text::{is_showable, quoted, shell_quoted},
    times,
};
use crate::{cli::address::without_name, waitlist::Email};

/// A question that nobody has answered. It has no `Debug`, because a value may be an address.
pub(super) enum Question {
    /// Which column has this field: perhaps this one.
    Field {
        field: Field,
        column: Option<String>,
    },
    /// How times such as this one are written. All times of the column can be read in these formats.
    DateFormat {
        example: String,
        formats: Vec<String>,
    },
    /// What the values of a column mean that says, or may say, which people have left.
    Status {
        column: String,
        /// The values that need an answer. `*` is any other value.
        values: Vec<String>,
        reason: StatusReason,
    },
    /// Neither a column nor an option says who has left.
    WhoHasLeft,
    /// Columns without a use. Some may remain when the other questions are answered.
    Unused { columns: usize, has_rest: bool },
}

/// Why somebody must say what the values of a column mean.
pub(super) enum StatusReason {
    /// The column says who has left, but these values are not listed.
    Unlisted,
    /// No column says who has left, and this one looks like it.
    Guess,
    /// The column is ignored without being named. In this line, this text may say that somebody has left who would be added.
    Suspicious { line: u64, text: String },
}

/// Maximum number of values of a column that is proposed as the one that says who has left, and of such columns.
const STATUS_VALUES_MAX: usize = 12;
const STATUS_COLUMNS_MAX: usize = 5;
/// Earliest time of most values in a column that is proposed for the sign-up times, counted from 1970: 1 January 2000. A column
/// of birthdays has earlier ones.
const EARLIEST_SIGN_UP: Duration = Duration::from_secs(946_684_800);
/// What the owner must replace by one of them, so that nobody runs the command without a decision.
const LEFT_OR_STAY: &str = "--left/--stay/--undecided";
const NOBODY_OR_EVERYBODY: &str = "--nobody-left/--everybody-left";

/// Returns the questions about a plan, in the order in which they are asked.
pub(super) fn open_questions(table: &Table, plan: &Plan) -> Vec<Question> {
    let mut questions = Vec::new();
    if table.rows.iter().all(|row| row.cells.is_err()) {
        return questions;
    }
    let columns = || table.columns.iter().zip(&plan.uses);
    let unused = columns().filter(|(_, used)| used.is_none());
    let mut rest: Vec<_> = unused.map(|(column, _)| column).collect();
    let unused = rest.len();
    if !plan.has(Field::Email) {
        let addresses = rest.iter().copied().filter(|it| has_addresses(it));
        let best = addresses.max_by_key(|it| it.filled);
        questions.push(propose(Field::Email, best, &mut rest));
    }
    let mapped = columns().filter(|(_, used)| used.as_ref().is_some_and(Use::is_time));
    let mut times: Vec<_> = mapped.map(|(column, _)| column).collect();
    if !plan.has(Field::JoinedAt) {
        // The first one of several is taken, and one with a time of day before others.
        let dates = rest.iter().rev().copied();
        let dates = dates.filter(|it| may_have_sign_up_times(it));
        if let Some(best) = dates.max_by_key(|it| it.values[0].text.contains(':')) {
            questions.push(propose(Field::JoinedAt, Some(best), &mut rest));
            times.push(best);
        }
    }
    questions.extend(times.into_iter().find_map(|it| ask_date_format(it, plan)));
    for (column, used) in columns() {
        if let Some(Use::Status(listed)) = used {
            let values = unlisted_values(column, listed);
            if !values.is_empty() {
                questions.push(Question::Status {
                    column: column.name.clone(),
                    values,
                    reason: StatusReason::Unlisted,
                });
            }
        }
    }
    if plan.everybody.is_none() && !plan.has_status() {
        let is_repeated = |it: &Column| (it.values.len() as u64) < it.filled;
        let is_guess = |it: &&Column| is_repeated(it) && has_few_values(it);
        let guesses: Vec<_> = rest.iter().copied().filter(is_guess).collect();
        for column in guesses.into_iter().take(STATUS_COLUMNS_MAX) {
            rest.retain(|it| it.name != column.name);
            questions.push(guess_status(column, StatusReason::Guess));
        }
        questions.push(Question::WhoHasLeft);
    }
    if unused > 0 {
        questions.push(Question::Unused {
            columns: unused,
            has_rest: !rest.is_empty(),
        });
    }
    questions
}

/// Asks how the times of a column are written, if none of them can be read.
fn ask_date_format(column: &Column, plan: &Plan) -> Option<Question> {
    let is_readable = |it| times::parse(it, plan.date_format.as_deref()).is_some();
    if column.times().next().is_none() || column.times().any(is_readable) {
        return None;
    }
    let formats = times::candidates(column.times());
    let example = times::distinguishing(&formats, column.times()).unwrap_or_default();
    Some(Question::DateFormat {
        example: example.to_owned(),
        formats,
    })
}

/// Proposes a column for a field, and removes it from the others.
fn propose(field: Field, column: Option<&Column>, rest: &mut Vec<&Column>) -> Question {
    let column = column.map(|it| it.name.clone());
    rest.retain(|it| Some(&it.name) != column.as_ref());
    Question::Field { field, column }
}

/// Returns what the owner should say about a column that may say who has left.
pub(super) fn guess_status(column: &Column, reason: StatusReason) -> Question {
    Question::Status {
        column: column.name.clone(),
        values: match has_few_values(column) {
            true => column.texts().map(str::to_owned).collect(),
            // Such as the time of leaving. An empty cell then means that the person stays.
            false => vec!["*".into()],
        },
        reason,
    }
}

/// Returns the values of a column that no option lists. Those that cannot be shown are others: `*`.
fn unlisted_values(column: &Column, listed: &StatusValues) -> Vec<String> {
    let unlisted = column.texts().filter(|it| listed.verdict(it).is_none());
    let (shown, hidden): (Vec<_>, Vec<_>) = unlisted.partition(|it| is_showable(it));
    let has_others = column.has_more || !hidden.is_empty();
    let others = (has_others && listed.others().is_none()).then_some("*");
    shown.into_iter().chain(others).map(str::to_owned).collect()
}

/// Whether at least half of the values are addresses.
fn has_addresses(column: &Column) -> bool {
    let is_address = |text: &str| Email::parse(without_name(text)).is_ok();
    let values = column.values.iter();
    let count = values.filter(|it| is_address(&it.text)).count();
    count > 0 && count * 2 >= column.values.len()
}

/// Returns the dates of a column, if all its values are dates in one format.
fn dates(column: &Column) -> Option<Vec<SystemTime>> {
    let formats = times::candidates(column.times());
    let format = formats.first().map(String::as_str);
    let dates = column.times().map(|it| times::parse(it, format));
    dates
        .collect::<Option<Vec<_>>>()
        .filter(|dates| !dates.is_empty())
}

/// Whether all values are dates, and most are not too early for a sign-up. Some programs write 1970 if they know no time.
fn may_have_sign_up_times(column: &Column) -> bool {
    dates(column).is_some_and(|dates| {
        let is_early = |time: &&SystemTime| **time < UNIX_EPOCH + EARLIEST_SIGN_UP;
        dates.iter().filter(is_early).count() * 2 < dates.len()
    })
}

/// Whether a column has so few values that each can say whether a person has left.
fn has_few_values(column: &Column) -> bool {
    let values = column.texts().count();
    let are_few = !column.has_more && (2..=STATUS_VALUES_MAX).contains(&values);
    are_few && dates(column).is_none() && column.texts().all(is_showable)
}

impl Question {
    /// Returns the question, and how to answer it. Those about a column that only may be the right one are part of others.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Self::Field { field: Field::Email, .. } => {
                "which column has the addresses? Answer with --map email=COLUMN".to_owned()
            }
            Self::Field { .. } => return None,
            Self::DateFormat { example, .. } => format!(
                "how are times such as {} written? Answer with --date-format",
                quoted(example)
            ),
            Self::Status { column, values, reason } => match reason {
                StatusReason::Guess => return None,
                StatusReason::Unlisted => {
                    let values: Vec<_> = values.iter().map(|it| quoted(it)).collect();
                    format!(
                        "what do the values {} in column {} mean? Answer with --left, --stay or --undecided COLUMN=VALUE \
                         for each",
                        values.join(", "),
                        quoted(column)
                    )
                }
                StatusReason::Suspicious { line, text } => format!(
                    "line {line}: column {} says {}, but the person would be added; answer with --left and --stay if the \
                     column says who has left, otherwise with --ignore COLUMN",
                    quoted(column),
                    quoted(text)
                ),
            },
            Self::WhoHasLeft => "has anybody in the file left, or said no to mail? Answer with --left and --stay if a column \
                                 says who, otherwise with --nobody-left or --everybody-left"
                .to_owned(),
            Self::Unused { columns, .. } => format!(
                "columns without a use: {columns}; answer with --ignore-rest if they do not matter"
            ),
        })
    }
}

/// Returns the whole command, with the options that the owner has given, and the best answers. `fixed` are its other
/// arguments.
pub(super) fn command(fixed: &[String], options: &PlanOptions, questions: &[Question]) -> String {
    let mut options = options.clone();
    let mut open = Vec::new();
    for question in questions {
        match question {
            Question::Field { column: None, .. } => {}
            Question::Field {
                field,
                column: Some(column),
            } => options.map.push(Mapping {
                field: *field,
                column: column.clone(),
            }),
            Question::DateFormat { formats, .. } => {
                options.date_format = formats.first().cloned().or(options.date_format);
            }
            Question::Status { column, values, .. } => {
                options.nobody_left = false;
                for value in values {
                    let has_left = brake::may_mean_left(NameKind::Other, value);
                    let option = if has_left { "--left" } else { LEFT_OR_STAY };
                    open.extend([option.to_owned(), format!("{column}={value}")]);
                }
            }
            Question::WhoHasLeft if open.is_empty() => open.push(NOBODY_OR_EVERYBODY.to_owned()),
            Question::WhoHasLeft => {}
            Question::Unused { has_rest, .. } => options.ignore_rest |= has_rest,
        }
    }
    let mut args = vec!["landing".to_owned(), "import".to_owned()];
    args.extend(fixed.iter().cloned());
    args.extend(options.to_args());
    args.extend(open);
    let args: Vec<_> = args.iter().map(|it| shell_quoted(it)).collect();
    args.join(" ")
}
