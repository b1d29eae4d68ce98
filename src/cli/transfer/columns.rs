//! Finds the columns of a file that hold addresses, sign-up times and statuses.

use std::{borrow::Cow, time::SystemTime};

use super::{
    column_kind::{Kind, kind},
    csv_reader::Cells,
    export_format::as_it_was,
    import_reader::{Content, Found, Reason},
    scan::Rules,
    status_options::word,
    status_values::{Says, bare, is_no_time},
};
use crate::{
    cli::time::{self, TimeError, implausible},
    waitlist::{Email, Entry},
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
    departed: Vec<Departed>,
    /// The file was written by `export`, which puts a `'` before cells that could be formulas.
    is_ours: bool,
}

/// A column that says who has left the list that the file comes from.
#[derive(Debug)]
pub(crate) struct Departed {
    pub(crate) at: usize,
    pub(crate) kind: Kind,
    /// Without this, it is used only if a value in it is known.
    pub(crate) is_sure: bool,
    /// It is within another object, which may be one of several lists: the owner is asked.
    pub(crate) is_inner: bool,
}

/// The names of columns. Those of a table have nothing else.
#[derive(Default)]
pub(crate) struct Names<'a> {
    pub(crate) names: Vec<String>,
    /// The first column of those within inner objects of JSON: they have no address and no time.
    pub(crate) inner_from: usize,
    /// The columns that hold the text of such an object.
    pub(crate) containers: &'a [usize],
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
    pub(crate) fn find(first: Cells, ignored: &[String]) -> Option<(Self, Option<Cells>)> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let is_email = |cell: &[u8]| Email::parse(&text(cell)).is_ok();
        if !first.iter().any(is_email) {
            let names: Vec<_> = first.iter().map(text).collect();
            let names = Names {
                inner_from: names.len(),
                names,
                ..Names::default()
            };
            return Some((Self::named(names, ignored)?, None));
        }
        let cells: Vec<_> = first.iter().collect();
        let is_read = |at: &usize| !ignored.iter().any(|it| word(it) == (at + 1).to_string());
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
            departed: others.map(|at| Departed::new(at, Kind::Other)).collect(),
            ..Self::default()
        };
        Some((columns, Some(first)))
    }

    /// Finds the columns by their names, except those to be ignored.
    pub(crate) fn named(names: Names, ignored: &[String]) -> Option<Self> {
        let Names {
            names,
            inner_from,
            containers,
        } = names;
        let is_ignored = |(at, name): (usize, &String)| {
            let shown = shown_name(name, at);
            // With an object, everything within it is ignored.
            let outer = shown.match_indices('.').map(|(end, _)| &shown[..end]);
            let outer = outer.filter(|_| at >= inner_from).chain([&*shown]);
            let mut outer = outer.map(word);
            !ignored.is_empty() && outer.any(|name| ignored.iter().any(|it| word(it) == name))
        };
        let is_ignored: Vec<_> = names.iter().enumerate().map(is_ignored).collect();
        let bare_name = |(name, is_ignored): (&String, &bool)| {
            if *is_ignored {
                String::new()
            } else {
                bare(name)
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
        let departed = (0..names.len()).filter(|at| !is_ignored[*at] && !containers.contains(at));
        let departed = departed.filter_map(|at| {
            let (kind, is_sure) = kind(&names[at])?;
            let is_inner = at >= inner_from;
            Some(Departed {
                at,
                kind,
                is_sure,
                is_inner,
            })
        });
        let mut departed: Vec<_> = departed.collect();
        let kind_of = |at: usize| {
            let column = departed.iter().find(|it| it.at == at);
            column.map_or(Kind::Other, |it| it.kind)
        };
        // "What is your e-mail?", but neither "Ann <ann@email.com>" nor "Email consent". If there is no
        // other: "E-mail for our newsletter".
        let is_email = |at: &usize| bare_names[*at].contains(EMAIL[0]) && !names[*at].contains('@');
        let others = |is_one: fn(Kind) -> bool| {
            let mut emails = (0..bare_names.len()).filter(is_email);
            emails.find(|at| is_one(kind_of(*at)))
        };
        let email = all(&EMAIL).first().copied();
        let email = email.or_else(|| others(|kind| kind == Kind::Other));
        let email = email.or_else(|| others(|kind| !kind.decides()))?;
        let mut joined_at = all(&JOINED_AT);
        for (at, name) in bare_names.iter().enumerate() {
            let is_one = has(name, &JOINING) && has(name, &TIME) && !has(name, &LATER);
            let is_one = is_one && matches!(kind_of(at), Kind::Other | Kind::MaybeStayed);
            if is_one && !joined_at.contains(&at) {
                joined_at.push(at);
            }
        }
        departed.retain(|it| {
            let is_used = it.at == email || joined_at.contains(&it.at);
            it.kind.decides() || !is_used
        });
        Some(Self {
            width: names.len(),
            email,
            is_ours: joined_at.iter().any(|at| bare_names[*at] == JOINED_AT[0]),
            joined_at,
            departed,
            names: Some(names),
        })
    }

    /// Reads a row.
    pub(crate) fn read(
        &self,
        content: &Content,
        rules: &Rules,
        now: SystemTime,
    ) -> Result<Found, Reason> {
        if content.extra_cells().next().is_some() {
            return Err(Reason::Broken(
                "it has more cells than the first row, so they may belong to other columns",
            ));
        }
        let (mut has_left, mut is_unknown) = (false, false);
        for (name, column) in self.departed() {
            match rules.says(&name, column, &column.text(content)?) {
                Says::Left | Says::LeftAt => has_left = true,
                Says::Unknown => is_unknown = true,
                Says::Nothing | Says::Link | Says::Stayed | Says::Ticked => {}
            }
        }
        if has_left {
            return Err(Reason::Left);
        }
        if is_unknown {
            // The file has changed since it was looked through.
            return Err(Reason::Broken("its status is unknown"));
        }
        let mut joined_at = "";
        for at in &self.joined_at {
            if joined_at.is_empty() {
                joined_at = Some(content.cell(*at)?)
                    .filter(|it| !is_no_time(it))
                    .unwrap_or_default();
            }
        }
        let email = self.address(content.cell(self.email)?);
        found(email, joined_at, rules, now)
    }

    /// The address in a cell, without the `'` that `export` puts before formulas.
    pub(crate) fn address<'a>(&self, cell: &'a str) -> &'a str {
        if self.is_ours { as_it_was(cell) } else { cell }
    }

    /// Whether this is what the header row has in the column of addresses.
    pub(crate) fn is_header(&self, email: &str) -> bool {
        self.has_names() && bare(email) == bare(&self.email())
    }

    pub(crate) fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether a column says who has left.
    pub(crate) fn has_departed(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Whether a column has this name, or this number if it is shown by its number.
    pub(crate) fn has(&self, name: &str) -> bool {
        (0..self.width).any(|at| word(&self.name(at)) == word(name))
    }

    /// The number of columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Whether these are the columns of `export`, and nothing had to be guessed.
    pub(crate) fn are_exports(&self) -> bool {
        let names = self.names.as_deref().unwrap_or_default();
        names
            .iter()
            .map(|name| bare(name))
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
    pub(crate) fn departed(&self) -> impl Iterator<Item = (Cow<'_, str>, &Departed)> {
        self.departed.iter().map(|it| (self.name(it.at), it))
    }

    /// The name of a column, or its number from 1.
    fn name(&self, at: usize) -> Cow<'_, str> {
        let name = self.names.as_ref().and_then(|names| names.get(at));
        shown_name(name.map_or("", String::as_str), at)
    }

    /// The columns of a JSON object, in which `export` puts no `'` before formulas.
    pub(crate) fn of_json(mut self) -> Self {
        self.is_ours = false;
        self
    }
}

/// A name, or the number from 1 of a column that has none.
fn shown_name(name: &str, at: usize) -> Cow<'_, str> {
    match name.trim() {
        "" => (at + 1).to_string().into(),
        name => name.into(),
    }
}

impl Departed {
    pub(crate) fn new(at: usize, kind: Kind) -> Self {
        Self {
            at,
            kind,
            is_sure: false,
            is_inner: false,
        }
    }

    /// The text in this column. Only a column that decides must be UTF-8.
    pub(crate) fn text<'a>(&self, content: &'a Content) -> Result<Cow<'a, str>, Reason> {
        if self.kind.decides() {
            content.cell(self.at).map(Cow::Borrowed)
        } else {
            Ok(content.loose_cell(self.at))
        }
    }
}

/// Checks an address and a time, and whether another row says that this person has left. An intact export
/// may have any time: a server's clock was wrong.
pub(crate) fn found(
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
