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

use super::limits::LIST_ITEMS_MAX;

/// The content type of every page.
const HTML_CONTENT_TYPE: &str = "text/html; charset=utf-8";

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
    /// The smallest one is first.
    compressed: Vec<(&'static str, Representation)>,
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
    /// For content that stays: 12.9 KB of brotli, in some ten times as long.
    Best,
}

impl EncodedBody {
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
    pub(super) fn new(content_type: &str, cache_control: &'static str, body: EncodedBody) -> Self {
        let is_smaller = |it: &Bytes| it.len() < body.identity.len();
        let compressed = [("br", body.brotli), ("gzip", body.gzip)];
        let compressed = compressed.map(|(name, it)| Some((name, it.filter(is_smaller)?)));
        // Firefox accepts other encodings of a font when it preloads it. With `Vary` it would ask again for a cached one.
        let varies = compressed.iter().any(Option::is_some);
        let representation = |body: Bytes, encoding: Option<&'static str>| {
            // A strong validator: each encoding of the same text has another one. A page that nobody keeps needs none.
            let etag = || format!("\"{}\"", content_hash(&body));
            let etag = (cache_control != NO_STORE).then(etag);
            let fields = [
                (header::CACHE_CONTROL, Some(cache_control)),
                (header::CONTENT_TYPE, Some(content_type)),
                (header::CONTENT_ENCODING, encoding),
                (header::ETAG, etag.as_deref()),
                (header::VARY, Some("accept-encoding").filter(|_| varies)),
            ];
            let fields = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, HeaderValue::from_str(value?).ok()?)));
            let mut headers = HeaderMap::from_iter(fields);
            headers.insert(header::CONTENT_LENGTH, body.len().into());
            Representation { body, headers }
        };
        let compressed = compressed.into_iter().flatten();
        Self {
            compressed: compressed
                .map(|(name, body)| (name, representation(body, Some(name))))
                .collect(),
            identity: representation(body.identity, None),
        }
    }

    /// Compresses a page.
    pub(super) fn page(
        html: String,
        cache_control: &'static str,
        compression: Compression,
    ) -> Self {
        let body = EncodedBody::compress(html, compression);
        Self::new(HTML_CONTENT_TYPE, cache_control, body)
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
        let mut compressed = self.compressed.iter();
        let accepted = compressed.find(|(encoding, _)| accepts(request, encoding));
        accepted.map_or(&self.identity, |(_, representation)| representation)
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

/// Returns whether a client names an encoding (RFC 9110, 12.5.3). The server chooses by size, so a weight matters only if it
/// is 0. `*` names none: every client that may have one of these names it.
fn accepts(request: &HeaderMap, encoding: &str) -> bool {
    list_items(request.get_all(header::ACCEPT_ENCODING)).any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, "q=1"));
        let weight = weight.trim().strip_prefix("q=").map(str::parse::<f32>);
        name.trim().eq_ignore_ascii_case(encoding) && matches!(weight, Some(Ok(it)) if it > 0.0)
    })
}

/// Returns the items of a list header (RFC 9110, 5.6.1), of a long one only the first.
pub(super) fn list_items<'a>(
    values: impl IntoIterator<Item = &'a HeaderValue>,
) -> impl Iterator<Item = &'a str> {
    values
        .into_iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .take(LIST_ITEMS_MAX)
        .map(str::trim)
        .filter(|item| !item.is_empty())
}
