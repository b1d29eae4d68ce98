//! Responses from memory: each body is kept in every encoding that clients may accept, with its headers. To
//! respond, the server chooses an encoding and copies references.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
};

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::Response,
};

use super::limits::{LIST_COMMAS_MAX, LIST_ITEMS_MAX};

/// The content type of every page.
pub(super) const HTML_CONTENT_TYPE: HeaderValue =
    HeaderValue::from_static("text/html; charset=utf-8");

/// `Cache-Control` of files whose name contains a hash of their content: cached for a year.
pub(super) const IMMUTABLE: &str = "max-age=31536000, immutable";
/// `Cache-Control` of everything else: cached, but revalidated for each use.
pub(super) const REVALIDATE: &str = "no-cache";
/// `Cache-Control` of the not-found page, because the path may exist a moment later, after a deployment; and of pages that
/// are a visitor's own.
pub(super) const NO_STORE: &str = "no-store";

/// A response from memory, in the encodings that a client may accept. zstd is not among them: clients that accept
/// it also accept brotli, which makes the page 12 % smaller than zstd at level 22.
#[derive(Clone, Debug)]
pub(super) struct Resource {
    identity: Representation,
    gzip: Option<Representation>,
    brotli: Option<Representation>,
}

#[derive(Clone, Debug)]
struct Representation {
    body: Bytes,
    headers: HeaderMap,
}

/// A body in each encoding. [`Resource`] drops those that are not smaller than `identity`.
#[derive(Clone, Debug)]
pub(super) struct EncodedBody {
    pub(super) identity: Bytes,
    pub(super) gzip: Option<Bytes>,
    pub(super) brotli: Option<Bytes>,
}

/// How well to compress a text. The sizes are those of the landing page, 59 KB.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Compression {
    /// For a single response, while the client waits: gzip only, 0.2 ms.
    Fast,
    /// For a page that is soon rebuilt: 14.0 KB of brotli, in a few milliseconds.
    Balanced,
    /// For content that stays: 12.8 KB of brotli, in some ten times as long.
    Best,
}

impl EncodedBody {
    /// Returns a body without compressed encodings.
    pub(super) fn identity(identity: Bytes) -> Self {
        Self {
            identity,
            gzip: None,
            brotli: None,
        }
    }

    /// Compresses a text.
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
    /// Computes the headers of each encoding.
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
        let is_smaller = |body: &Bytes| body.len() < identity.len();
        let gzip = gzip.filter(is_smaller);
        let brotli = brotli.filter(is_smaller);
        // Firefox accepts other encodings of a font when it preloads it. With `Vary` it would ask again for a cached one.
        let varies = gzip.is_some() || brotli.is_some();
        let representation = |body: Bytes, encoding: Option<&'static str>| {
            let mut headers = HeaderMap::from_iter([
                (
                    header::CACHE_CONTROL,
                    HeaderValue::from_static(cache_control),
                ),
                (header::CONTENT_TYPE, content_type.clone()),
                (header::CONTENT_LENGTH, body.len().into()),
            ]);
            // A strong validator: each encoding of the same text has another one. What nobody keeps needs none.
            if cache_control != NO_STORE
                && let Ok(etag) = HeaderValue::try_from(format!("\"{}\"", content_hash(&body)))
            {
                headers.insert(header::ETAG, etag);
            }
            if varies {
                let vary = HeaderValue::from_static("accept-encoding");
                headers.insert(header::VARY, vary);
            }
            if let Some(encoding) = encoding {
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
            }
            Representation { body, headers }
        };
        Self {
            gzip: gzip.map(|body| representation(body, Some("gzip"))),
            brotli: brotli.map(|body| representation(body, Some("br"))),
            identity: representation(identity, None),
        }
    }

    /// Responds with the smallest encoding that the client accepts.
    pub(super) fn respond(&self, status: StatusCode, request: &HeaderMap) -> Response {
        let representation = self.select(request);
        let mut response = Response::new(Body::from(representation.body.clone()));
        *response.status_mut() = status;
        *response.headers_mut() = representation.headers.clone();
        response
    }

    /// Returns the `ETag` of the encoding that [`respond`](Self::respond) chooses.
    pub(super) fn etag(&self, request: &HeaderMap) -> Option<&HeaderValue> {
        self.select(request).headers.get(header::ETAG)
    }

    fn select(&self, request: &HeaderMap) -> &Representation {
        let accepted = AcceptedEncodings::from_headers(request);
        match (&self.brotli, &self.gzip) {
            (Some(representation), _) if accepted.brotli => representation,
            (_, Some(representation)) if accepted.gzip => representation,
            _ => &self.identity,
        }
    }
}

/// Returns a hash of the content, as 16 hexadecimal digits.
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

/// The encodings that a client accepts (RFC 9110, 12.5.3). The server chooses among them by size, so a weight
/// matters only if it is 0.
#[derive(Clone, Copy, Debug, Default)]
struct AcceptedEncodings {
    gzip: bool,
    brotli: bool,
}

impl AcceptedEncodings {
    fn from_headers(request: &HeaderMap) -> Self {
        let (mut gzip, mut brotli, mut others) = (None, None, None);
        for item in list_items(request.get_all(header::ACCEPT_ENCODING)) {
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

/// Returns the items of a list header (RFC 9110, 5.6.1). Truncates long lists, because each item costs time.
pub(super) fn list_items<'a>(
    values: impl IntoIterator<Item = &'a HeaderValue>,
) -> impl Iterator<Item = &'a str> {
    values
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .take(LIST_COMMAS_MAX)
        .map(str::trim)
        .filter(|item| !item.is_empty())
        .take(LIST_ITEMS_MAX)
}
