//! The questions that the owner must answer with options before anybody is imported, with the best answers that the values of
//! a file suggest.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    column::Column,
    left_words::{self, NameKind},
    plan::{Field, Plan, StatusValues, Use, Verdict},
    table::Table,
    text::{is_showable, quoted, shell_quoted},
    times,
};
use crate::{cli::address::without_name, waitlist::Email};

/// A question that nobody has answered. An answer is arguments of the command. It has no `Debug`, because a value may be an
/// address.
pub(super) struct Question {
    /// What it is, and which options answer it. Those about a column that only may be the right one are part of others.
    pub(super) text: Option<String>,
    /// The best answer. The owner must complete some before the command runs.
    pub(super) proposal: Vec<String>,
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

/// Returns the questions about a plan.
pub(super) fn open_questions(table: &Table, plan: &Plan) -> Vec<Question> {
    if table.rows.iter().all(|row| row.cells.is_err()) {
        return Vec::new();
    }
    let columns = || table.columns.iter().zip(&plan.uses);
    let unused = columns().filter(|(_, used)| used.is_none());
    let mut rest: Vec<_> = unused.map(|(column, _)| column).collect();
    let unused = rest.len();
    let mut questions = ask_fields(table, plan, &mut rest);
    for (column, used) in columns() {
        if let Some(Use::Status(listed)) = used {
            let values = unlisted_values(column, listed);
            if !values.is_empty() && plan.everybody != Some(Verdict::Left) {
                let shown: Vec<_> = values.iter().map(|it| quoted(it)).collect();
                let (shown, name) = (shown.join(", "), quoted(&column.name));
                let text = format!(
                    "what do the values {shown} in column {name} mean? Answer with --left, --stay or --undecided \
                     COLUMN=VALUE for each"
                );
                questions.push(ask_status(column, &values, Some(text)));
            }
        }
    }
    if plan.everybody.is_none() && !plan.says_who_has_left() {
        let guesses = columns().filter(|(it, used)| used.is_none() && may_say_who_left(it));
        let guesses: Vec<_> = guesses.take(STATUS_COLUMNS_MAX).collect();
        for (column, _) in &guesses {
            rest.retain(|it| it.name != column.name);
            questions.push(guess_status(column, None));
        }
        questions.push(ask_who_has_left(!guesses.is_empty()));
    }
    if unused > 0 {
        let text = format!(
            "columns without a use: {unused}; answer with --ignore-rest if they do not matter"
        );
        questions.push(Question {
            text: Some(text),
            // The other proposals may name all of them.
            proposal: Vec::from_iter((!rest.is_empty()).then(|| "--ignore-rest".to_owned())),
        });
    }
    questions
}

/// Asks about the columns of addresses and of sign-up times, and how times are written. Removes the columns from the others.
fn ask_fields(table: &Table, plan: &Plan, rest: &mut Vec<&Column>) -> Vec<Question> {
    let mut questions = Vec::new();
    if plan.column(Field::Email).is_none() {
        // The first one of several with as many.
        let columns = rest.iter().rev().copied();
        let columns = columns.filter(|it| count_addresses(it) > 0);
        let best = columns.max_by_key(|it| (count_addresses(it), it.filled));
        questions.push(propose(Field::Email, best, rest));
    }
    let columns = table.columns.iter().zip(&plan.uses);
    let mapped =
        columns.filter(|(_, used)| matches!(used, Some(Use::Map(field)) if field.is_time()));
    let mut times: Vec<_> = mapped.map(|(column, _)| column).collect();
    if plan.column(Field::JoinedAt).is_none() {
        // The first one of several is taken, and one with a time of day before others.
        let dates = rest.iter().rev().copied();
        let dates = dates.filter(|it| may_have_sign_up_times(it));
        let dates = dates.filter(|it| left_words::name_kind(&it.name) != NameKind::Left);
        if let Some(best) = dates.max_by_key(|it| it.values[0].text.contains(':')) {
            questions.push(propose(Field::JoinedAt, Some(best), rest));
            times.push(best);
        }
    }
    questions.extend(times.into_iter().find_map(|it| ask_date_format(it, plan)));
    questions
}

/// Proposes a column for a field, and removes it from the others.
fn propose(field: Field, column: Option<&Column>, rest: &mut Vec<&Column>) -> Question {
    let text = "which column has the addresses? Answer with --map email=COLUMN";
    let mut proposal = Vec::new();
    if let Some(Column { name, .. }) = column {
        rest.retain(|it| it.name != *name);
        proposal = argument("--map", &format!("{}={name}", field.name()));
    }
    Question {
        text: (field == Field::Email).then(|| text.to_owned()),
        proposal,
    }
}

/// Asks how the times of a column are written, if none of them can be read, and all of them in a common format. Otherwise
/// the rows are invalid, and named by their lines.
fn ask_date_format(column: &Column, plan: &Plan) -> Option<Question> {
    let is_readable = |it| times::parse(it, plan.date_format.as_deref()).is_some();
    if column.times().any(is_readable) {
        return None;
    }
    let formats = times::candidates(column.times());
    if formats.is_empty() {
        return None;
    }
    let example = quoted(times::distinguishing(&formats, column.times())?);
    Some(Question {
        text: Some(format!(
            "how are times such as {example} written? Answer with --date-format"
        )),
        // Of two, the owner must choose one.
        proposal: argument("--date-format", &formats.join("-or-")),
    })
}

/// Asks what a column says that may say who has left.
pub(super) fn guess_status(column: &Column, text: Option<String>) -> Question {
    let values: Vec<_> = match has_few_values(column) {
        true => column.texts().collect(),
        // Such as the time of leaving. An empty cell then means that the person stays.
        false => vec!["*"],
    };
    ask_status(column, &values, text)
}

/// Asks what these values mean. `*` is any other value.
fn ask_status(column: &Column, values: &[&str], text: Option<String>) -> Question {
    let proposal = values.iter().flat_map(|value| {
        let has_left = left_words::may_mean_left(NameKind::Other, value);
        let option = if has_left { "--left" } else { LEFT_OR_STAY };
        argument(option, &format!("{}={value}", column.name))
    });
    Question {
        text,
        proposal: proposal.collect(),
    }
}

/// Asks about everybody in the file. It has no proposal if a column may say who has left.
fn ask_who_has_left(is_perhaps_known: bool) -> Question {
    let text = "has anybody in the file left, or said no to mail? Answer with --left and --stay if a column says who, \
                otherwise with --nobody-left or --everybody-left";
    let proposal = (!is_perhaps_known).then(|| NOBODY_OR_EVERYBODY.to_owned());
    Question {
        text: Some(text.to_owned()),
        proposal: Vec::from_iter(proposal),
    }
}

/// Returns the values of a column that no option lists. Those that cannot be shown are others: `*`.
fn unlisted_values<'a>(column: &'a Column, listed: &StatusValues) -> Vec<&'a str> {
    let unlisted = column.texts().filter(|it| listed.verdict(it).is_none());
    let (shown, hidden): (Vec<_>, Vec<_>) = unlisted.partition(|it| is_showable(it));
    let has_others = column.has_more || !hidden.is_empty();
    let others = (has_others && listed.others().is_none()).then_some("*");
    shown.into_iter().chain(others).collect()
}

