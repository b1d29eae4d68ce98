//! What `import` reads: the rows of a file, whatever program wrote it.

use std::{
    fmt,
    io::{self, BufRead, BufReader, Read},
    time::SystemTime,
};

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{
    cells::{Cells, Table},
    format::{BYTE_ORDER_MARK, Seal, as_it_was},
    lines::{self, TOO_LONG, next_line},
    time::{self, TimeError, implausible},
};
use crate::waitlist::{Email, Entry, InvalidEmail};

/// A line of a file, and who stands in it, or why nobody does.
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) found: Result<Found, Reason>,
}

pub(super) type Rows = Box<dyn Iterator<Item = io::Result<Row>> + Send>;

/// Who stands in a row.
pub(super) struct Found {
    pub(super) entry: Entry,
    /// Whether the row says when; else they join now.
    pub(super) has_time: bool,
    /// Whether that can be: an intact export may have other times.
    pub(super) is_plausible: bool,
}

/// Why a row is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reason {
    NoAddress(InvalidEmail),
    /// It is right, and says that who stands there is on the list no more that it comes from.
    Left,
    Broken(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress(why) => why.fmt(f),
            Self::Left => f.write_str("has left the list that this comes from"),
            Self::Broken(why) => f.write_str(why),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The rows of a file. Who has no time joined `now`. In an intact export any time is taken: it was the
/// clock of a server.
///
/// # Errors
/// A sentence for the owner, when it is not seen where the addresses stand.
pub(super) fn read(
    file: impl Read + Send + 'static,
    is_intact: bool,
    now: SystemTime,
) -> io::Result<Rows> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let beginning = file.fill_buf()?;
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Err(io::Error::other("it is in UTF-16: save it as CSV in UTF-8"));
    }
    if beginning.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    let first = file.fill_buf()?.trim_ascii_start().first();
    match first {
        Some(b'{') => Ok(Box::new(objects(file, is_intact, now))),
        Some(b'[') => Err(io::Error::other(
            "it is an array of JSON: write its objects one a line, as `jq -c '.[]'` does",
        )),
        _ => table(file, is_intact, now),
    }
}

/// An object of JSON a line.
fn objects(
    mut file: impl BufRead + Send,
    is_intact: bool,
    now: SystemTime,
) -> impl Iterator<Item = io::Result<Row>> {
    let lines = std::iter::from_fn(move || next_line(&mut file).transpose());
    (1..).zip(lines).filter_map(move |(line, text)| {
        let found = match text {
            Ok(lines::Line::Text(text)) => match str::from_utf8(&text) {
                Ok(text) => object(text, is_intact, now)?,
                Err(_) => Err(NOT_UTF_8),
            },
            Ok(lines::Line::TooLong) => Err(Reason::Broken(TOO_LONG)),
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Row { line, found }))
    })
}

/// A line of our own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    email: String,
    joined_at: String,
}

fn object(text: &str, is_intact: bool, now: SystemTime) -> Option<Result<Found, Reason>> {
    if let Ok(Line { email, joined_at }) = serde_json::from_str(text) {
        return Some(found(&email, &joined_at, is_intact, now));
    }
    if text.trim().is_empty() || Seal::parse(text).is_some() {
        return None;
    }
    let named = || {
        let object: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| Reason::Broken("it is no object of JSON"))?;
        let columns = Columns::named(object.keys().map(String::as_str));
        let columns = columns.ok_or(Reason::Broken("it has no \"email\""))?;
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let cells: Vec<_> = object.values().map(text).collect();
        columns.read(
            |at| Ok(cells.get(at).map_or("", String::as_str)),
            is_intact,
            now,
        )
    };
    Some(named())
}

/// The rows of a CSV.
fn table(
    file: impl BufRead + Send + 'static,
    is_intact: bool,
    now: SystemTime,
) -> io::Result<Rows> {
    let mut rows = Table::new(file)?;
    // Excel's "sep=;" stands before the header row.
    let is_blank = |cells: &Cells| {
        let is_said = |cell: &[u8]| cell.is_empty() || cell.starts_with(b"sep=");
        cells.iter().all(|cell| is_said(cell.trim_ascii()))
    };
    let (columns, first) = loop {
        match rows.next().transpose()? {
            None => return Ok(Box::new(std::iter::empty())),
            // Without it nobody knows what the others mean.
            Some(Err((line, why))) => {
                return Err(io::Error::other(format!("line {line}: {why}")));
            }
            Some(Ok(cells)) if is_blank(&cells) => {}
            Some(Ok(cells)) => break Columns::find(cells).ok_or_else(|| {
                io::Error::other(
                    "it is not seen where its addresses stand: name their column \"email\" in the \
                     first line",
                )
            })?,
        }
    };
    let rows = first.into_iter().map(|cells| Ok(Ok(cells))).chain(rows);
    let rows = rows.filter_map(move |row| match row {
        Ok(Ok(cells)) if is_seal(&cells) => None,
        Ok(Ok(cells)) => {
            let cell = |at| str::from_utf8(cells.get(at)).map_err(|_| NOT_UTF_8);
            let (line, found) = (cells.line, columns.read(cell, is_intact, now));
            Some(Ok(Row { line, found }))
        }
        Ok(Err(broken)) => Some(Ok(broken.into())),
        Err(error) => Some(Err(error)),
    });
    Ok(Box::new(rows))
}

fn is_seal(cells: &Cells) -> bool {
    let cell = |at| String::from_utf8_lossy(cells.get(at));
    cell(0).starts_with("# ") && Seal::parse(&format!("{},{}", cell(0), cell(1))).is_some()
}

