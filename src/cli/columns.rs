//! Finds the columns of a file that hold addresses, sign-up times and statuses.

use std::{borrow::Cow, time::SystemTime};

use super::{
    cells::Cells,
    departed::{self, Kind, Says, bare, is_no_time},
    format::as_it_was,
    rows::{Found, Reason},
    survey::Rules,
    time::{self, TimeError, implausible},
};
use crate::waitlist::{Email, Entry};

/// The positions of the columns that are read.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// As the header row has them. Without one, `None`.
    names: Option<Vec<String>>,
    pub(super) email: usize,
    /// The first that is not empty counts.
    joined_at: Vec<usize>,
    departed: Vec<Departed>,
    /// The file was written by `export`, which puts a `'` before cells that could be formulas.
    is_ours: bool,
}

/// A column that says who has left the list that the file comes from.
#[derive(Debug)]
pub(super) struct Departed {
    pub(super) at: usize,
    pub(super) kind: Kind,
    /// Without this, it is used only if a value in it is known.
    pub(super) is_sure: bool,
}

/// Names of columns, in small letters and figures alone: of `export`, Mailchimp, getwaitlist, Prefinery,
/// Google Forms, Tally and Typeform, and of people.
const EMAIL: [&str; 4] = ["email", "emailaddress", "emailadresse", "mail"];
const JOINED_AT: [&str; 6] = [
    "joinedat",
    "optintime",
    "confirmtime",
    "createdat",
    "timestamp",
    "joined",
];
/// The name of a sign-up time has one of the first, one of the second, and none of the third, which
/// came later.
const JOINING: [&str; 9] = [
    "join", "optin", "creat", "signup", "signedup", "appl", "subscri", "submit", "added",
];
const TIME: [&str; 6] = ["time", "date", "edat", "upat", "edon", "signedup"];
const LATER: [&str; 7] = [
    "unsub", "optout", "clean", "remov", "updated", "chang", "expir",
];

