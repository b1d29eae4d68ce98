//! Everything that is sent as it is: the site's files and the islands' scripts, read and
//! compressed before the first request, and answered from memory.

use std::{
    collections::HashMap,
    fmt, fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::page::Files;

// `ISLANDS`, the files that `islands/build.mjs` has made: name, bytes, gzip, brotli.
include!(concat!(env!("OUT_DIR"), "/islands.rs"));

/// The files of the site by URL path.
#[derive(Debug)]
pub struct Assets {
    by_path: HashMap<String, Resource>,
    files: Files,
}

impl Assets {
    /// Reads the site's directory. `any_build` skips the check that it was built with this
    /// program, for `cargo leptos watch`, which builds the two at different times.
    ///
    /// # Errors
    /// [`AssetsError`] when it is missing, can't be read, or belongs to another build.
    pub fn load(site_root: &Path, any_build: bool) -> Result<Self, AssetsError> {
        let root = site_root.to_owned();
        let mut by_path = HashMap::new();
        for (name, identity, gzip, brotli) in ISLANDS {
            let path = format!("/islands/{name}");
            let resource = Resource::new(
                content_type(&path),
                IMMUTABLE,
                Bytes::from_static(identity),
                Some(Bytes::from_static(gzip)),
                Some(Bytes::from_static(brotli)),
            );
            by_path.insert(path, resource);
        }
        if !site_root.is_dir() {
            return Err(AssetsError::Missing(root));
        }
        read_directory(site_root, "", &mut by_path)
            .map_err(|error| AssetsError::Unreadable(root.clone(), error))?;

        let only = |extension: &str| {
            let mut found = by_path
                .keys()
                .filter(|path| path.starts_with("/pkg/landing") && path.ends_with(extension));
            match (found.next(), found.next()) {
                (Some(path), None) => Ok(path.clone()),
                (None, _) => Err(AssetsError::Missing(root.clone())),
                (Some(_), Some(_)) => Err(AssetsError::OtherBuild(root.clone())),
            }
        };
        let mut fonts: Vec<_> = by_path
            .keys()
            .filter(|path| path.ends_with(".woff2"))
            .cloned()
            .collect();
        fonts.sort();
        let files = Files {
            fonts,
            css: only(".css")?,
            boot: format!("/islands/{BOOT}"),
            host_js: only(".js")?,
            host_wasm: only(".wasm")?,
        };
        // host.rs carries the same mark.
        let mark = crate::wire::BUILD.as_bytes();
        let host = by_path.get(&files.host_wasm);
        if !any_build && !host.is_some_and(|host| contains(&host.identity.body, mark)) {
            return Err(AssetsError::OtherBuild(root));
        }
        Ok(Self { by_path, files })
    }

    /// The file at a URL path.
    pub fn get(&self, path: &str) -> Option<&Resource> {
        self.by_path.get(path)
    }

    /// What the page asks for.
    pub fn files(&self) -> &Files {
        &self.files
    }
}

/// A body in the encodings that a client may accept.
#[derive(Debug)]
pub struct Resource {
    content_type: HeaderValue,
    cache: &'static str,
    identity: Variant,
    gzip: Option<Variant>,
    brotli: Option<Variant>,
}

#[derive(Debug)]
struct Variant {
    body: Bytes,
    etag: HeaderValue,
}

/// For files whose name changes with their content: a year, and never asked for again.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// For everything else: kept, and asked about each time.
const REVALIDATE: &str = "no-cache";

impl Resource {
    fn new(
        content_type: HeaderValue,
        cache: &'static str,
        identity: Bytes,
        gzip: Option<Bytes>,
        brotli: Option<Bytes>,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        identity.hash(&mut hasher);
        let hash = hasher.finish();
        let variant = |body: Bytes, encoding: &str| Variant {
            body,
            etag: HeaderValue::try_from(format!("\"{hash:016x}{encoding}\""))
                .unwrap_or(HeaderValue::from_static("\"\"")),
        };
        let smaller = |body: &Bytes| body.len() < identity.len();
        Self {
            content_type,
            cache,
            gzip: gzip.filter(smaller).map(|body| variant(body, "-gzip")),
            brotli: brotli.filter(smaller).map(|body| variant(body, "-br")),
            identity: variant(identity, ""),
        }
    }

    /// A text that was just made; compressed here, so not for the request path.
    pub fn made(content_type: HeaderValue, text: String) -> Self {
        let identity = Bytes::from(text);
        let gzip = gzip(&identity).ok();
        let brotli = brotli(&identity).ok();
        Self::new(content_type, REVALIDATE, identity, gzip, brotli)
    }

    /// Answers with the encoding that the request prefers, or 304.
    pub fn respond(&self, status: StatusCode, request: &HeaderMap) -> Response {
        let accepts = |encoding: &str| accepts(request, encoding);
        let (variant, encoding) = match (&self.brotli, &self.gzip) {
            (Some(variant), _) if accepts("br") => (variant, Some("br")),
            (_, Some(variant)) if accepts("gzip") => (variant, Some("gzip")),
            _ => (&self.identity, None),
        };
        let fixed: [(HeaderName, HeaderValue); 3] = [
            (header::CACHE_CONTROL, HeaderValue::from_static(self.cache)),
            (header::VARY, HeaderValue::from_static("accept-encoding")),
            (header::ETAG, variant.etag.clone()),
        ];
        if status == StatusCode::OK && has_it(request, &variant.etag) {
            return (StatusCode::NOT_MODIFIED, fixed).into_response();
        }
        let content_type = [(header::CONTENT_TYPE, self.content_type.clone())];
        let mut response = (status, fixed, content_type, variant.body.clone()).into_response();
        if let Some(encoding) = encoding {
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
        }
        response
    }
}

/// The content type of every page.
pub(super) const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");

/// Whether a request takes an encoding (RFC 9110, 12.5.3). Of several we choose by size, not by
/// weight: a weight matters only where it is 0.
fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    let quality = |wanted: &str| {
        request
            .get_all(header::ACCEPT_ENCODING)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .find_map(|item| {
                let (name, weight) = item.split_once(';').unwrap_or((item, "q=1"));
                let weight = weight.trim().strip_prefix("q=")?.parse::<f32>().ok()?;
                name.trim().eq_ignore_ascii_case(wanted).then_some(weight)
            })
    };
    quality(encoding)
        .or_else(|| quality("*"))
        .is_some_and(|weight| weight > 0.0)
}

