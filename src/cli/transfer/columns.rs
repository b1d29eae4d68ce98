//! Finds the columns of a file that hold addresses, sign-up times and statuses.

use std::borrow::Cow;

use super::{
    address_cell::{is_address, without_bullet},
    column_kind::{ColumnGuess, ColumnKind, StatusColumn, guess_column},
    column_names::{
        DATE_NAMES, EMAIL_NAMES, EXPORT_COLUMNS, FactColumn, JOINED_AT_NAMES, JOINING_PARTS,
        LATER_PARTS, OTHER_TIME_PARTS, SOURCE_NAMES, TIME_PARTS,
    },
    csv_reader::CsvRow,
    export_format::unescape_formula,
    sign_up_time::is_date,
    text::{comparison_key, normalize},
};
use crate::cli::address::without_name;

/// The positions of the columns that are used.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// The names in the header row, or `None` without one.
    names: Option<Vec<String>>,
    /// The number of columns.
    width: usize,
    /// The number of columns that are not inside a JSON object.
    outer_width: usize,
    pub(crate) email: usize,
    /// The first of these that is not empty is used.
    joined_at: Vec<usize>,
    pub(crate) source: Option<usize>,
    /// The columns of [`FactColumn::ALL`].
    facts: [Option<usize>; FactColumn::ALL.len()],
    status_columns: Vec<StatusColumn>,
    /// The file was written by `export`, which puts a `'` before cells that look like formulas.
    has_escaped_formulas: bool,
}

/// The names of columns. A CSV file has no inner columns and no containers.
#[derive(Default)]
pub(crate) struct ColumnNames<'a> {
    pub(crate) names: Vec<String>,
    /// The first column of inner JSON objects. From here on, no column holds the address or the time.
    pub(crate) inner_from: usize,
    /// The columns that hold the text of a whole inner object.
    pub(crate) containers: &'a [usize],
}

impl Columns {
    /// Finds the columns by the names in the first row. If that row contains an address, it is not a header
    /// row: the columns are found by its values, and the row is returned too.
    pub(crate) fn from_first_row(
        first: CsvRow,
        ignored: &[String],
    ) -> Option<(Self, Option<CsvRow>)> {
        let text = |cell: &[u8]| String::from_utf8_lossy(cell).into_owned();
        if !first.iter().any(is_address) {
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
        let is_time = |cell: &[u8]| is_date(text(cell).trim());
        let email = *read.iter().find(|at| is_address(cells[**at]))?;
        let joined_at = read.iter().copied().find(|at| is_time(cells[*at]));
        let is_other = |at: &usize| *at != email && Some(*at) != joined_at;
        let others = read.into_iter().filter(is_other);
        let columns = Self {
            width: cells.len(),
            outer_width: cells.len(),
            email,
            joined_at: joined_at.into_iter().collect(),
            status_columns: others
                .map(|at| StatusColumn::new(at, ColumnKind::Other))
                .collect(),
            ..Self::default()
        };
        Some((columns, Some(first)))
    }

    /// Finds the columns by their names, except ignored ones.
    pub(crate) fn from_names(names: ColumnNames, ignored: &[String]) -> Option<Self> {
        let ColumnNames {
            names,
            inner_from,
            containers,
        } = names;
        let is_ignored = |(at, name): (usize, &String)| {
            let shown = display_name(name, at);
            // If an object is ignored, so is everything inside it.
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
        // In the order of `wanted`, which is by preference.
        let find_all = |wanted: &[&str]| {
            let at = |wanted: &&str| bare_names.iter().position(|name| name == wanted);
            wanted.iter().filter_map(at).collect::<Vec<_>>()
        };
        let has = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
        let status_columns =
            (0..names.len()).filter(|at| !is_ignored[*at] && !containers.contains(at));
        let status_columns = status_columns.filter_map(|at| {
            let ColumnGuess { kind, is_certain } = guess_column(&names[at])?;
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
        // Accept "What is your e-mail?", but neither "Ann <ann@email.com>" nor "Email consent". Accept "E-mail for
        // our newsletter" if there is no better column.
        let is_email =
            |at: &usize| bare_names[*at].contains(EMAIL_NAMES[0]) && !names[*at].contains('@');
        let find_email = |accepts: fn(ColumnKind) -> bool| {
            let mut emails = (0..bare_names.len()).filter(is_email);
            emails.find(|at| accepts(kind_of(*at)))
        };
        let email = find_all(&EMAIL_NAMES).first().copied();
        let email = email.or_else(|| find_email(|kind| kind == ColumnKind::Other));
        let email = email.or_else(|| find_email(|kind| !kind.is_decisive()))?;
        let mut joined_at = find_all(&JOINED_AT_NAMES);
        for (at, name) in bare_names.iter().enumerate() {
            let is_sign_up_time =
                has(name, &JOINING_PARTS) && has(name, &TIME_PARTS) && !has(name, &LATER_PARTS);
            let is_joined_at = is_sign_up_time
                && matches!(kind_of(at), ColumnKind::Other | ColumnKind::MaybeSubscribed);
            if is_joined_at && !joined_at.contains(&at) {
                joined_at.push(at);
            }
        }
        if joined_at.is_empty() {
            let date = find_all(&DATE_NAMES).into_iter();
            let mut date = date.filter(|at| kind_of(*at) == ColumnKind::Other);
            joined_at.extend(date.next());
        }
        let find_other = |wanted: &[&str]| {
            let mut found = find_all(wanted).into_iter();
            found.find(|at| !joined_at.contains(at) && kind_of(*at) == ColumnKind::Other)
        };
        let source = find_other(&SOURCE_NAMES);
        let facts = FactColumn::ALL.map(|it| find_other(&[&normalize(it.export_name())]));
        // Anybody can sign up with a source such as "unsubscribed", so it means nothing in an export.
        let is_export = bare_names == EXPORT_COLUMNS.map(normalize);
        status_columns.retain(|it| {
            let used = [Some(email), source.filter(|_| is_export)];
            let mut used = used.iter().chain(&facts);
            let is_used = used.any(|at| *at == Some(it.at)) || joined_at.contains(&it.at);
            it.kind.is_decisive() || !is_used
        });
        Some(Self {
            width: names.len(),
            outer_width: inner_from,
            email,
            has_escaped_formulas: joined_at
                .iter()
                .any(|at| bare_names[*at] == JOINED_AT_NAMES[0]),
            joined_at,
            source,
            facts,
            status_columns,
            names: Some(names),
        })
    }

    /// Returns the address in a cell, without the `'` that `export` puts before formulas, and without a bullet or a
    /// name before it.
    pub(crate) fn address<'a>(&self, cell: &'a str) -> &'a str {
        let cell = if self.has_escaped_formulas {
            unescape_formula(cell)
        } else {
            cell
        };
        let cell = if self.are_of_a_list() {
            without_bullet(cell)
        } else {
            cell
        };
        without_name(cell)
    }

    /// Whether the file may be a list that a person wrote: it has no header row, or only one column.
    pub(crate) fn are_of_a_list(&self) -> bool {
        !self.has_names() || self.width == 1
    }

    /// Whether a text is the name of the column of addresses.
    pub(crate) fn is_email_header(&self, email: &str) -> bool {
        self.has_names() && normalize(email) == normalize(&self.email_name())
    }

    /// Whether the column of addresses has one of the usual names, and not one that only contains it.
    pub(crate) fn has_plain_email_name(&self) -> bool {
        EMAIL_NAMES.contains(&&*normalize(&self.email_name()))
    }

    pub(crate) fn has_names(&self) -> bool {
        self.names.is_some()
    }

    /// Whether a column may say who has unsubscribed.
    pub(crate) fn has_status_columns(&self) -> bool {
        !self.status_columns.is_empty()
    }

    /// Whether a column has this name, or this number if it has no name.
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
        let names: Vec<_> = names.iter().map(|name| normalize(name)).collect();
        let exported = EXPORT_COLUMNS.map(normalize);
        names == exported || names == exported[..2]
    }

    /// The names of all columns that are not inside a JSON object. A column without a name is left out if others have
    /// names.
    pub(crate) fn outer_names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let names = self.names.as_deref().unwrap_or_default();
        let is_named = |at: &usize| names.get(*at).is_none_or(|name| !name.trim().is_empty());
        (0..self.outer_width)
            .filter(is_named)
            .map(|at| self.name(at))
    }

