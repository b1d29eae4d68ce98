//! Finds the columns of a file that hold addresses, sign-up times and statuses.

use std::{borrow::Cow, time::SystemTime};

use super::{
    column_kind::{ColumnKind, column_kind},
    csv_reader::CsvRow,
    export_format::unescape_formula,
    import_reader::{Content, ParsedEntry, Reason},
    scan::ImportRules,
    status_options::comparison_key,
    status_values::{Meaning, means_no_time, normalize},
};
use crate::{
    cli::time::{self, TimeError, time_problem},
    waitlist::{Email, WaitlistEntry},
};

/// The positions of the columns that are read.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// As the header row has them. Without one, `None`.
    names: Option<Vec<String>>,
    /// The number of columns.
    width: usize,
    pub(crate) email: usize,
    /// The first that is not empty counts.
    joined_at: Vec<usize>,
    status_columns: Vec<StatusColumn>,
    /// The file was written by `export`, which puts a `'` before cells that could be formulas.
    has_escaped_formulas: bool,
}

/// A column that says who has left the list that the file comes from.
#[derive(Debug)]
pub(crate) struct StatusColumn {
    pub(crate) at: usize,
    pub(crate) kind: ColumnKind,
    /// Without this, it is used only if a value in it is known.
    pub(crate) is_certain: bool,
    /// It is within another object, which may be one of several lists: the owner is asked.
    pub(crate) is_nested: bool,
}

/// The names of columns. Those of a table have nothing else.
#[derive(Default)]
pub(crate) struct ColumnNames<'a> {
    pub(crate) names: Vec<String>,
    /// The first column of those within inner objects of JSON: they have no address and no time.
    pub(crate) inner_from: usize,
    /// The columns that hold the text of such an object.
    pub(crate) containers: &'a [usize],
}

/// Names of columns, in small letters and figures alone: of `export`, Mailchimp, getwaitlist, Prefinery,
/// Google Forms, Tally and Typeform, and of people.
const EMAIL_NAMES: [&str; 4] = ["email", "emailaddress", "emailadresse", "mail"];
const JOINED_AT_NAMES: [&str; 6] = [
    "joinedat",
    "optintime",
    "confirmtime",
    "createdat",
    "timestamp",
    "joined",
];
/// The name of a sign-up time has one of the first, one of the second, and none of the third, which
/// came later.
const JOINING_PARTS: [&str; 9] = [
    "join", "optin", "creat", "signup", "signedup", "appl", "subscri", "submit", "added",
];
const TIME_PARTS: [&str; 6] = ["time", "date", "edat", "upat", "edon", "signedup"];
const LATER_PARTS: [&str; 7] = [
    "unsub", "optout", "clean", "remov", "updated", "chang", "expir",
];

