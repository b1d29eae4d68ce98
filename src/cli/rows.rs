//! What `import` reads: the rows of a file, whatever program wrote it.

use std::{
    io::{self, BufRead, BufReader, Read},
    time::SystemTime,
};

use csv::ByteRecord;
use serde::Deserialize;

use super::{
    format::{BYTE_ORDER_MARK, HEADER, Seal, as_it_was},
    time::{self, implausible},
};
use crate::waitlist::{Email, Entry};

/// A line of a file, and who stands in it, or why nobody does.
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) entry: Result<Entry, String>,
}

pub(super) type Rows = Box<dyn Iterator<Item = io::Result<Row>> + Send>;

/// The rows of a file. Who has no time joined `now`.
///
/// # Errors
/// A sentence for the owner, when it is not seen where the addresses stand.
pub(super) fn read(file: impl Read + Send + 'static, now: SystemTime) -> io::Result<Rows> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let beginning = file.fill_buf()?;
    if beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff") {
        return Err(io::Error::other("it is in UTF-16: save it as CSV in UTF-8"));
    }
    if beginning.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    let first = file.fill_buf()?.trim_ascii_start().first();
    if first == Some(&b'{') {
        Ok(Box::new(objects(file, now)))
    } else {
        table(file, now)
    }
}

/// A row of our own, or of anybody who names the same.
#[derive(Deserialize)]
struct Line {
    email: String,
    #[serde(default)]
    joined_at: String,
}

/// An object of JSON a line.
fn objects(file: impl BufRead + Send, now: SystemTime) -> impl Iterator<Item = io::Result<Row>> {
    let parse = move |line: String| {
        if line.trim().is_empty() || Seal::parse(&line).is_some() {
            return None;
        }
        let found = serde_json::from_str(&line);
        Some(
            found
                .map_err(|_| r#"it is no JSON with an "email""#.to_owned())
                .and_then(|Line { email, joined_at }| entry(&email, &joined_at, now)),
        )
    };
    (1..).zip(file.lines()).filter_map(move |(line, text)| {
        let entry = match text {
            Ok(text) => parse(text)?,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err("it is not UTF-8".to_owned())
            }
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(Row { line, entry }))
    })
}

/// Where in a table what is wanted stands.
#[derive(Debug, Default)]
struct Columns {
    email: usize,
    /// The first that is not empty counts.
    joined_at: Vec<usize>,
    /// Whose row has something there has left the list that this one comes from.
    left: Vec<usize>,
    status: Option<usize>,
    /// It is a table of our own, in which some cells begin with a `'`.
    is_ours: bool,
}

/// What the columns of other programs are called, without what is no letter: Mailchimp's audience
/// export, getwaitlist's, Prefinery's, Google Forms', and what people write.
const EMAIL: [&str; 4] = ["email", "emailaddress", "emailadresse", "mail"];
const JOINED_AT: [&str; 12] = [
    "joinedat",
    "joined",
    "optintime",
    "confirmtime",
    "createdat",
    "created",
    "signedupat",
    "signedup",
    "signupdate",
    "appliedat",
    "subscribedat",
    "timestamp",
];
const LEFT: [&str; 4] = ["unsubtime", "cleantime", "removeddate", "unsubscribedat"];
/// What some write where there is nothing.
const NOTHING: [&str; 3] = ["", "none", "null"];
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

impl Columns {
    /// By the names in the first row, or by what stands there if it has none.
    fn find(first: &ByteRecord) -> Option<(Self, bool)> {
        let names: Vec<_> = first
            .iter()
            .map(|cell| {
                let name = String::from_utf8_lossy(cell);
                let letters = name.chars().filter(|c| c.is_alphanumeric());
                letters.collect::<String>().to_lowercase()
            })
            .collect();
        let all = |wanted: &[&str]| {
            // In the order of what is wanted, not of the columns.
            let places = wanted
                .iter()
                .filter_map(|name| names.iter().position(|it| it == name));
            places.collect::<Vec<_>>()
        };
        let email = all(&EMAIL).first().copied();
        // "What is your e-mail?"
        let email = email.or_else(|| names.iter().position(|name| name.contains(EMAIL[0])));
        if let Some(email) = email {
            let is_ours = first.iter().eq(HEADER.split(',').map(str::as_bytes));
            let columns = Self {
                email,
                joined_at: all(&JOINED_AT),
                left: all(&LEFT),
                status: all(&[STATUS]).first().copied(),
                is_ours,
            };
            return Some((columns, true));
        }
        let is_email = |cell: &[u8]| str::from_utf8(cell).is_ok_and(|it| Email::parse(it).is_ok());
        let is_time = |cell: &[u8]| str::from_utf8(cell).is_ok_and(|it| time::parse(it).is_some());
        let columns = Self {
            email: first.iter().position(is_email)?,
            joined_at: first.iter().position(is_time).into_iter().collect(),
            ..Self::default()
        };
        Some((columns, false))
    }

