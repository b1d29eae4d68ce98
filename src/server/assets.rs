//! The static files: the site's directory and the scripts of the islands. They are read at start and served from
//! memory.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{body::Bytes, http::HeaderValue};

use super::{
    resource::{Compression, EncodedBody, IMMUTABLE, REVALIDATE, Resource, content_hash},
    watched_islands::WatchedIslands,
};
use crate::page::{Files, IslandBuild, Site, metadata};

// Written by `build.rs`: `BOOT_SCRIPT`, a file name; `HEAD_SCRIPT`, the script in the head of each page; `ISLAND_FILES`,
// each other script's name, content, gzip and brotli.
include!(concat!(env!("OUT_DIR"), "/islands.rs"));

/// The static files by URL path.
#[derive(Debug)]
pub struct Assets {
    by_path: HashMap<String, Resource>,
    files: Arc<Files>,
}

impl Assets {
    /// Reads the site's directory.
    ///
    /// With `is_watching`, takes the islands from `make watch`, and does not check that the directory and this
    /// program come from one build: `cargo leptos watch` builds the two at different times.
    ///
    /// # Errors
    /// [`AssetsError`] if the directory is missing, unreadable or from another build.
    pub fn load(site_root: &Path, site: &Site, is_watching: bool) -> Result<Self, AssetsError> {
        let root = site_root.to_owned();
        if !site_root.is_dir() {
            return Err(AssetsError::Missing(root));
        }
        // Another directory may be very large.
        if !site_root.join(BUILD_DIR).is_dir() {
            return Err(AssetsError::NotTheSite(root));
        }
        let mut bodies = HashMap::new();
        read_directory(site_root, "", &mut bodies)
            .map_err(|error| AssetsError::Unreadable(root.clone(), error))?;
        let (boot_script, island_builds) = insert_islands(&mut bodies, is_watching);

        let find_unique = |extension: &'static str| {
            let mut paths = bodies
                .keys()
                .filter(|path| path.starts_with("/pkg/landing") && path.ends_with(extension));
            match (paths.next(), paths.next()) {
                (Some(path), None) => Ok(path.clone()),
                (None, _) => Err(AssetsError::MissingFile(root.clone(), extension)),
                (Some(_), Some(_)) => Err(AssetsError::OtherBuild(root.clone())),
            }
        };
        let css_path = find_unique(".css")?;
        let mut files = Files {
            inline_css: String::from_utf8_lossy(&bodies[&css_path].identity).into_owned(),
            head_script: HEAD_SCRIPT,
            css_path,
            font_paths: bodies
                .keys()
                .filter(|path| path.ends_with(".woff2"))
                .cloned()
                .collect(),
            boot_path: format!("/islands/{boot_script}"),
            host_js_path: find_unique(".js")?,
            host_wasm_path: find_unique(".wasm")?,
            hashed_paths: HashMap::new(),
            island_builds,
        };
        files.font_paths.sort();
        // The wasm host contains the same id (`island_host.rs`).
        let build_id = crate::wire::BUILD_ID.as_bytes();
        if !is_watching && !contains_bytes(&bodies[&files.host_wasm_path].identity, build_id) {
            return Err(AssetsError::OtherBuild(root));
        }

        let mut by_path = HashMap::new();
        for (path, body) in bodies {
            insert(path, body, &mut by_path, &mut files);
        }
        let manifest = EncodedBody::compress(metadata::manifest(site, &files), Compression::Best);
        insert(
            metadata::MANIFEST_PATH.into(),
            manifest,
            &mut by_path,
            &mut files,
        );
        Ok(Self {
            by_path,
            files: Arc::new(files),
        })
    }

    /// Returns the file at a URL path.
    pub(super) fn get(&self, path: &str) -> Option<&Resource> {
        self.by_path.get(path)
    }

    /// Returns the files that the pages refer to.
    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }
}

/// Adds the scripts of the islands: those of `make watch`, if it runs, or those that are compiled into this program.
/// Returns the name of the boot script, and [`Files::island_builds`].
fn insert_islands(
    bodies: &mut HashMap<String, EncodedBody>,
    is_watching: bool,
) -> (String, HashMap<String, IslandBuild>) {
    if is_watching && let Some(build) = WatchedIslands::read() {
        for (name, code) in build.scripts {
            bodies.insert(format!("/islands/{name}"), EncodedBody::identity(code));
        }
        return (build.boot, build.islands);
    }
    for (name, identity, gzip, brotli) in ISLAND_FILES {
        let body = EncodedBody {
            identity: Bytes::from_static(identity),
            gzip: Some(Bytes::from_static(gzip)),
            brotli: Some(Bytes::from_static(brotli)),
        };
        bodies.insert(format!("/islands/{name}"), body);
    }
    (BOOT_SCRIPT.to_owned(), HashMap::new())
}

