//! The preconditions of a request, `If-Match` and `If-None-Match` (RFC 9110, 13). Nothing on this site has a modification
//! date, so the others are ignored.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;

use super::{RequestError, resource::list_items};

/// The preconditions of a request. They matter only if the response is a success without them (RFC 9110, 13.2.1).
#[derive(Default)]
pub(super) struct Preconditions {
    if_match: Vec<HeaderValue>,
    if_none_match: Vec<HeaderValue>,
}

impl Preconditions {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = |name| headers.get_all(name).iter().cloned().collect();
        Self {
            if_match: values(header::IF_MATCH),
            if_none_match: values(header::IF_NONE_MATCH),
        }
    }

    /// Checks the preconditions of a POST before it changes anything. `etag` is that of the response to a GET.
    ///
    /// # Errors
    /// [`RequestError::PreconditionFailed`].
    pub(super) fn check(&self, etag: Option<&HeaderValue>) -> Result<(), RequestError> {
        match self.fails_if_match(etag) || self.fails_if_none_match(etag) {
            true => Err(RequestError::PreconditionFailed),
            false => Ok(()),
        }
    }

    /// Turns the response to a GET or a HEAD into a 304 or a 412, if that is what the preconditions ask for.
    pub(super) fn apply(&self, response: Response) -> Response {
        let etag = response.headers().get(header::ETAG);
        if response.status() != StatusCode::OK {
            response
        } else if self.fails_if_match(etag) {
            RequestError::PreconditionFailed.into_response()
        } else if self.fails_if_none_match(etag) {
            not_modified(response)
        } else {
            response
        }
    }

    /// Returns whether `If-Match` does not name the current representation.
    fn fails_if_match(&self, etag: Option<&HeaderValue>) -> bool {
        let mut tags = list_items(&self.if_match);
        let is_named = is_any(&self.if_match) || tags.any(|tag| is_tag(tag, etag));
        !self.if_match.is_empty() && !is_named
    }

    /// Returns whether `If-None-Match` names the current representation: the client has it.
    fn fails_if_none_match(&self, etag: Option<&HeaderValue>) -> bool {
        // A weak comparison, because a cache may have changed the encoding.
        let mut tags = list_items(&self.if_none_match);
        is_any(&self.if_none_match)
            || tags.any(|tag| is_tag(tag.strip_prefix("W/").unwrap_or(tag), etag))
    }
}

/// Returns whether a header names every representation. A `*` in a list may be a part of a quoted tag.
fn is_any(values: &[HeaderValue]) -> bool {
    matches!(values, [value] if value == "*")
}

fn is_tag(tag: &str, etag: Option<&HeaderValue>) -> bool {
    etag.is_some_and(|etag| etag == tag)
}

/// Returns a 304 with the headers of this response, except those that describe its body.
fn not_modified(response: Response) -> Response {
    let (mut parts, _) = response.into_parts();
    parts.status = StatusCode::NOT_MODIFIED;
    for name in [
        header::CONTENT_ENCODING,
        header::CONTENT_LENGTH,
        header::CONTENT_TYPE,
    ] {
        parts.headers.remove(name);
    }
    // No length is known of this body. axum would count an empty one, and `Content-Length: 0` is wrong here (RFC 9110, 8.6).
    let body = Body::from_stream(stream::empty::<Result<Bytes, axum::Error>>());
    Response::from_parts(parts, body)
}
