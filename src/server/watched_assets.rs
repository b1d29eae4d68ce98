//! The static files of a program that `cargo leptos watch` has compiled: built again after a change of a source, without
//! compiling the program. cargo-leptos reloads the open page after each change.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{assets::Assets, resource::EncodedBody};
use crate::page::Site;

/// The folders with the sources. cargo-leptos runs the server in the project's root, and watches the same folders
/// (`Cargo.toml`).
const SOURCES: [&str; 3] = ["islands", "style", "public"];
/// The folders whose changes build nothing here: a change of the host compiles this program.
const SKIPPED: [&str; 2] = ["node_modules", "host"];
/// Set by `build.rs` while cargo-leptos watches: the directory with the wasm host. All other programs serve what was
/// compiled into them, wherever they run.
const BUILD: Option<&str> = option_env!("LANDING_WATCHED_BUILD");

/// The latest build of the files.
pub(super) struct WatchedAssets {
    directory: &'static Path,
    latest: Mutex<Build>,
}

struct Build {
    assets: Arc<Assets>,
    /// `None` for the files that are compiled into this program: the sources may have changed since.
    sources: Option<Sources>,
}

/// The state of the sources: how many files there are, and when the newest one was changed.
type Sources = (usize, SystemTime);

impl WatchedAssets {
    /// Starts with the files that are compiled into this program. Returns `None` if it was not compiled to watch.
    pub(super) fn new(assets: &Arc<Assets>) -> Option<Self> {
        BUILD.map(|directory| Self {
            directory: Path::new(directory),
            latest: Mutex::new(Build {
                assets: Arc::clone(assets),
                sources: None,
            }),
        })
    }

    /// Returns the latest build. First builds again if a source has changed. If that fails, the build before stays.
    pub(super) fn current(&self, site: &Site) -> Arc<Assets> {
        let mut build = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = Some(current_sources());
        if sources != build.sources {
            build.sources = sources;
            match self.rebuild(site) {
                Ok(assets) => build.assets = Arc::new(assets),
                Err(error) => tracing::error!("the site's files were not built: {error}"),
            }
        }
        Arc::clone(&build.assets)
    }

    fn rebuild(&self, site: &Site) -> io::Result<Assets> {
        let out = self.directory.join("watched");
        let mut node = Command::new("node");
        node.args(["islands/build/build.mjs", "--dev"]);
        node.arg(self.directory.join("host")).arg(&out);
        if !node.status()?.success() {
            return Err(io::Error::other("see the messages of build.mjs"));
        }
        let root = out.join("files");
        let bodies = files(&root)?.into_iter().map(|file| {
            let path = file.strip_prefix(&root).unwrap_or(&file);
            let path = format!("/{}", path.display());
            Ok((path, EncodedBody::identity(fs::read(file)?.into())))
        });
        let bodies = bodies.collect::<io::Result<Vec<_>>>()?;
        let json = fs::read_to_string(out.join("site.json"))?;
        Ok(Assets::new(&json, bodies, site)?)
    }
}

fn current_sources() -> Sources {
    let files = SOURCES.iter().flat_map(|folder| files(Path::new(folder)));
    let times = files
        .flatten()
        .filter_map(|file| fs::metadata(file).ok()?.modified().ok());
    let times: Vec<_> = times.collect();
    let newest = times.iter().max().copied();
    (times.len(), newest.unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Returns the files below a directory.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if !path.is_dir() {
            found.push(path);
        } else if !SKIPPED.iter().any(|folder| path.ends_with(folder)) {
            found.extend(files(&path)?);
        }
    }
    Ok(found)
}
