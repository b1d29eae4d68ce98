//! A body that is kept in memory in the encodings that clients may ask for, each with the headers
//! of its answers: to answer is to choose one and to copy references.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};

use super::limits::{LIST_COMMAS_MAX, LIST_ITEMS_MAX};

/// The content type of every page.
pub(super) const HTML_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/html; charset=utf-8");

/// For files whose name changes with their content: a year, and never asked for again.
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// For everything else: kept, and asked about each time.
pub(super) const REVALIDATE: &str = "no-cache";
/// For what is not there: it may be there a moment later, as when a new build is copied in.
pub(super) const NO_STORE: &str = "no-store";

/// A body in the encodings that a client may accept. There is no zstd among them: who reads it also
/// reads brotli, which made the page 12 % smaller than zstd's level 22.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    identity: Representation,
    gzip: Option<Representation>,
    brotli: Option<Representation>,
}

#[derive(Clone, Debug)]
struct Representation {
    body: Bytes,
    /// Strong: the same text compressed in another way has another.
    etag: HeaderValue,
    /// Of an answer with the body.
    headers: HeaderMap,
    /// Of a 304.
    not_modified_headers: HeaderMap,
}

/// A body in each encoding. One that is not smaller than the plain one will not be sent.
#[derive(Clone, Debug)]
pub(super) struct EncodedBody {
    pub(super) identity: Bytes,
    pub(super) gzip: Option<Bytes>,
    pub(super) brotli: Option<Bytes>,
}

/// How long it may take to compress a text. The figures are the landing page's, 49 KB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Compression {
    /// For one answer, which somebody waits for: 0.2 ms.
    Fast,
    /// For what is soon made anew: 2 ms, for 11.6 KB of brotli.
    Balanced,
    /// For what stays: 50 ms, for 10.6 KB.
    Best,
}

impl EncodedBody {
    pub(super) fn compress(text: String, compression: Compression) -> Self {
        let identity = Bytes::from(text);
        let (gzip_level, brotli_quality) = match compression {
            Compression::Fast => (1, None),
            Compression::Balanced => (6, Some(6)),
            Compression::Best => (9, Some(11)),
        };
        Self {
            gzip: compress_gzip(&identity, gzip_level).ok(),
            brotli: brotli_quality.and_then(|quality| compress_brotli(&identity, quality).ok()),
            identity,
        }
    }
}

impl Resource {
    pub(super) fn new(
        content_type: &HeaderValue,
        cache_control: &'static str,
        body: EncodedBody,
    ) -> Self {
        let EncodedBody {
            identity,
            gzip,
            brotli,
        } = body;
        let representation = |body: Bytes, encoding: Option<&'static str>| {
            let etag = HeaderValue::try_from(format!("\"{}\"", content_hash(&body)))
                .unwrap_or(HeaderValue::from_static("\"\""));
            let not_modified_headers = HeaderMap::from_iter([
                (
                    header::CACHE_CONTROL,
                    HeaderValue::from_static(cache_control),
                ),
                (header::VARY, HeaderValue::from_static("accept-encoding")),
                (header::ETAG, etag.clone()),
            ]);
            let mut headers = not_modified_headers.clone();
            headers.insert(header::CONTENT_TYPE, content_type.clone());
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            if let Some(encoding) = encoding {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
            }
            Representation {
                body,
                etag,
                headers,
                not_modified_headers,
            }
        };
        let is_smaller = |body: &Bytes| body.len() < identity.len();
        Self {
            gzip: gzip
                .filter(is_smaller)
                .map(|body| representation(body, Some("gzip"))),
            brotli: brotli
                .filter(is_smaller)
                .map(|body| representation(body, Some("br"))),
            identity: representation(identity, None),
        }
    }

    /// Answers with the smallest encoding that the request takes, or 304.
    pub(super) fn respond(&self, status: StatusCode, request: &HeaderMap) -> Response {
        let accepted = AcceptedEncodings::from_headers(request);
        let representation = match (&self.brotli, &self.gzip) {
            (Some(representation), _) if accepted.brotli => representation,
            (_, Some(representation)) if accepted.gzip => representation,
            _ => &self.identity,
        };
        let mut response = Response::default();
        if status == StatusCode::OK && matches_etag(request, &representation.etag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.headers_mut() = representation.not_modified_headers.clone();
        } else {
            *response.status_mut() = status;
            *response.headers_mut() = representation.headers.clone();
            *response.body_mut() = Body::from(representation.body.clone());
        }
        response
    }
}

/// A number for a content, as text.
pub(super) fn content_hash(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn compress_gzip(body: &[u8], level: u32) -> io::Result<Bytes> {
    let level = flate2::Compression::new(level);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    encoder.write_all(body)?;
    encoder.finish().map(Bytes::from)
}

fn compress_brotli(body: &[u8], quality: i32) -> io::Result<Bytes> {
    let mut compressed = Vec::new();
    let params = brotli::enc::BrotliEncoderParams {
        quality,
        size_hint: body.len(),
        ..Default::default()
    };
    brotli::BrotliCompress(&mut &*body, &mut compressed, &params)?;
    Ok(compressed.into())
}

/// The encodings that a request takes (RFC 9110, 12.5.3). Of several we choose by size, not by
/// weight: a weight matters only where it is 0.
#[derive(Clone, Copy, Debug, Default)]
struct AcceptedEncodings {
    gzip: bool,
    brotli: bool,
}

impl AcceptedEncodings {
    fn from_headers(request: &HeaderMap) -> Self {
        let (mut gzip, mut brotli, mut others) = (None, None, None);
        for item in list_items(request, header::ACCEPT_ENCODING) {
            let (name, weight) = item.split_once(';').unwrap_or((item, "q=1"));
            let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
            let Some(Ok(weight)) = weight else { continue };
            let name = name.trim();
            let encoding = if name.eq_ignore_ascii_case("br") {
                &mut brotli
            } else if name.eq_ignore_ascii_case("gzip") {
                &mut gzip
            } else if name == "*" {
                &mut others
            } else {
                continue;
            };
            encoding.get_or_insert(weight > 0.0);
        }
        let others = others.unwrap_or(false);
        Self {
            gzip: gzip.unwrap_or(others),
            brotli: brotli.unwrap_or(others),
        }
    }
}

/// Whether the client holds this representation already (RFC 9110, 13.1.2).
fn matches_etag(request: &HeaderMap, etag: &HeaderValue) -> bool {
    list_items(request, header::IF_NONE_MATCH)
        .map(|tag| tag.trim_start_matches("W/"))
        .any(|tag| tag == "*" || tag.as_bytes() == etag.as_bytes())
}

/// The items of a list header (RFC 9110, 5.6.1). Long lists are cut off, because each item costs time.
fn list_items(request: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let values = request.get_all(name).into_iter();
    values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .take(LIST_COMMAS_MAX)
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .take(LIST_ITEMS_MAX)
}
