//! The islands while `make watch` runs: rebuilt after each change, without rebuilding this program.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
};

use axum::body::Bytes;
use serde::Deserialize;

use crate::page::IslandBuild;

/// The environment variable with the directory into which `islands/build/watch.mjs` writes. `make watch` sets it.
const ISLANDS_DIR: &str = "LANDING_ISLANDS_DIR";

/// The latest build of the islands.
#[derive(Deserialize)]
pub(super) struct WatchedIslands {
    /// File name of the boot script.
    pub(super) boot: String,
    /// Each island by its name.
    pub(super) islands: HashMap<String, IslandBuild>,
    /// Each script by its file name, including those of the previous build, which an open page may still load.
    #[serde(skip)]
    pub(super) scripts: HashMap<String, Bytes>,
}

impl WatchedIslands {
    /// Reads the latest build. Returns `None` until there is one, and always in a release build of this program.
    pub(super) fn read() -> Option<Self> {
        if !cfg!(debug_assertions) {
            return None;
        }
        let directory = PathBuf::from(std::env::var_os(ISLANDS_DIR)?);
        // `islands.json` first: its scripts were written before it.
        let manifest = fs::read(directory.join("islands.json")).ok()?;
        let mut build: Self = serde_json::from_slice(&manifest).ok()?;
        build.scripts = read_scripts(&directory.join("assets"));
        Some(build)
    }
}

/// Reads the scripts. Skips those that disappear in between, because they belong to older builds.
fn read_scripts(directory: &Path) -> HashMap<String, Bytes> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let code = name
                .ends_with(".js")
                .then(|| fs::read(entry.path()).ok())??;
            Some((name, code.into()))
        })
        .collect()
}