/// Whether the client holds this variant already (RFC 9110, 13.1.2).
fn has_it(request: &HeaderMap, etag: &HeaderValue) -> bool {
    request
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|tag| tag.trim().trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}

fn read_directory(
    directory: &Path,
    prefix: &str,
    by_path: &mut HashMap<String, Resource>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_directory(&entry.path(), &path, by_path)?;
        } else if !path.ends_with(".br") && !path.ends_with(".gz") {
            // cargo-leptos puts the compressed files beside the plain ones.
            let beside = |extension| fs::read(format!("{}{extension}", entry.path().display()));
            let resource = Resource::new(
                content_type(&path),
                if is_hashed(&path) {
                    IMMUTABLE
                } else {
                    REVALIDATE
                },
                fs::read(entry.path())?.into(),
                beside(".gz").ok().map(Bytes::from),
                beside(".br").ok().map(Bytes::from),
            );
            by_path.insert(path, resource);
        }
    }
    Ok(())
}

/// cargo-leptos names hashed files `landing.HASH.css`, and islands/fonts.mjs likewise.
fn is_hashed(path: &str) -> bool {
    ["/pkg/", "/fonts/"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder))
        .is_some_and(|name| name.split('.').count() == 3)
}

fn content_type(path: &str) -> HeaderValue {
    let guess = mime_guess::from_path(path).first_or_octet_stream();
    let text = match guess.type_() {
        mime_guess::mime::TEXT => format!("{guess}; charset=utf-8"),
        _ => guess.to_string(),
    };
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

fn gzip(body: &[u8]) -> io::Result<Bytes> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(body)?;
    encoder.finish().map(Bytes::from)
}

fn brotli(body: &[u8]) -> io::Result<Bytes> {
    let mut compressed = Vec::new();
    // Its default is the best quality, 11.
    let params = brotli::enc::BrotliEncoderParams::default();
    brotli::BrotliCompress(&mut &*body, &mut compressed, &params)?;
    Ok(compressed.into())
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
