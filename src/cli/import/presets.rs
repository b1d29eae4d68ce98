//! The files of other programs. They are data: `presets.json` says how a file is recognised, and has the options that
//! an owner would type for it.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{options::PlanOptions, table::Table};

/// A program that lists are moved from.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preset {
    /// The value of `--preset`.
    pub(super) name: String,
    pub(super) program: String,
    /// How to export there.
    pub(super) export: String,
    /// Where the columns and their values are described.
    facts: String,
    #[serde(skip_serializing)]
    files: Vec<PresetFile>,
}

/// A file that the program writes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PresetFile {
    /// The columns that such a file always has. No other preset has the same ones.
    pub(super) always: Vec<String>,
    /// Whether other files may have these columns too. Then the owner must name the preset.
    #[serde(default)]
    is_ambiguous: bool,
    /// Whether people that the columns call active may have left. Then the owner must say whether anybody has.
    #[serde(default)]
    pub(super) is_incomplete: bool,
    /// What the columns mean. Those that the file may lack are named here too.
    pub(super) options: PlanOptions,
}

/// All presets, in the order of the table.
pub(super) static PRESETS: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    // A test reads the file.
    serde_json::from_str(include_str!("presets.json")).unwrap_or_default()
});

/// Returns the preset file whose columns a file has, unless they are ambiguous. Of several, it is the one with the most. With a
/// name, it is one of this preset.
pub(super) fn find(
    table: &Table,
    name: Option<&str>,
) -> Option<(&'static Preset, &'static PresetFile)> {
    let has = |column: &String| table.columns.iter().any(|it| it.name == *column);
    let named = PRESETS
        .iter()
        .filter(|it| name.is_none_or(|name| it.name == name));
    let files = named.flat_map(|preset| preset.files.iter().map(move |file| (preset, file)));
    files
        .filter(|(_, file)| file.always.iter().all(has) && (name.is_some() || !file.is_ambiguous))
        .max_by_key(|(_, file)| file.always.len())
}