impl Columns {
    /// Finds the columns by the names in the first row. If that row has an address, there is no header
    /// row: the columns are found by their values, and the row is returned too.
    pub(crate) fn from_first_row(
        first: CsvRow,
        ignored: &[String],
    ) -> Option<(Self, Option<CsvRow>)> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let is_email = |cell: &[u8]| Email::parse(&text(cell)).is_ok();
        if !first.iter().any(is_email) {
            let names: Vec<_> = first.iter().map(text).collect();
            let names = ColumnNames {
                inner_from: names.len(),
                names,
                ..ColumnNames::default()
            };
            return Some((Self::from_names(names, ignored)?, None));
        }
        let cells: Vec<_> = first.iter().collect();
        let is_read = |at: &usize| {
            !ignored
                .iter()
                .any(|it| comparison_key(it) == (at + 1).to_string())
        };
        let read: Vec<_> = (0..cells.len()).filter(is_read).collect();
        let is_time = |cell: &[u8]| time::parse(&text(cell)).is_ok();
        let email = *read.iter().find(|at| is_email(cells[**at]))?;
        let joined_at = read.iter().copied().find(|at| is_time(cells[*at]));
        let is_other = |at: &usize| *at != email && Some(*at) != joined_at;
        let others = read.into_iter().filter(is_other);
        let columns = Self {
            width: cells.len(),
            email,
            joined_at: joined_at.into_iter().collect(),
            status_columns: others
                .map(|at| StatusColumn::new(at, ColumnKind::Other))
                .collect(),
            ..Self::default()
        };
        Some((columns, Some(first)))
    }

    /// Finds the columns by their names, except those to be ignored.
    pub(crate) fn from_names(names: ColumnNames, ignored: &[String]) -> Option<Self> {
        let ColumnNames {
            names,
            inner_from,
            containers,
        } = names;
        let is_ignored = |(at, name): (usize, &String)| {
            let shown = display_name(name, at);
            // With an object, everything within it is ignored.
            let outer = shown.match_indices('.').map(|(end, _)| &shown[..end]);
            let outer = outer.filter(|_| at >= inner_from).chain([&*shown]);
            let mut outer = outer.map(comparison_key);
            !ignored.is_empty()
                && outer.any(|name| ignored.iter().any(|it| comparison_key(it) == name))
        };
        let is_ignored: Vec<_> = names.iter().enumerate().map(is_ignored).collect();
        let bare_name = |(name, is_ignored): (&String, &bool)| {
            if *is_ignored {
                String::new()
            } else {
                normalize(name)
            }
        };
        let outer = names.iter().zip(&is_ignored).take(inner_from);
        let bare_names: Vec<_> = outer.map(bare_name).collect();
        // In the order of the wanted names, not of the columns.
        let all = |wanted: &[&str]| {
            let at = |wanted: &&str| bare_names.iter().position(|name| name == wanted);
            wanted.iter().filter_map(at).collect::<Vec<_>>()
        };
        let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let status_columns =
            (0..names.len()).filter(|at| !is_ignored[*at] && !containers.contains(at));
        let status_columns = status_columns.filter_map(|at| {
            let (kind, is_certain) = column_kind(&names[at])?;
            let is_nested = at >= inner_from;
            Some(StatusColumn {
                at,
                kind,
                is_certain,
                is_nested,
            })
        });
        let mut status_columns: Vec<_> = status_columns.collect();
        let kind_of = |at: usize| {
            let column = status_columns.iter().find(|it| it.at == at);
            column.map_or(ColumnKind::Other, |it| it.kind)
        };
        // "What is your e-mail?", but neither "Ann <ann@email.com>" nor "Email consent". If there is no
        // other: "E-mail for our newsletter".
        let is_email =
            |at: &usize| bare_names[*at].contains(EMAIL_NAMES[0]) && !names[*at].contains('@');
        let others = |is_one: fn(ColumnKind) -> bool| {
            let mut emails = (0..bare_names.len()).filter(is_email);
            emails.find(|at| is_one(kind_of(*at)))
        };
        let email = all(&EMAIL_NAMES).first().copied();
        let email = email.or_else(|| others(|kind| kind == ColumnKind::Other));
        let email = email.or_else(|| others(|kind| !kind.is_decisive()))?;
        let mut joined_at = all(&JOINED_AT_NAMES);
        for (at, name) in bare_names.iter().enumerate() {
            let is_one =
                has(name, &JOINING_PARTS) && has(name, &TIME_PARTS) && !has(name, &LATER_PARTS);
            let is_one =
                is_one && matches!(kind_of(at), ColumnKind::Other | ColumnKind::MaybeSubscribed);
            if is_one && !joined_at.contains(&at) {
                joined_at.push(at);
            }
        }
        status_columns.retain(|it| {
            let is_used = it.at == email || joined_at.contains(&it.at);
            it.kind.is_decisive() || !is_used
        });
        Some(Self {
            width: names.len(),
            email,
            has_escaped_formulas: joined_at
                .iter()
                .any(|at| bare_names[*at] == JOINED_AT_NAMES[0]),
            joined_at,
            status_columns,
            names: Some(names),
        })
    }

    /// Reads a row.
    pub(crate) fn parse_row(
        &self,
        content: &Content,
        rules: &ImportRules,
        now: SystemTime,
    ) -> Result<ParsedEntry, Reason> {
        if content.extra_cells().next().is_some() {
            return Err(Reason::Malformed(
                "it has more cells than the first row, so they may belong to other columns",
            ));
        }
        let (mut is_unsubscribed, mut is_unknown) = (false, false);
        for (name, column) in self.status_columns() {
            match rules.classify(&name, column, &column.text(content)?) {
                Meaning::Unsubscribed | Meaning::UnsubscribedAt => is_unsubscribed = true,
                Meaning::Unknown => is_unknown = true,
                Meaning::Empty | Meaning::Link | Meaning::Subscribed | Meaning::Agreed => {}
            }
        }
        if is_unsubscribed {
            return Err(Reason::Unsubscribed);
        }
        if is_unknown {
            // The file has changed since it was looked through.
            return Err(Reason::Malformed("its status is unknown"));
        }
        let mut joined_at = "";
        for at in &self.joined_at {
            if joined_at.is_empty() {
                joined_at = Some(content.cell(*at)?)
                    .filter(|it| !means_no_time(it))
                    .unwrap_or_default();
            }
        }
        let email = self.address(content.cell(self.email)?);
        parse_entry(email, joined_at, rules, now)
    }

    /// The address in a cell, without the `'` that `export` puts before formulas.
    pub(crate) fn address<'a>(&self, cell: &'a str) -> &'a str {
        if self.has_escaped_formulas {
            unescape_formula(cell)
        } else {
            cell
        }
    }

    /// Whether this is what the header row has in the column of addresses.
    pub(crate) fn is_header(&self, email: &str) -> bool {
        self.has_names() && normalize(email) == normalize(&self.email())
    }

    pub(crate) fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether a column says who has left.
    pub(crate) fn has_status_columns(&self) -> bool {
        !self.status_columns.is_empty()
    }

    /// Whether a column has this name, or this number if it is shown by its number.
    pub(crate) fn has(&self, name: &str) -> bool {
        (0..self.width).any(|at| comparison_key(&self.name(at)) == comparison_key(name))
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether these are the columns of `export`, and nothing had to be guessed.
    pub(crate) fn are_export_columns(&self) -> bool {
        let names = self.names.as_deref().unwrap_or_default();
        names
            .iter()
            .map(|name| normalize(name))
            .eq(["email", "joinedat"])
    }

    /// The name of the column of addresses.
    pub(crate) fn email(&self) -> Cow<'_, str> {
        self.name(self.email)
    }

    /// The names of the columns of times.
    pub(crate) fn joined_at(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.joined_at.iter().map(|at| self.name(*at))
    }

    /// The columns that say who has left, with their names.
    pub(crate) fn status_columns(&self) -> impl Iterator<Item = (Cow<'_, str>, &StatusColumn)> {
        self.status_columns.iter().map(|it| (self.name(it.at), it))
    }

    /// The name of a column, or its number from 1.
    fn name(&self, at: usize) -> Cow<'_, str> {
        let name = self.names.as_ref().and_then(|names| names.get(at));
        display_name(name.map_or("", String::as_str), at)
    }

    /// The columns of a JSON object, in which `export` puts no `'` before formulas.
    pub(crate) fn for_json(mut self) -> Self {
        self.has_escaped_formulas = false;
        self
    }
}