impl From<super::cells::Broken> for Row {
    fn from((line, why): super::cells::Broken) -> Self {
        let found = Err(Reason::Broken(why));
        Self { line, found }
    }
}

/// Where what is wanted stands.
#[derive(Debug, Default)]
struct Columns {
    email: usize,
    /// The first that is not empty counts.
    joined_at: Vec<usize>,
    /// Who has something there has left the list that this one comes from.
    left: Vec<usize>,
    status: Option<usize>,
    /// It is of our own making, and a `'` may stand before what is no formula.
    is_ours: bool,
}

/// What columns are called, in small letters and figures alone: by `export`, by Mailchimp, getwaitlist,
/// Prefinery, Google Forms, Tally and Typeform, and by people.
const EMAIL: [&str; 4] = ["email", "emailaddress", "emailadresse", "mail"];
const JOINED_AT: [&str; 6] = [
    "joinedat",
    "optintime",
    "confirmtime",
    "createdat",
    "timestamp",
    "joined",
];
/// A time of joining has one of these in its name, and one of those.
const JOINING: [&str; 8] = [
    "join", "optin", "creat", "signup", "signedup", "appl", "subscri", "submit",
];
const TIME: [&str; 6] = ["time", "date", "edat", "upat", "edon", "signedup"];
/// And none of these, which are of what came later.
const LATER: [&str; 6] = ["unsub", "optout", "clean", "remov", "updated", "chang"];
/// Of these, the ones that say who has left.
const LEFT: [&str; 4] = ["unsub", "optout", "cleantime", "removeddate"];
const STATUS: &str = "status";
/// What stands in that column of who is on the list no more.
const GONE: [&str; 6] = [
    "unsubscribed",
    "cleaned",
    "archived",
    "bounced",
    "removed",
    "deleted",
];

/// What some write where there is nothing.
const NOTHING: [&str; 6] = ["", "none", "null", "false", "no", "0"];

impl Columns {
    /// By the names in the first row; or by what stands there, if that is somebody, who is returned too.
    fn find(first: Cells) -> Option<(Self, Option<Cells>)> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        let is_email = |cell: &[u8]| Email::parse(&text(cell)).is_ok();
        let Some(email) = first.iter().position(is_email) else {
            let names: Vec<_> = first.iter().map(text).collect();
            return Some((Self::named(names.iter().map(String::as_str))?, None));
        };
        let is_time = |cell: &[u8]| time::parse(&text(cell)).is_ok();
        let columns = Self {
            email,
            joined_at: first.iter().position(is_time).into_iter().collect(),
            ..Self::default()
        };
        Some((columns, Some(first)))
    }

    fn named<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let bare = |name: &str| {
            if name.contains('@') {
                return String::new();
            }
            let letters = name.chars().filter(|c| c.is_alphanumeric());
            letters.collect::<String>().to_lowercase()
        };
        let names: Vec<_> = names.map(bare).collect();
        // In the order of what is wanted, not of the columns.
        let all = |wanted: &[&str]| {
            let at = |wanted: &&str| names.iter().position(|name| name == wanted);
            wanted.iter().filter_map(at).collect::<Vec<_>>()
        };
        let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let email = all(&EMAIL).first().copied();
        // "What is your e-mail?"
        let email = email.or_else(|| names.iter().position(|name| name.contains(EMAIL[0])))?;
        let with = |is_one: &dyn Fn(&str) -> bool| {
            let at = (0..names.len()).filter(|at| is_one(&names[*at]));
            at.collect::<Vec<_>>()
        };
        let mut joined_at = all(&JOINED_AT);
        joined_at.extend(with(&|name| {
            has(name, &JOINING) && has(name, &TIME) && !has(name, &LATER)
        }));
        Some(Self {
            email,
            is_ours: joined_at.iter().any(|at| names[*at] == JOINED_AT[0]),
            joined_at,
            left: with(&|name| has(name, &LEFT)),
            status: all(&[STATUS]).first().copied(),
        })
    }

    fn read<'a>(
        &self,
        cell: impl Fn(usize) -> Result<&'a str, Reason>,
        is_intact: bool,
        now: SystemTime,
    ) -> Result<Found, Reason> {
        let cell = |at: usize| Ok(cell(at)?.trim());
        let unless_empty = |at: usize| {
            let text: &str = cell(at)?;
            let is_nothing = NOTHING.iter().any(|it| text.eq_ignore_ascii_case(it));
            Ok((!is_nothing).then_some(text))
        };
        let status = self.status.map_or(Ok(""), cell)?.to_lowercase();
        let mut has_left = GONE.contains(&&*status);
        for at in &self.left {
            has_left |= unless_empty(*at)?.is_some();
        }
        if has_left {
            return Err(Reason::Left);
        }
        let mut joined_at = None;
        for at in &self.joined_at {
            if joined_at.is_none() {
                joined_at = unless_empty(*at)?;
            }
        }
        let email = cell(self.email)?;
        let email = if self.is_ours {
            as_it_was(email)
        } else {
            email
        };
        found(email, joined_at.unwrap_or_default(), is_intact, now)
    }
}

const NOT_UTF_8: Reason = Reason::Broken("it is not UTF-8");

fn found(email: &str, joined_at: &str, is_intact: bool, now: SystemTime) -> Result<Found, Reason> {
    let email = Email::parse(email).map_err(Reason::NoAddress)?;
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
        && !is_intact
    {
        return Err(Reason::Broken(why));
    }
    Ok(Found {
        entry: Entry { email, joined_at },
        has_time,
        is_plausible: implausible.is_none(),
    })
}