    fn entry(&self, row: &ByteRecord, now: SystemTime) -> Result<Entry, String> {
        let cell = |at: usize| {
            let cell = str::from_utf8(row.get(at).unwrap_or_default());
            cell.map(str::trim)
                .map_err(|_| "it is not UTF-8".to_owned())
        };
        let status = self.status.map_or(Ok(""), cell)?.to_lowercase();
        let mut has_left = GONE.contains(&&*status);
        for at in &self.left {
            has_left |= !NOTHING.contains(&&*cell(*at)?.to_lowercase());
        }
        if has_left {
            return Err("has left the list that it comes from".into());
        }
        let mut joined_at = "";
        for at in &self.joined_at {
            if joined_at.is_empty() {
                joined_at = cell(*at)?;
            }
        }
        let email = cell(self.email)?;
        let email = if self.is_ours {
            as_it_was(email)
        } else {
            email
        };
        entry(email, joined_at, now)
    }
}

/// The rows of a CSV, whether commas, semicolons or tabs stand between the cells.
fn table(file: impl BufRead + Send + 'static, now: SystemTime) -> io::Result<Rows> {
    let mut rows = cells(file)?;
    let Some((line, first)) = rows.next().transpose()? else {
        return Ok(Box::new(std::iter::empty()));
    };
    let (columns, has_names) = Columns::find(&first).ok_or_else(|| {
        io::Error::other(
            "it is not seen where its addresses stand: name their column \"email\" in the first line",
        )
    })?;
    let first = (!has_names).then_some(Ok((line, first)));
    let row = move |(line, cells): (u64, ByteRecord)| {
        let entry = columns.entry(&cells, now);
        (!is_seal(&cells)).then_some(Row { line, entry })
    };
    let rows = first.into_iter().chain(rows);
    Ok(Box::new(
        rows.filter_map(move |it| it.map(&row).transpose()),
    ))
}

fn is_seal(cells: &ByteRecord) -> bool {
    let cells: Vec<_> = cells.iter().map(String::from_utf8_lossy).collect();
    cells[0].starts_with("# ") && Seal::parse(&cells.join(",")).is_some()
}

/// The rows with the numbers of their lines. The reader itself counts a row's line where the row before
/// ended: before blank lines, and before the second half of a line's end that has two.
fn cells(
    mut file: impl BufRead + Send + 'static,
) -> io::Result<impl Iterator<Item = io::Result<(u64, ByteRecord)>> + Send> {
    let beginning = file.fill_buf()?;
    let first = beginning.split(|byte| *byte == b'\n').next();
    let first = first.unwrap_or_default();
    let often = |separator: &u8| first.iter().filter(|byte| *byte == separator).count();
    let separator = [b'\t', b';', b','].into_iter().max_by_key(often);
    let (end, counted) = if first.ends_with(b"\r") {
        ("", 0)
    } else {
        ("\n", 1)
    };
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).flexible(true);
    let reader = reader.delimiter(separator.unwrap_or(b','));
    let mut reader = reader.from_reader(file.chain(end.as_bytes()));
    Ok(std::iter::from_fn(move || {
        let mut row = ByteRecord::new();
        match reader.read_byte_record(&mut row) {
            Ok(true) => {
                let within = row.as_slice().iter().filter(|byte| **byte == b'\n');
                let line = reader.position().line() - counted - within.count() as u64;
                Some(Ok((line, row)))
            }
            Ok(false) => None,
            Err(error) => Some(Err(error.into())),
        }
    }))
}

fn entry(email: &str, joined_at: &str, now: SystemTime) -> Result<Entry, String> {
    let email = Email::parse(email).map_err(|why| why.to_string())?;
    let joined_at = if joined_at.is_empty() {
        now
    } else {
        time::parse(joined_at).ok_or(
            "its time can be read in several ways, or in none: write it as 2026-11-21T08:00:00Z, or leave \
             its column out",
        )?
    };
    match implausible(joined_at) {
        Some(why) => Err(why.into()),
        None => Ok(Entry { email, joined_at }),
    }
}
