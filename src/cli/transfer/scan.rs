//! Reads a file before `import` adds anybody: finds the columns that say which people have left, and the
//! values in them that are unknown.

use std::{
    borrow::Cow,
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    io,
    sync::Arc,
};

use super::{
    column_kind::Kind,
    column_report::{Unknown, Use, Uses, shown},
    columns::{Columns, Departed},
    export_format::as_it_was,
    import_reader::{Opened, Record},
    status_options::{Answers, Statuses},
    status_values::{self, Says},
};
use crate::waitlist::Email;

/// How rows are read.
#[derive(Default)]
pub(crate) struct Rules {
    statuses: Statuses,
    /// Everybody in the file may have left.
    may_skip_all: bool,
    /// The file is an export whose checksum is right.
    is_intact: bool,
    /// Columns that looked as if they said who has left, and do not.
    pub(crate) not_used: HashSet<String>,
    /// Columns in which an empty box may be a no.
    pub(crate) with_boxes: HashSet<String>,
    /// The people who have left, by a hash of their addresses: in another row they may not have.
    left: HashSet<u64>,
    hasher: RandomState,
}

impl Rules {
    fn new(answers: &Answers, is_intact: bool) -> Self {
        Self {
            statuses: Statuses::new(answers),
            may_skip_all: answers.skip_all,
            is_intact,
            ..Self::default()
        }
    }

    pub(crate) fn is_intact(&self) -> bool {
        self.is_intact
    }

    /// Whether a row says that this person has left.
    pub(crate) fn has_left(&self, email: &Email) -> bool {
        !self.left.is_empty() && self.left.contains(&self.person(email))
    }

    /// A number for a person. The `'` that spreadsheets and `export` put before formulas makes no other
    /// person.
    fn person(&self, email: &Email) -> u64 {
        self.hasher.hash_one(as_it_was(&email.key()))
    }

    /// Classifies a value, by the owner's answers first, then by the known words.
    pub(crate) fn says(&self, name: &str, column: &Departed, text: &str) -> Says {
        if self.not_used.contains(name) {
            return Says::Nothing;
        }
        let is_box = text.is_empty() && self.with_boxes.contains(name);
        let says = match status_values::says(column.kind, text) {
            Says::Nothing if is_box => Says::Unknown,
            Says::Left | Says::LeftAt if column.is_inner => Says::Unknown,
            says => says,
        };
        let answer = self.statuses.find(name, column.kind, text, says);
        answer.unwrap_or(says)
    }
}

/// The result of reading a file once.
pub(crate) struct Survey {
    pub(crate) rules: Rules,
    /// The columns that are used, and those that looked as if they said who has left.
    pub(crate) columns: Vec<Use>,
    /// All columns are those of `export`, and nothing had to be guessed.
    pub(crate) is_ours: bool,
    /// Why nothing can be imported before the owner has said more.
    pub(crate) question: Option<String>,
}

/// The first people of rows that do not say that they have left. Other rows may say it.
#[derive(Default)]
struct Kept {
    people: HashSet<u64>,
}

/// So many people are not all looked for in other rows.
const KEPT_MAX: usize = 1_000;

impl Kept {
    fn add(&mut self, email: &str, rules: &Rules) {
        if self.people.len() <= KEPT_MAX
            && let Ok(email) = Email::parse(email)
        {
            self.people.insert(rules.person(&email));
        }
    }

    /// Whether all of them have left by other rows.
    fn is_nobody(&self, rules: &Rules) -> bool {
        self.people.len() <= KEPT_MAX && self.people.is_subset(&rules.left)
    }
}

