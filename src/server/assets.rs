//! Everything that is sent as it is: the site's files and the islands' scripts, read before the
//! first request, and answered from memory.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{body::Bytes, http::HeaderValue};

use super::resource::{Effort, Encodings, IMMUTABLE, REVALIDATE, Resource, hash};
use crate::page::{Files, Site, metadata};

// `ISLANDS`, the files that `islands/build.mjs` has made: name, bytes, gzip, brotli.
include!(concat!(env!("OUT_DIR"), "/islands.rs"));

/// The files of the site by URL path.
#[derive(Debug)]
pub struct Assets {
    by_path: HashMap<String, Resource>,
    files: Arc<Files>,
}

impl Assets {
    /// Reads the site's directory. `any_build` skips the check that it was built with this
    /// program, for `cargo leptos watch`, which builds the two at different times.
    ///
    /// # Errors
    /// [`AssetsError`] when it is missing, can't be read, or belongs to another build.
    pub fn load(site_root: &Path, site: &Site, any_build: bool) -> Result<Self, AssetsError> {
        let root = site_root.to_owned();
        if !site_root.is_dir() {
            return Err(AssetsError::Missing(root));
        }
        let mut found = HashMap::new();
        read_directory(site_root, "", &mut found)
            .map_err(|error| AssetsError::Unreadable(root.clone(), error))?;
        for (name, identity, gzip, brotli) in ISLANDS {
            let body = Encodings {
                identity: Bytes::from_static(identity),
                gzip: Some(Bytes::from_static(gzip)),
                brotli: Some(Bytes::from_static(brotli)),
            };
            found.insert(format!("/islands/{name}"), body);
        }

        let only = |extension: &str| {
            let mut paths = found
                .keys()
                .filter(|path| path.starts_with("/pkg/landing") && path.ends_with(extension));
            match (paths.next(), paths.next()) {
                (Some(path), None) => Ok(path.clone()),
                (None, _) => Err(AssetsError::Missing(root.clone())),
                (Some(_), Some(_)) => Err(AssetsError::OtherBuild(root.clone())),
            }
        };
        let css = only(".css")?;
        let mut files = Files {
            style: String::from_utf8_lossy(&found[&css].identity).into_owned(),
            css,
            fonts: found
                .keys()
                .filter(|path| path.ends_with(".woff2"))
                .cloned()
                .collect(),
            boot: format!("/islands/{BOOT}"),
            host_js: only(".js")?,
            host_wasm: only(".wasm")?,
            hashed: HashMap::new(),
        };
        files.fonts.sort();
        // host.rs carries the same mark.
        let mark = crate::wire::BUILD.as_bytes();
        if !any_build && !contains(&found[&files.host_wasm].identity, mark) {
            return Err(AssetsError::OtherBuild(root));
        }

        let mut by_path = HashMap::new();
        for (path, body) in found {
            publish(path, body, &mut by_path, &mut files);
        }
        let manifest = Encodings::of(metadata::manifest(site, &files), Effort::Kept);
        publish(
            metadata::MANIFEST.into(),
            manifest,
            &mut by_path,
            &mut files,
        );
        Ok(Self {
            by_path,
            files: Arc::new(files),
        })
    }

    /// The file at a URL path.
    pub(super) fn get(&self, path: &str) -> Option<&Resource> {
        self.by_path.get(path)
    }

    /// What the pages are made of or ask for.
    pub(super) fn files(&self) -> &Arc<Files> {
        &self.files
    }
}

/// Puts a body where it is found: for good, where the name changes with the content; else to be
/// asked about each time, and beside that for good under a name that does change.
fn publish(
    path: String,
    body: Encodings,
    by_path: &mut HashMap<String, Resource>,
    files: &mut Files,
) {
    let content_type = content_type(&path);
    if is_hashed(&path) {
        by_path.insert(path, Resource::new(&content_type, IMMUTABLE, body));
        return;
    }
    let hashed = with_hash(&path, &body.identity);
    let for_good = Resource::new(&content_type, IMMUTABLE, body.clone());
    by_path.insert(hashed.clone(), for_good);
    by_path.insert(path.clone(), Resource::new(&content_type, REVALIDATE, body));
    files.hashed.insert(path, hashed);
}

fn read_directory(
    directory: &Path,
    prefix: &str,
    found: &mut HashMap<String, Encodings>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        // cargo-leptos puts the compressed files, and types for TypeScript, beside the plain ones.
        let beside = [".br", ".gz", ".d.ts"]
            .iter()
            .any(|end| path.ends_with(end));
        if entry.file_type()?.is_dir() {
            read_directory(&entry.path(), &path, found)?;
        } else if !beside {
            let beside = |extension| fs::read(format!("{}{extension}", entry.path().display()));
            let body = Encodings {
                identity: fs::read(entry.path())?.into(),
                gzip: beside(".gz").ok().map(Bytes::from),
                brotli: beside(".br").ok().map(Bytes::from),
            };
            found.insert(path, body);
        }
    }
    Ok(())
}

/// cargo-leptos names hashed files `landing.HASH.css`, islands/fonts.mjs likewise, and esbuild
/// `boot-HASH.js`.
fn is_hashed(path: &str) -> bool {
    let in_folder = |folder| path.strip_prefix(folder);
    let dotted = in_folder("/pkg/").or_else(|| in_folder("/fonts/"));
    dotted.is_some_and(|name| name.split('.').count() == 3) || in_folder("/islands/").is_some()
}

/// `/favicon.svg` → `/favicon.1a2b3c4d.svg`
fn with_hash(path: &str, content: &[u8]) -> String {
    let (name, extension) = path.rsplit_once('.').unwrap_or((path, ""));
    let hash = hash(content);
    format!("{name}.{}.{extension}", &hash[..8])
}

fn content_type(path: &str) -> HeaderValue {
    if path == metadata::MANIFEST {
        return HeaderValue::from_static("application/manifest+json");
    }
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    let is_text =
        guess.type_() == mime_guess::mime::TEXT || guess.suffix() == Some(mime_guess::mime::XML);
    let charset = if is_text { "; charset=utf-8" } else { "" };
    let text = format!("{guess}{charset}");
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

/// Why the site's files can't be served.
#[derive(Debug)]
pub enum AssetsError {
    /// The directory, or the built files in it, are not there.
    Missing(PathBuf),
    /// It can't be read.
    Unreadable(PathBuf, io::Error),
    /// It was built with another program than this one.
    OtherBuild(PathBuf),
}

impl fmt::Display for AssetsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(root) => write!(
                f,
                "the site's files are missing in {}; copy the folder `site` that was built with \
                 this program there, or name its place with --site-root",
                root.display()
            ),
            Self::Unreadable(root, error) => write!(
                f,
                "the site's files in {} can't be read: {error}; see to their owner and rights",
                root.display()
            ),
            Self::OtherBuild(root) => write!(
                f,
                "the site's files in {} belong to another build; copy the folder `site` that was \
                 built with this program there, or name its place with --site-root",
                root.display()
            ),
        }
    }
}

impl std::error::Error for AssetsError {}
