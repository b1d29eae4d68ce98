//! The questions that the owner must answer with options before anybody is imported, with the best answers that the values of
//! a file suggest.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    brake::{self, NameKind},
    column::Column,
    field::Field,
    plan::{Plan, StatusValues, Use, Verdict},
    table::Table,
    text::{is_showable, quoted, shell_quoted},
    times,
};
use crate::{cli::address::without_name, waitlist::Email};

/// A question that nobody has answered. An answer is arguments of the command. It has no `Debug`, because a value may be an
/// address.
#[derive(Default)]
pub(super) struct Question {
    /// What it is, and which options answer it. Those about a column that only may be the right one are part of others.
    pub(super) text: Option<String>,
    /// The best answer. The owner must complete some before the command runs.
    pub(super) proposal: Vec<String>,
    /// What a terminal asks instead of taking the proposal.
    pub(super) steps: Vec<Step>,
    /// Whether it is about a column that says who has left. Answers to others may make the next questions unnecessary.
    pub(super) is_status: bool,
}

/// What a terminal asks, and the arguments that each key means.
pub(super) struct Step {
    pub(super) question: String,
    pub(super) answers: Vec<(char, Vec<String>)>,
    /// Whether arguments answer the whole question, so that the next steps are left out.
    pub(super) is_whole: bool,
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
    if plan.column(Field::Email).is_none() {
        let addresses = rest.iter().copied().filter(|it| has_addresses(it));
        let best = addresses.max_by_key(|it| it.filled);
        questions.push(propose(Field::Email, best, &mut rest));
    }
    let mapped =
        columns().filter(|(_, used)| matches!(used, Some(Use::Map(field)) if field.is_time()));
    let mut times: Vec<_> = mapped.map(|(column, _)| column).collect();
    if plan.column(Field::JoinedAt).is_none() {
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
            if !values.is_empty() && plan.everybody != Some(Verdict::Left) {
                questions.push(ask_status(column, &values, StatusReason::Unlisted));
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
        questions.push(ask_who_has_left(questions.iter().any(|it| it.is_status)));
    }
    if unused > 0 {
        let text = format!(
            "columns without a use: {unused}; answer with --ignore-rest if they do not matter"
        );
        questions.push(Question {
            text: Some(text),
            // The other proposals may name all of them.
            proposal: Vec::from_iter((!rest.is_empty()).then(|| "--ignore-rest".to_owned())),
            ..Question::default()
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
    let shown = quoted(example);
    let text = format!("how are times such as {shown} written? Answer with --date-format");
    let steps = formats.iter().map(|format| {
        let day = times::day(format, example).unwrap_or_default();
        let question = format!("Does {shown} mean {day}?");
        Step::yes_or_no(question, argument("--date-format", format), Vec::new())
    });
    Some(Question {
        text: Some(text),
        steps: steps.collect(),
        proposal: formats
            .first()
            .map_or(Vec::new(), |it| argument("--date-format", it)),
        is_status: false,
    })
}

/// Proposes a column for a field, and removes it from the others.
fn propose(field: Field, column: Option<&Column>, rest: &mut Vec<&Column>) -> Question {
    let text = "which column has the addresses? Answer with --map email=COLUMN";
    let mut question = Question {
        text: (field == Field::Email).then(|| text.to_owned()),
        ..Question::default()
    };
    if let Some(Column { name, .. }) = column {
        rest.retain(|it| it.name != *name);
        question.proposal = argument("--map", &format!("{}={name}", field.name()));
        let no = match field.is_time() {
            true => argument("--ignore", name),
            false => Vec::new(),
        };
        let asked = format!(
            "Does column {} have the field {}?",
            quoted(name),
            field.name()
        );
        let step = Step::yes_or_no(asked, question.proposal.clone(), no);
        question.steps.push(step);
    }
    question
}

/// Asks what the values of a column mean that may say who has left.
pub(super) fn guess_status(column: &Column, reason: StatusReason) -> Question {
    let values: Vec<_> = match has_few_values(column) {
        true => column.texts().collect(),
        // Such as the time of leaving. An empty cell then means that the person stays.
        false => vec!["*"],
    };
    ask_status(column, &values, reason)
}

/// Asks whether a column says who has left, unless that is known, and what these values mean. `*` is any other value.
fn ask_status(column: &Column, values: &[&str], reason: StatusReason) -> Question {
    let name = quoted(&column.name);
    let (mut steps, mut proposal) = (Vec::new(), Vec::new());
    if !matches!(reason, StatusReason::Unlisted) {
        let values: Vec<_> = values.iter().map(|it| shown(it, "many values")).collect();
        let values = values.join(", ");
        let question =
            format!("Column {name} has {values}. Does it say who wants mail, and who does not?");
        let no = argument("--ignore", &column.name);
        steps.push(Step::yes_or_no(question, Vec::new(), no));
    }
    for value in values {
        let shown = shown(value, "any value");
        let value_argument = format!("{}={value}", column.name);
        let answer = |key, option| (key, argument(option, &value_argument));
        steps.push(Step {
            question: format!("{name} = {shown}: (l)eft, (s)tays, (u)ndecided?"),
            answers: vec![
                answer('l', "--left"),
                answer('s', "--stay"),
                answer('u', "--undecided"),
            ],
            is_whole: false,
        });
        let has_left = brake::may_mean_left(NameKind::Other, value);
        let option = if has_left { "--left" } else { LEFT_OR_STAY };
        proposal.extend(argument(option, &value_argument));
    }
    Question {
        text: match reason {
            StatusReason::Guess => None,
            StatusReason::Unlisted => {
                let values: Vec<_> = values.iter().map(|it| quoted(it)).collect();
                Some(format!(
                    "what do the values {} in column {name} mean? Answer with --left, --stay or --undecided COLUMN=VALUE \
                     for each",
                    values.join(", "),
                ))
            }
            StatusReason::Suspicious { line, text } => Some(format!(
                "line {line}: column {name} says {}, but the person would be added; answer with --left and --stay if the \
                 column says who has left, otherwise with --ignore COLUMN",
                quoted(&text)
            )),
        },
        proposal,
        steps,
        is_status: true,
    }
}

fn shown(value: &str, other: &str) -> String {
    match value {
        "*" => other.to_owned(),
        value => quoted(value),
    }
}

/// Asks about everybody in the file. It has no proposal if a column may say who has left.
fn ask_who_has_left(is_perhaps_known: bool) -> Question {
    let text = "has anybody in the file left, or said no to mail? Answer with --left and --stay if a column says who, \
                otherwise with --nobody-left or --everybody-left";
    let asked = "Who in the file has left, or said no to mail? (n)obody, (e)verybody";
    let answers = [('n', "--nobody-left"), ('e', "--everybody-left")];
    let answers = answers.map(|(key, argument)| (key, vec![argument.to_owned()]));
    Question {
        text: Some(text.to_owned()),
        proposal: match is_perhaps_known {
            true => Vec::new(),
            false => vec![NOBODY_OR_EVERYBODY.to_owned()],
        },
        steps: vec![Step {
            question: asked.to_owned(),
            answers: answers.into(),
            is_whole: true,
        }],
        is_status: false,
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

impl Step {
    fn yes_or_no(question: String, yes: Vec<String>, no: Vec<String>) -> Self {
        Self {
            question,
            answers: vec![('y', yes), ('n', no)],
            is_whole: true,
        }
    }
}

fn argument(option: &str, value: &str) -> Vec<String> {
    vec![option.to_owned(), value.to_owned()]
}

/// Adds an answer to the arguments of the command. One that says who has left takes back that nobody has.
pub(super) fn add_answer(args: &mut Vec<String>, answer: &[String]) {
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