impl Columns {
    /// Finds the columns by the names in the first row. If that row has an address, there is no header
    /// row: the columns are found by their values, and the row is returned too.
    pub(super) fn find(first: Cells, ignored: &[String]) -> Option<(Self, Option<Cells>)> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let is_email = |cell: &[u8]| Email::parse(&text(cell)).is_ok();
        let Some(email) = first.iter().position(is_email) else {
            return Some((
                Self::named(first.iter().map(text).collect(), ignored)?,
                None,
            ));
        };
        let is_time = |cell: &[u8]| time::parse(&text(cell)).is_ok();
        let columns = Self {
            email,
            joined_at: first.iter().position(is_time).into_iter().collect(),
            ..Self::default()
        };
        let columns = Self {
            departed: (0..first.iter().count())
                .filter(|at| *at != email && !columns.joined_at.contains(at))
                .map(|at| Departed {
                    at,
                    kind: Kind::Other,
                    is_sure: false,
                })
                .collect(),
            ..columns
        };
        Some((columns, Some(first)))
    }

    /// Finds the columns by their names, except those to be ignored.
    pub(super) fn named(names: Vec<String>, ignored: &[String]) -> Option<Self> {
        let is_ignored = |name: &String| ignored.iter().any(|it| bare(it) == *name);
        let bare_names = names.iter().map(|name| bare(name));
        let bare_names: Vec<_> = bare_names
            .map(|name| {
                if is_ignored(&name) {
                    String::new()
                } else {
                    name
                }
            })
            .collect();
        // In the order of the wanted names, not of the columns.
        let all = |wanted: &[&str]| {
            let at = |wanted: &&str| bare_names.iter().position(|name| name == wanted);
            wanted.iter().filter_map(at).collect::<Vec<_>>()
        };
        let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let departed = (0..names.len()).filter_map(|at| {
            let (kind, is_sure) = departed::kind(&bare_names[at])?;
            Some(Departed { at, kind, is_sure })
        });
        let mut departed: Vec<_> = departed.collect();
        let email = all(&EMAIL).first().copied();
        // "What is your e-mail?", but neither "Ann <ann@email.com>" nor "Email consent".
        let email = email.or_else(|| {
            let says_who_left = |it: &Departed| it.kind != Kind::Other;
            let is_other = |at: usize| {
                let mut others = departed.iter().filter(|it| says_who_left(it));
                others.any(|it| it.at == at) || names[at].contains('@')
            };
            (0..names.len()).find(|at| bare_names[*at].contains(EMAIL[0]) && !is_other(*at))
        })?;
        let mut joined_at = all(&JOINED_AT);
        for (at, name) in bare_names.iter().enumerate() {
            let is_one = has(name, &JOINING) && has(name, &TIME) && !has(name, &LATER);
            if is_one && !joined_at.contains(&at) {
                joined_at.push(at);
            }
        }
        departed.retain(|it| {
            let is_used = it.at == email || joined_at.contains(&it.at);
            it.kind != Kind::Other || !is_used
        });
        Some(Self {
            email,
            is_ours: joined_at.iter().any(|at| bare_names[*at] == JOINED_AT[0]),
            joined_at,
            departed,
            names: Some(names),
        })
    }

    /// Reads a row with these cells.
    pub(super) fn read<'a>(
        &self,
        cell: impl Fn(usize) -> Result<&'a str, Reason>,
        rules: &Rules,
        now: SystemTime,
    ) -> Result<Found, Reason> {
        let mut has_left = false;
        for (name, column) in self.departed() {
            match rules.says(&name, column.kind, cell(column.at)?) {
                Says::Left | Says::LeftAt => has_left = true,
                // The file has changed since it was looked through.
                Says::Unknown => return Err(Reason::Broken("its status is unknown")),
                Says::Nothing | Says::Link | Says::Stayed => {}
            }
        }
        if has_left {
            return Err(Reason::Left);
        }
        let mut joined_at = "";
        for at in &self.joined_at {
            if joined_at.is_empty() {
                joined_at = Some(cell(*at)?)
                    .filter(|it| !is_no_time(it))
                    .unwrap_or_default();
            }
        }
        found(self.address(cell(self.email)?), joined_at, rules, now)
    }

    /// The address in a cell, without the `'` that `export` puts before formulas.
    pub(super) fn address<'a>(&self, cell: &'a str) -> &'a str {
        if self.is_ours { as_it_was(cell) } else { cell }
    }

    /// Whether this is what the header row has in the column of addresses.
    pub(super) fn is_header(&self, email: &str) -> bool {
        self.has_names() && bare(email) == bare(&self.email())
    }

    pub(super) fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether a column says who has left.
    pub(super) fn has_departed(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Whether a column has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut names = self.names.iter().flatten();
        names.any(|it| bare(it) == bare(name))
    }

    /// Whether these are the columns of `export`, and nothing had to be guessed.
    pub(super) fn are_exports(&self) -> bool {
        let names = self.names.as_deref().unwrap_or_default();
        names
            .iter()
            .map(|name| bare(name))
            .eq(["email", "joinedat"])
    }

    /// The name of the column of addresses.
    pub(super) fn email(&self) -> Cow<'_, str> {
        self.name(self.email)
    }

    /// The names of the columns of times.
    pub(super) fn joined_at(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.joined_at.iter().map(|at| self.name(*at))
    }

    /// The columns that say who has left, with their names.
    pub(super) fn departed(&self) -> impl Iterator<Item = (Cow<'_, str>, &Departed)> {
        self.departed.iter().map(|it| (self.name(it.at), it))
    }

    /// The name of a column, or its number from 1.
    fn name(&self, at: usize) -> Cow<'_, str> {
        let name = self.names.as_ref().and_then(|names| names.get(at));
        name.map_or_else(|| (at + 1).to_string().into(), |name| name.trim().into())
    }

    /// The columns of a JSON object, in which `export` puts no `'` before formulas.
    pub(super) fn of_json(mut self) -> Self {
        self.is_ours = false;
        self
    }
}

/// Checks an address and a time, and whether another row says that this person has left. An intact export
/// may have any time: a server's clock was wrong.
pub(super) fn found(
    email: &str,
    joined_at: &str,
    rules: &Rules,
    now: SystemTime,
) -> Result<Found, Reason> {
    let email = Email::parse(email).map_err(Reason::NoAddress)?;
    if rules.has_left(&email) {
        return Err(Reason::Left);
    }
    let has_time = !joined_at.is_empty();
    let joined_at = if has_time {
        time::parse(joined_at).map_err(|error| {
            Reason::Broken(match error {
                TimeError::Unclear => {
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
    let implausible = implausible(joined_at).filter(|_| has_time);
    if let Some(why) = implausible
        && !rules.is_intact()
    {
        return Err(Reason::Broken(why));
    }
    Ok(Found {
        entry: Entry { email, joined_at },
        has_time,
        is_plausible: implausible.is_none(),
    })
}
