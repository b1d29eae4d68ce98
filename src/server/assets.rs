//! Everything that is sent as it is: the site's files and the islands' scripts, read before the
//! first request, and answered from memory.

use std::{
    collections::HashMap,
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use axum::{body::Bytes, http::HeaderValue};

use super::resource::{Compression, EncodedBody, IMMUTABLE, REVALIDATE, Resource, content_hash};
use crate::page::{Files, Site, metadata};

// `ISLAND_FILES`, the files that `islands/build.mjs` has made: name, bytes, gzip, brotli.
include!(concat!(env!("OUT_DIR"), "/islands.rs"));

/// The files of the site by URL path.
#[derive(Debug)]
pub struct Assets {
    by_path: HashMap<String, Resource>,
    files: Arc<Files>,
}

impl Assets {
    /// Reads the site's directory. `skip_build_check` skips the check that it was built with this
    /// program, for `cargo leptos watch`, which builds the two at different times.
    ///
    /// # Errors
    /// [`AssetsError`] when it is missing, can't be read, or belongs to another build.
    pub fn load(
        site_root: &Path,
        site: &Site,
        skip_build_check: bool,
    ) -> Result<Self, AssetsError> {
        let root = site_root.to_owned();
        if !site_root.is_dir() {
            return Err(AssetsError::Missing(root));
        }
        let mut bodies = HashMap::new();
        read_directory(site_root, "", &mut bodies)
            .map_err(|error| AssetsError::Unreadable(root.clone(), error))?;
        for (name, identity, gzip, brotli) in ISLAND_FILES {
            let body = EncodedBody {
                identity: Bytes::from_static(identity),
                gzip: Some(Bytes::from_static(gzip)),
                brotli: Some(Bytes::from_static(brotli)),
            };
            bodies.insert(format!("/islands/{name}"), body);
        }

        let find_unique = |extension: &str| {
            let mut paths = bodies
                .keys()
                .filter(|path| path.starts_with("/pkg/landing") && path.ends_with(extension));
            match (paths.next(), paths.next()) {
                (Some(path), None) => Ok(path.clone()),
                (None, _) => Err(AssetsError::Missing(root.clone())),
                (Some(_), Some(_)) => Err(AssetsError::OtherBuild(root.clone())),
            }
        };
        let css_path = find_unique(".css")?;
        let mut files = Files {
            inline_css: String::from_utf8_lossy(&bodies[&css_path].identity).into_owned(),
            css_path,
            font_paths: bodies
                .keys()
                .filter(|path| path.ends_with(".woff2"))
                .cloned()
                .collect(),
            boot_path: format!("/islands/{BOOT_SCRIPT}"),
            host_js_path: find_unique(".js")?,
            host_wasm_path: find_unique(".wasm")?,
            hashed_paths: HashMap::new(),
        };
        files.font_paths.sort();
        // host.rs carries the same mark.
        let build_id = crate::wire::BUILD_ID.as_bytes();
        if !skip_build_check && !contains_bytes(&bodies[&files.host_wasm_path].identity, build_id) {
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
        // cargo-leptos puts the compressed files, and types for TypeScript, beside the plain ones.
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

/// cargo-leptos names hashed files `landing.HASH.css`, islands/fonts.mjs likewise, and esbuild
/// `boot-HASH.js`.
fn is_hashed(path: &str) -> bool {
    let in_folder = |folder| path.strip_prefix(folder);
    let dotted = in_folder("/pkg/").or_else(|| in_folder("/fonts/"));
    dotted.is_some_and(|name| name.split('.').count() == 3) || in_folder("/islands/").is_some()
}

/// `/favicon.svg` → `/favicon.1a2b3c4d.svg`
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