    /// Returns the name of the column of addresses.
    pub(crate) fn email_name(&self) -> Cow<'_, str> {
        self.name(self.email)
    }

    /// The columns of sign-up times, by preference: their names and positions.
    pub(crate) fn joined_at(&self) -> impl Iterator<Item = (Cow<'_, str>, usize)> {
        self.joined_at.iter().map(|at| (self.name(*at), *at))
    }

    /// Returns the name of the column of sources, if there is one.
    pub(crate) fn source_name(&self) -> Option<Cow<'_, str>> {
        self.source.map(|at| self.name(at))
    }

    /// Returns the columns of times at which something became known, their names, and their positions.
    pub(crate) fn facts(&self) -> impl Iterator<Item = (FactColumn, Cow<'_, str>, usize)> {
        let columns = FactColumn::ALL.into_iter().zip(self.facts);
        columns.filter_map(|(column, at)| Some((column, self.name(at?), at?)))
    }

    /// Whether a column holds sign-up times.
    pub(crate) fn has_joined_at(&self) -> bool {
        !self.joined_at.is_empty()
    }

    /// The columns that may say who has unsubscribed, with their names.
    pub(crate) fn status_columns(&self) -> impl Iterator<Item = (Cow<'_, str>, &StatusColumn)> {
        self.status_columns.iter().map(|it| (self.name(it.at), it))
    }

    /// Returns the name of a column, or its number from 1 if it has none.
    fn name(&self, at: usize) -> Cow<'_, str> {
        let name = self.names.as_ref().and_then(|names| names.get(at));
        display_name(name.map_or("", String::as_str), at)
    }

    /// Turns these into the columns of a JSON object, in which `export` escapes no formulas.
    pub(crate) fn for_json(mut self) -> Self {
        self.has_escaped_formulas = false;
        self
    }
}

/// Whether a column may hold sign-up times, although nothing in its name says so.
pub(crate) fn may_hold_sign_up_times(name: &str, column: &StatusColumn) -> bool {
    let name = normalize(name);
    let is_other = matches!(column.kind, ColumnKind::Other | ColumnKind::MaybeSubscribed);
    let mut parts = LATER_PARTS.iter().chain(&OTHER_TIME_PARTS);
    is_other && !column.is_nested && !parts.any(|part| name.contains(part))
}

/// Returns the name of a column, or its number from 1 if it has none.
fn display_name(name: &str, at: usize) -> Cow<'_, str> {
    match name.trim() {
        "" => (at + 1).to_string().into(),
        name => name.into(),
    }
}
