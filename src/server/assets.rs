//! The static files, served from memory: `build.rs` compiles most of them into the program, and the files for crawlers are
//! generated at start.

use std::{collections::HashMap, sync::Arc};

use axum::body::Bytes;

use super::resource::{Compression, EncodedBody, IMMUTABLE, REVALIDATE, Resource, content_hash};
use crate::page::{Files, Site, metadata};

// Written by `build.rs`: `SITE`, what a page contains of the files as JSON, and `FILES`, each file's URL path, content,
// gzip and brotli.
include!(concat!(env!("OUT_DIR"), "/site.rs"));

/// The static files by URL path.
#[derive(Debug)]
pub(super) struct Assets {
    by_path: HashMap<String, Resource>,
    files: Arc<Files>,
}

impl Assets {
    /// Returns the files that are compiled into this program.
    pub(super) fn compiled_in(site: &Site) -> Self {
        let bodies = FILES.iter().map(|(path, identity, gzip, brotli)| {
            let body = EncodedBody {
                identity: Bytes::from_static(identity),
                gzip: gzip.map(Bytes::from_static),
                brotli: brotli.map(Bytes::from_static),
            };
            ((*path).to_owned(), body)
        });
        Self::new(SITE, bodies, site).expect("build.rs has written the files")
    }

    /// Collects the files of a build. `json` is its `site.json`.
    ///
    /// # Errors
    /// If the JSON is not that of a build.
    pub(super) fn new(
        json: &str,
        bodies: impl IntoIterator<Item = (String, EncodedBody)>,
        site: &Site,
    ) -> serde_json::Result<Self> {
        let mut files: Files = serde_json::from_str(json)?;
        let mut by_path = HashMap::new();
        for (path, body) in bodies {
            if path.ends_with(".woff2") {
                files.font_paths.push(path.clone());
            }
            insert(path, body, &mut by_path, &mut files);
        }
        files.font_paths.sort();
        for (path, text) in [
            (metadata::MANIFEST_PATH, metadata::manifest(site, &files)),
            ("/robots.txt", metadata::robots(site)),
            ("/sitemap.xml", metadata::sitemap(site)),
            ("/llms.txt", metadata::llms(site)),
        ] {
            let body = EncodedBody::compress(text, Compression::Balanced);
            insert(path.into(), body, &mut by_path, &mut files);
        }
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

/// Returns whether a file name contains a hash of the content. `build.mjs` and `style/fonts.mjs` write
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

/// Returns the media type by the file name's extension. Every text is UTF-8.
fn content_type(path: &str) -> String {
    let media_type = mime_guess::from_path(path).first_or_octet_stream();
    let is_text = media_type.type_() == "text" || media_type.suffix().is_some_and(|it| it == "xml");
    let charset = if is_text { "; charset=utf-8" } else { "" };
    format!("{media_type}{charset}")
}