/// A name, or the number from 1 of a column that has none.
fn display_name(name: &str, at: usize) -> Cow<'_, str> {
    match name.trim() {
        "" => (at + 1).to_string().into(),
        name => name.into(),
    }
}

impl StatusColumn {
    pub(crate) fn new(at: usize, kind: ColumnKind) -> Self {
        Self {
            at,
            kind,
            is_certain: false,
            is_nested: false,
        }
    }

    /// The text in this column. Only a column that decides must be UTF-8.
    pub(crate) fn text<'a>(&self, content: &'a Content) -> Result<Cow<'a, str>, Reason> {
        if self.kind.is_decisive() {
            content.cell(self.at).map(Cow::Borrowed)
        } else {
            Ok(content.cell_lossy(self.at))
        }
    }
}

/// Checks an address and a time, and whether another row says that this person has left. An intact export
/// may have any time: a server's clock was wrong.
pub(crate) fn parse_entry(
    email: &str,
    joined_at: &str,
    rules: &ImportRules,
    now: SystemTime,
) -> Result<ParsedEntry, Reason> {
    let email = Email::parse(email).map_err(Reason::InvalidEmail)?;
    if rules.is_unsubscribed(&email) {
        return Err(Reason::Unsubscribed);
    }
    let has_time = !joined_at.is_empty();
    let joined_at = if has_time {
        time::parse(joined_at).map_err(|error| {
            Reason::Malformed(match error {
                TimeError::Unrecognized => {
                    "its time can be read in several ways, or in none: write it as \
                     2026-11-21T08:00:00Z, or leave its column out"
                }
                TimeError::NamedZone => {
                    "its time has a zone in brackets, which is not understood: write it as \
                     2026-11-21T08:00:00+01:00"
                }
            })
        })?
    } else {
        now
    };
    let time_problem = time_problem(joined_at).filter(|_| has_time);
    if let Some(why) = time_problem
        && !rules.is_intact()
    {
        return Err(Reason::Malformed(why));
    }
    Ok(ParsedEntry {
        entry: WaitlistEntry { email, joined_at },
        has_time,
        is_time_valid: time_problem.is_none(),
    })
}
