//! What each column of a file is for. Exactly three things say it: the columns of our own export, a preset, and the
//! owner's options. Nothing is guessed: if none of them says it, it is a question.

use std::collections::HashMap;

use anyhow::{Context, anyhow, bail, ensure};
use clap::ValueEnum;

use super::{
    column::Column,
    options::PlanOptions,
    presets,
    table::Table,
    text::{fold, quoted},
    times::means_no_time,
};

/// What a column may hold. The names are those in an export and in `--map`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Field {
    Email,
    JoinedAt,
    Source,
    ConfirmedAt,
    /// When the site promised to ask for a confirmation.
    AskedAt,
}

impl Field {
    pub(super) fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |it| it.get_name().to_owned())
    }

    /// Returns the field with exactly this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::from_str(name, false).ok()
    }

    /// Returns whether the column has times.
    pub(super) fn is_time(self) -> bool {
        matches!(self, Self::JoinedAt | Self::ConfirmedAt | Self::AskedAt)
    }
}

/// Whether a person belongs on the list. If several columns or rows disagree, the greatest counts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Verdict {
    /// The person wants the messages, and is added.
    Stays,
    /// The owner must decide. Until then, the person is not added.
    Undecided,
    /// The person has left, and is suppressed.
    Left,
}

/// What a column is for.
#[derive(Clone)]
pub(super) enum Use {
    Map(Field),
    Status(StatusValues),
    /// Not read.
    Ignored,
    /// Not read either, but its words are looked at, because neither an option nor a preset says what it has.
    Unnamed,
}

/// What the values of a column say about a person. That of `*` is what every other value says that is not empty.
#[derive(Clone, Default)]
pub(super) struct StatusValues(HashMap<String, Verdict>);

/// What every column of a file is for.
#[derive(Default)]
pub(super) struct Plan {
    /// One for each column, or `None` if nobody has said what it is for.
    pub(super) uses: Vec<Option<Use>>,
    /// What all rows say, unless a column says more.
    pub(super) everybody: Option<Verdict>,
    pub(super) date_format: Option<String>,
    /// The name of the preset.
    pub(super) preset: Option<&'static str>,
    /// Whether the file is a list of addresses, or an export of this program.
    pub(super) is_own: bool,
    /// Whether people that the columns of the preset call active may have left.
    is_incomplete: bool,
}

impl StatusValues {
    /// Returns what `*` says.
    pub(super) fn others(&self) -> Option<Verdict> {
        self.0.get("*").copied()
    }

    /// Returns what a value says. A cell without a time where all others have a time of leaving (`--left left_at=*`) says that
    /// the person stays.
    pub(super) fn verdict(&self, value: &str) -> Option<Verdict> {
        let key = fold(value);
        let listed = self.0.get(&key).copied();
        let is_empty = key.is_empty() || self.0.len() == 1 && means_no_time(value);
        listed.or(match (is_empty, self.others()) {
            (true, Some(Verdict::Left | Verdict::Undecided)) if self.0.len() == 1 => {
                Some(Verdict::Stays)
            }
            (true, _) => None,
            (false, others) => others,
        })
    }
}

impl Plan {
    /// Makes the plan for a file.
    ///
    /// # Errors
    /// If an option is wrong.
    pub(super) fn new(table: &Table, options: &PlanOptions) -> anyhow::Result<Self> {
        let mut plan = Self::of_own_names(table);
        plan.apply_preset(table, options.preset.as_deref())?;
        let everybody_left = plan.everybody == Some(Verdict::Left);
        plan.apply(table, options, true)?;
        let ignores_all = options.ignore_rest || options.everybody_left || options.preset.is_some();
        for (column, used) in table.columns.iter().zip(&mut plan.uses) {
            // An empty column says nothing.
            if used.is_none() && (ignores_all || column.filled == 0) {
                *used = Some(Use::Unnamed);
            }
        }
        if options.nobody_left && (everybody_left || plan.says_who_has_left()) {
            bail!("a column or the preset says who has left, so leave out --nobody-left");
        }
        Ok(plan)
    }

    /// Maps the columns that have exactly the names that an export uses.
    fn of_own_names(table: &Table) -> Self {
        let names = table.columns.iter().map(|it| Field::from_name(&it.name));
        let mut fields: Vec<_> = names.collect();
        let is_list = table.columns.is_empty();
        if is_list {
            fields.push(Some(Field::Email));
        }
        let has = |field| fields.contains(&Some(field));
        // A file with a column "email" alone may be a list of people who have left.
        let is_export =
            fields.iter().all(Option::is_some) && has(Field::Email) && has(Field::JoinedAt);
        let is_own = is_list || is_export;
        Self {
            uses: fields.into_iter().map(|it| it.map(Use::Map)).collect(),
            everybody: is_own.then_some(Verdict::Stays),
            is_own,
            ..Self::default()
        }
    }