/// Reads a whole file, and imports nobody.
pub(crate) fn survey(opened: Opened, answers: &Answers, is_intact: bool) -> io::Result<Survey> {
    let mut rules = Rules::new(answers, is_intact);
    let mut uses = Uses::default();
    let mut missing = answers.ignore.clone();
    let mut left = 0;
    let mut kept = Kept::default();
    let mut second_header = None;
    if let Some(columns) = &opened.columns {
        uses.add(columns)?;
        missing.retain(|name| !columns.has(name));
    }
    let is_ours = opened.columns.as_ref().map(|columns| columns.are_exports());
    // An export has no such column. Other files are read only if they have one.
    let has_departed = |columns: &Arc<Columns>| columns.has_departed();
    let is_export = rules.is_intact && missing.is_empty();
    if !is_export && opened.columns.as_ref().is_none_or(has_departed) {
        for record in opened.records {
            let Record { line, content } = record?;
            let Ok(content) = content else { continue };
            let Some(columns) = content.columns() else {
                kept.add(content.email(), &rules);
                continue;
            };
            if opened.columns.is_none() {
                uses.add(columns)?;
                missing.retain(|name| !columns.has(name));
            }
            let said = columns.departed().map(|(name, column)| {
                let text = column.text(&content).unwrap_or_default();
                (rules.says(&name, column, &text), name, column.kind, text)
            });
            let said: Vec<_> = said.collect();
            let is_gone = |text: Cow<str>| status_values::says(Kind::Other, &text) == Says::Unknown;
            let has_left = said
                .iter()
                .any(|(says, ..)| matches!(says, Says::Left | Says::LeftAt))
                || content.extra_cells().any(is_gone);
            for (says, name, kind, text) in said {
                // Nobody asks whether somebody has left who is skipped anyway.
                if says != Says::Unknown || kind.decides() || !has_left {
                    uses.note(&name, line, &text, says);
                }
            }
            let email = content.email();
            if opened.columns.is_some() && columns.is_header(email) {
                second_header.get_or_insert(line);
            }
            if !has_left {
                kept.add(email, &rules);
                continue;
            }
            left += 1;
            if let Ok(email) = Email::parse(email) {
                rules.left.insert(rules.person(&email));
            }
        }
    }
    let unknown = uses.settle(&mut rules);
    let question = if let Some(name) = missing.first() {
        Some(format!("there is no column {} in it", shown(name)))
    } else if let Some(line) = second_header {
        Some(format!(
            "line {line} is a second header row, so its columns may be others: import the part before it and \
             the part from it on as two files"
        ))
    } else if let Some(unused) = rules.statuses.unused() {
        Some(unused)
    } else if !unknown.is_empty() {
        Some(about_unknown(&unknown))
    } else if left > 0 && kept.is_nobody(&rules) && !rules.may_skip_all {
        Some(format!(
            "all {left} people in it would be skipped, because of {}. If they have left, add --skip-all. \
             Otherwise import them with --ignore COLUMN, or, if a word such as \"inactive\" says it, with \
             --keep STATUS",
            uses.that_skip()
        ))
    } else {
        None
    };
    Ok(Survey {
        rules,
        is_ours: is_ours.unwrap_or(uses.columns.is_empty()),
        columns: uses.columns,
        question,
    })
}

/// Unknown values that are shown, at most.
const UNKNOWN_SHOWN: usize = 10;

fn about_unknown(unknown: &[Unknown]) -> String {
    let mut question = String::from(
        "import does not know what these values say about people who may have left:\n",
    );
    for it in unknown.iter().take(UNKNOWN_SHOWN) {
        let people = if it.people == 1 { "person" } else { "people" };
        question += &format!(
            "  line {}: column {} says {} ({} {people})\n",
            it.line,
            shown(&it.column),
            shown(&it.text),
            it.people
        );
    }
    if let Some(more @ 1..) = unknown.len().checked_sub(UNKNOWN_SHOWN) {
        question += &format!("  and {more} more\n");
    }
    question
        + "For each value, import these people with --keep STATUS, or skip them with --skip STATUS. To \
           answer for one column, use COLUMN=STATUS, or COLUMN=* for all that is asked about it. To import \
           people whatever a column says, use --ignore COLUMN"
}