/// Adds a file under its path.
///
/// If the name contains a hash of the content, clients may cache the file without revalidation. Otherwise the file
/// is also added under a second name that contains a hash.
fn insert(
    path: String,
    body: EncodedBody,
    by_path: &mut HashMap<String, Resource>,
    files: &mut Files,
) {
    let content_type = content_type(&path);
    if is_hashed(&path) {
        by_path.insert(path, Resource::new(&content_type, IMMUTABLE, body));
        return;
    }
    let hashed_path = with_content_hash(&path, &body.identity);
    let immutable = Resource::new(&content_type, IMMUTABLE, body.clone());
    by_path.insert(hashed_path.clone(), immutable);
    by_path.insert(path.clone(), Resource::new(&content_type, REVALIDATE, body));
    files.hashed_paths.insert(path, hashed_path);
}

fn read_directory(
    directory: &Path,
    prefix: &str,
    bodies: &mut HashMap<String, EncodedBody>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        // cargo-leptos writes compressed files, and types for TypeScript, next to the plain files.
        let is_companion = [".br", ".gz", ".d.ts"]
            .iter()
            .any(|end| path.ends_with(end));
        if entry.file_type()?.is_dir() {
            read_directory(&entry.path(), &path, bodies)?;
        } else if !is_companion {
            let read_companion =
                |extension| fs::read(format!("{}{extension}", entry.path().display()));
            let body = EncodedBody {
                identity: fs::read(entry.path())?.into(),
                gzip: read_companion(".gz").ok().map(Bytes::from),
                brotli: read_companion(".br").ok().map(Bytes::from),
            };
            bodies.insert(path, body);
        }
    }
    Ok(())
}

/// Returns whether a file name contains a hash of the content. cargo-leptos and `style/fonts.mjs` write
/// `NAME.HASH.EXTENSION`, and esbuild, for everything in `/islands/`, writes `NAME-HASH.js`.
fn is_hashed(path: &str) -> bool {
    let in_folder = |folder| path.strip_prefix(folder);
    let dotted = in_folder("/pkg/").or_else(|| in_folder("/fonts/"));
    dotted.is_some_and(|name| name.split('.').count() == 3) || in_folder("/islands/").is_some()
}

/// Returns the path with a hash of the content: `/favicon.svg` becomes `/favicon.1a2b3c4d.svg`.
fn with_content_hash(path: &str, content: &[u8]) -> String {
    let (name, extension) = path.rsplit_once('.').unwrap_or((path, ""));
    let hash = content_hash(content);
    format!("{name}.{}.{extension}", &hash[..8])
}

fn content_type(path: &str) -> HeaderValue {
    if path == metadata::MANIFEST_PATH {
        return HeaderValue::from_static("application/manifest+json");
    }
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    let is_text =
        guess.type_() == mime_guess::mime::TEXT || guess.suffix() == Some(mime_guess::mime::XML);
    let charset = if is_text { "; charset=utf-8" } else { "" };
    let text = format!("{guess}{charset}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn contains_bytes(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// The directory that every build of the site has.
const BUILD_DIR: &str = "pkg";

/// Why the site's files cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum AssetsError {
    /// The directory does not exist.
    #[error(
        "the site's files are missing in {}; put the directory `site` of this program's build in its place, or \
         name its location with --site-root",
        .0.display()
    )]
    Missing(PathBuf),
    /// The directory is not that of a build.
    #[error(
        "{} is not the directory of the site's files: it has no directory {BUILD_DIR}; name the directory `site` of \
         this program's build with --site-root",
        .0.display()
    )]
    NotTheSite(PathBuf),
    /// The directory contains no built file with this extension.
    #[error(
        "the site's files in {} are incomplete: there is no pkg/landing*{}; copy the directory `site` that was built \
         with this program there, or name its location with --site-root",
        .0.display(), .1
    )]
    MissingFile(PathBuf, &'static str),
    /// The directory is unreadable.
    #[error("cannot read the site's files in {}: {}; check their owner and permissions", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    /// The directory was not built together with this program.
    #[error(
        "the site's files in {} belong to another build, or to several; remove that directory, copy the directory \
         `site` that was built with this program in its place, or name its location with --site-root",
        .0.display()
    )]
    OtherBuild(PathBuf),
}
