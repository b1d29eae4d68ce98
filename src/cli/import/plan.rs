//! What each column of a file is for. Exactly three things say it: the columns of our own export, a preset, and the
//! owner's options. Nothing is guessed: if none of them says it, it is a question.

use std::collections::HashMap;

use super::{
    field::{Field, Mapping},
    options::PlanOptions,
    presets,
    question::Questions,
    survey::{Column, Survey},
    text::{fold, quoted},
    times::{self, DateFormat},
};

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
    Decides(Decisions),
    /// Not read. Unless an option or a preset names it, its words are still looked at.
    Ignored {
        is_named: bool,
    },
}

/// What the values of a column say about a person.
#[derive(Clone, Default)]
pub(super) struct Decisions {
    verdicts: HashMap<String, Verdict>,
    /// That of `*`: every other value that is not empty.
    others: Option<Verdict>,
}

/// What every column of a file is for, and the questions that are open.
#[derive(Default)]
pub(super) struct Plan {
    /// One for each column, or `None` if nobody has said what it is for.
    pub(super) uses: Vec<Option<Use>>,
    /// What all rows say, unless a column says more.
    pub(super) everybody: Option<Verdict>,
    pub(super) date_format: Option<DateFormat>,
    /// The name of the preset.
    pub(super) preset: Option<&'static str>,
    /// Whether the file is a list of addresses, or an export of this program.
    pub(super) is_own: bool,
    /// Whether a row has a cell for each column. An object of JSON lines lacks what is empty.
    pub(super) is_table: bool,
    /// Nobody is imported before these are answered.
    pub(super) questions: Questions,
}

impl Decisions {
    /// Returns what a value says. An empty cell where others have a time of leaving (`--left left_at=*`) says that the
    /// person stays.
    pub(super) fn decide(&self, value: &str) -> Option<Verdict> {
        let key = fold(value);
        let listed = self.verdicts.get(&key).copied();
        listed.or(match (key.is_empty(), self.others) {
            (true, Some(Verdict::Left | Verdict::Undecided)) => Some(Verdict::Stays),
            (true, Some(Verdict::Stays)) => None,
            (_, others) => others,
        })
    }

    fn insert(&mut self, value: &str, verdict: Verdict) {
        match value.trim() {
            "*" => self.others = Some(verdict),
            value => drop(self.verdicts.insert(fold(value), verdict)),
        }
    }
}

impl Plan {
    /// Makes the plan for a file.
    pub(super) fn new(survey: &Survey, options: &PlanOptions) -> Self {
        let mut plan = Self::of_own_names(survey);
        plan.apply_preset(survey, options.preset.as_deref());
        plan.is_table = survey.is_table;
        if options.nobody_left && plan.everybody == Some(Verdict::Left) {
            plan.add_mistake(
                "the preset says that everybody in the file has left, so leave out --nobody-left"
                    .into(),
            );
        }
        plan.apply(survey, options, true);
        let ignores_all = options.ignore_rest || options.everybody_left || options.preset.is_some();
        for (column, used) in survey.columns.iter().zip(&mut plan.uses) {
            // An empty column says nothing.
            if used.is_none() && (ignores_all || column.filled == 0) {
                *used = Some(Use::Ignored { is_named: false });
            }
        }
        if survey.rows > 0 {
            plan.ask(survey, options);
        }
        plan
    }

    /// Maps the columns that have exactly the names that an export uses.
    fn of_own_names(survey: &Survey) -> Self {
        let names = survey.columns.iter().map(|it| Field::from_name(&it.name));
        let mut fields: Vec<_> = names.collect();
        if survey.is_list {
            fields.push(Some(Field::Email));
        }
        let has = |field| fields.contains(&Some(field));
        // A file with a column "email" alone may be a list of people who have left.
        let is_export =
            fields.iter().all(Option::is_some) && has(Field::Email) && has(Field::JoinedAt);
        let is_own = survey.is_list || is_export;
        Self {
            uses: fields.into_iter().map(|it| it.map(Use::Map)).collect(),
            everybody: is_own.then_some(Verdict::Stays),
            is_own,
            ..Self::default()
        }
    }

    /// Applies the preset whose columns the file has, or the one that the owner names.
    fn apply_preset(&mut self, survey: &Survey, name: Option<&str>) {
        if self.is_own && name.is_none() {
            return;
        }
        match (presets::find(survey, name), name) {
            (Some((preset, file)), _) => {
                let ignored = |it: &Column| {
                    let is_always = file.always.contains(&it.name);
                    is_always.then_some(Use::Ignored { is_named: true })
                };
                *self = Self {
                    uses: survey.columns.iter().map(ignored).collect(),
                    preset: Some(preset.name.as_str()),
                    ..Self::default()
                };
                self.apply(survey, &file.options, false);
            }
            (None, None) => {}
            (None, Some(name)) => self.add_mistake(format!(
                "the file does not have the columns of a preset {}; see `landing import --presets`",
                quoted(name)
            )),
        }
    }