fn count_addresses(column: &Column) -> usize {
    let is_address = |text: &&str| Email::parse(without_name(text)).is_ok();
    column.texts().filter(is_address).count()
}

/// Returns the dates of a column, or nothing if not all its values are dates in one format.
fn dates(column: &Column) -> Vec<SystemTime> {
    let format = times::candidates(column.times()).first().copied();
    let dates = column.times().map(|it| times::parse(it, format));
    dates.collect::<Option<_>>().unwrap_or_default()
}

/// Whether all values are dates, and most are not too early for a sign-up. Some programs write 1970 if they know no time.
fn may_have_sign_up_times(column: &Column) -> bool {
    let dates = dates(column);
    let is_early = |time: &&SystemTime| **time < UNIX_EPOCH + EARLIEST_SIGN_UP;
    dates.iter().filter(is_early).count() * 2 < dates.len()
}

/// Whether a column has so few values that each can say whether a person has left.
fn has_few_values(column: &Column) -> bool {
    let values = column.texts().count();
    let are_few = !column.has_more && (2..=STATUS_VALUES_MAX).contains(&values);
    are_few && dates(column).is_empty() && column.texts().all(is_showable)
}

/// Whether a column has few values, and some of them repeatedly.
fn may_say_who_left(column: &Column) -> bool {
    (column.values.len() as u64) < column.filled && has_few_values(column)
}

fn argument(option: &str, value: &str) -> Vec<String> {
    vec![option.to_owned(), value.to_owned()]
}

/// Adds an answer to the arguments of the command. One that says who has left takes back that nobody has.
fn add_answer(args: &mut Vec<String>, answer: &[String]) {
    let says_who_left =
        |it: &String| ["--left", "--stay", "--undecided", LEFT_OR_STAY].contains(&it.as_str());
    if answer.iter().any(says_who_left) {
        args.retain(|it| it != "--nobody-left");
    }
    // After `--`, nothing is an option.
    let end = args.iter().position(|it| it == "--");
    let end = end.unwrap_or(args.len());
    args.splice(end..end, answer.iter().cloned());
}

/// Returns the whole command, with the arguments that the owner has given, and the best answers.
pub(super) fn command(args: &[String], questions: &[Question]) -> String {
    let mut args = args.to_vec();
    for question in questions {
        add_answer(&mut args, &question.proposal);
    }
    // The command is the next one, which imports the file.
    let args = args.iter().filter(|it| *it != "--dry-run");
    let args = args.map(|it| format!(" {}", shell_quoted(it)));
    format!("landing import{}", args.collect::<String>())
}