    /// Applies the preset whose columns the file has, or the one that the owner names.
    fn apply_preset(&mut self, table: &Table, name: Option<&str>) -> anyhow::Result<()> {
        if self.is_own && name.is_none() {
            return Ok(());
        }
        let Some((preset, file)) = presets::find(table, name) else {
            ensure!(
                name.is_none(),
                "the file does not have the columns of a preset {}; see `landing import --presets`",
                quoted(name.unwrap_or_default())
            );
            return Ok(());
        };
        let ignored = |it: &Column| {
            let is_always = file.always.contains(&it.name);
            is_always.then(|| unread(&it.name, false))
        };
        *self = Self {
            uses: table.columns.iter().map(ignored).collect(),
            preset: Some(preset.name.as_str()),
            is_incomplete: file.is_incomplete,
            ..Self::default()
        };
        self.apply(table, &file.options, false)
    }

    /// Applies options: those of the owner, which must name columns that the file has, or those of a preset.
    fn apply(
        &mut self,
        table: &Table,
        options: &PlanOptions,
        are_owners: bool,
    ) -> anyhow::Result<()> {
        let find = |column: &str| match table.find(column) {
            None if are_owners => Err(no_column(table, column)),
            found => Ok(found),
        };
        let mut given = HashMap::new();
        let mut give = |at: usize, option: &str| match given.insert(at, option.to_owned()) {
            Some(before) if before != option => Err(two_uses(table, at, &before, option)),
            _ => Ok(()),
        };
        for text in &options.map {
            let (field, column) = text.split_once('=').unwrap_or_default();
            let field = Field::from_name(field.trim()).context(
                "write --map FIELD=COLUMN; the fields are email, joined_at, source, confirmed_at and asked_at",
            )?;
            if let Some(at) = find(column)? {
                give(at, &format!("--map {}", field.name()))?;
                if let Some(before) = self.column(field) {
                    self.uses[before] = None;
                }
                self.uses[at] = Some(Use::Map(field));
            }
        }
        for (values, verdict) in [
            (&options.stay, Verdict::Stays),
            (&options.undecided, Verdict::Undecided),
            (&options.left, Verdict::Left),
        ] {
            for text in values {
                // The name of a column may have an `=` too.
                let mut splits = text.match_indices('=').map(|(at, _)| text.split_at(at));
                match splits.find_map(|(column, value)| Some((table.find(column)?, &value[1..]))) {
                    Some((at, value)) => {
                        give(at, "the options for who has left")?;
                        self.add_status(at, value, verdict);
                        self.is_incomplete &= !are_owners;
                    }
                    None if are_owners => return Err(no_column(table, text)),
                    None => {}
                }
            }
        }
        for column in &options.ignore {
            if let Some(at) = find(column)? {
                give(at, "--ignore")?;
                self.uses[at] = Some(unread(column, are_owners));
            }
        }
        if options.everybody_left || options.nobody_left {
            let (left, stays) = (Verdict::Left, Verdict::Stays);
            self.everybody = Some(if options.everybody_left { left } else { stays });
        }
        self.date_format = options.date_format.clone().or(self.date_format.take());
        Ok(())
    }

    /// Whether the columns say of everybody who has left.
    pub(super) fn says_who_has_left(&self) -> bool {
        self.has_status() && !self.is_incomplete
    }

    /// Whether a column says who has left.
    pub(super) fn has_status(&self) -> bool {
        let is_status = |it: &Use| matches!(it, Use::Status(_));
        self.uses.iter().flatten().any(is_status)
    }

    fn add_status(&mut self, at: usize, value: &str, verdict: Verdict) {
        let mut values = match self.uses[at].take() {
            Some(Use::Status(values)) => values,
            _ => StatusValues::default(),
        };
        values.0.insert(fold(value), verdict);
        self.uses[at] = Some(Use::Status(values));
    }

    /// Returns the column that has a field.
    pub(super) fn column(&self, field: Field) -> Option<usize> {
        let is_field = |it: &Option<Use>| matches!(it, Some(Use::Map(mapped)) if *mapped == field);
        self.uses.iter().position(is_field)
    }
}

/// A preset knows its program's columns, but not the tags that people have invented.
fn unread(column: &str, by_owner: bool) -> Use {
    let has_tags = ["tags", "labels", "groups"].contains(&fold(column).as_str());
    match has_tags && !by_owner {
        true => Use::Unnamed,
        false => Use::Ignored,
    }
}

/// A column has one use, whatever the order of the options.
fn two_uses(table: &Table, at: usize, before: &str, option: &str) -> anyhow::Error {
    let column = quoted(&table.columns[at].name);
    anyhow!("{before} and {option} name the same column, {column}; give each column one use")
}

fn no_column(table: &Table, text: &str) -> anyhow::Error {
    let names: Vec<_> = table.columns.iter().map(|it| quoted(&it.name)).collect();
    let columns = match &names[..] {
        [] => "the file has no columns".to_owned(),
        names => format!("its columns are {}", names.join(", ")),
    };
    anyhow!(
        "there is no column {}; check the spelling of the option, and write COLUMN=VALUE after --left, --stay and \
         --undecided; {columns}",
        quoted(text)
    )
}