    /// Applies options: those of the owner, which must name columns that the file has, or those of a preset.
    fn apply(&mut self, survey: &Survey, options: &PlanOptions, are_owners: bool) {
        let find = |column: &str| survey.find(column);
        let mut missing = Vec::new();
        for Mapping { field, column } in &options.map {
            let Some(at) = find(column) else {
                missing.push(column.as_str());
                continue;
            };
            let is_same = |it: &Use| matches!(it, Use::Map(mapped) if mapped == field);
            for other in self
                .uses
                .iter_mut()
                .filter(|it| it.as_ref().is_some_and(is_same))
            {
                *other = None;
            }
            self.uses[at] = Some(Use::Map(*field));
        }
        for (values, verdict) in [
            (&options.stay, Verdict::Stays),
            (&options.undecided, Verdict::Undecided),
            (&options.left, Verdict::Left),
        ] {
            for text in values {
                // The name of a column may have an `=` too.
                let mut splits = text.match_indices('=').map(|(at, _)| text.split_at(at));
                match splits.find_map(|(column, value)| Some((find(column)?, &value[1..]))) {
                    Some((at, value)) => self.decide(at, value, verdict),
                    None => missing.push(text),
                }
            }
        }
        for column in &options.ignore {
            match find(column) {
                Some(at) => self.uses[at] = Some(Use::Ignored { is_named: true }),
                None => missing.push(column),
            }
        }
        if options.everybody_left || options.nobody_left {
            let (left, stays) = (Verdict::Left, Verdict::Stays);
            self.everybody = Some(if options.everybody_left { left } else { stays });
        }
        if options.date_format.is_some() {
            self.date_format.clone_from(&options.date_format);
        }
        for text in missing.into_iter().filter(|_| are_owners) {
            let text = quoted(text);
            self.add_mistake(format!(
                "there is no column {text}; check the spelling of the option, and write COLUMN=VALUE after --left, \
                 --stay and --undecided"
            ));
        }
    }

    /// Whether a column says who has left.
    pub(super) fn decides(&self) -> bool {
        let decides = |it: &Use| matches!(it, Use::Decides(_));
        self.uses.iter().flatten().any(decides)
    }

    fn decide(&mut self, at: usize, value: &str, verdict: Verdict) {
        if !matches!(self.uses[at], Some(Use::Decides(_))) {
            self.uses[at] = Some(Use::Decides(Decisions::default()));
        }
        if let Some(Use::Decides(decisions)) = &mut self.uses[at] {
            decisions.insert(value, verdict);
        }
    }

    fn add_mistake(&mut self, mistake: String) {
        self.questions.mistakes.push(mistake);
    }

    /// Adds the questions that nobody has answered.
    fn ask(&mut self, survey: &Survey, options: &PlanOptions) {
        let is_address = |it: &Use| matches!(it, Use::Map(Field::Email));
        let decides = self.decides();
        let questions = &mut self.questions;
        questions.lacks_addresses = !self.uses.iter().flatten().any(is_address);
        for (at, (column, used)) in survey.columns.iter().zip(&self.uses).enumerate() {
            match used {
                Some(Use::Decides(decisions)) => {
                    let values = unlisted_values(survey, column, decisions);
                    let values = Some(values).filter(|it| !it.is_empty());
                    questions.unlisted.extend(values.map(|values| (at, values)));
                }
                Some(Use::Map(field)) if field.is_time() => {
                    let example = unreadable_time(column, self.date_format.as_ref());
                    questions.times.extend(example.map(|example| (at, example)));
                }
                Some(_) => {}
                None => questions.unused.push(at),
            }
        }
        questions.who_has_left = self.everybody.is_none() && !decides;
        if decides && options.nobody_left {
            self.add_mistake("a column says who has left, so leave out --nobody-left".into());
        }
    }
}

/// Returns the values of a column that no option lists. `*` is the many others.
fn unlisted_values(survey: &Survey, column: &Column, decisions: &Decisions) -> Vec<String> {
    let empty = (survey.empty(column) > 0).then_some("");
    let values = column.values.iter().map(|it| it.text.as_str()).chain(empty);
    let mut values: Vec<_> = values
        .filter(|it| decisions.decide(it).is_none())
        .map(str::to_owned)
        .collect();
    if column.has_more && decisions.others.is_none() {
        values.push("*".into());
    }
    values
}

/// Returns an example of the times in a column, if none of those that were kept can be read. A single one that cannot is an
/// invalid row.
fn unreadable_time(column: &Column, format: Option<&DateFormat>) -> Option<String> {
    let mut times = column.times();
    let example = times.clone().next()?.to_owned();
    let are_unreadable = times.all(|it| times::parse(it, format).is_none());
    are_unreadable.then_some(example)
}
