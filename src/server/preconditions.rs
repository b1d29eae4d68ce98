//! The preconditions of a request, `If-Match` and `If-None-Match` (RFC 9110, 13). Nothing on this site has a modification
//! date, so the others are ignored.

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;

use super::{RequestError, resource::list_items};

/// The preconditions of a request.
pub(super) struct Preconditions {
    if_match: Vec<HeaderValue>,
    if_none_match: Vec<HeaderValue>,
}

/// How they turn out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Outcome {
    /// All of them hold, or there are none.
    Hold,
    /// `If-Match` does not name the current representation.
    Changed,
    /// `If-None-Match` names the current representation: the client has it.
    Known,
}

impl Preconditions {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let values = |name| headers.get_all(name).iter().cloned().collect();
        Self {
            if_match: values(header::IF_MATCH),
            if_none_match: values(header::IF_NONE_MATCH),
        }
    }

    /// Returns the preconditions of a GET or a HEAD, which are evaluated when its response is known.
    pub(super) fn of_safe(request: &Request) -> Option<Self> {
        let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
        let preconditions = Self::of(request.headers());
        (is_safe && !preconditions.is_empty()).then_some(preconditions)
    }

    fn is_empty(&self) -> bool {
        self.if_match.is_empty() && self.if_none_match.is_empty()
    }

    /// Checks the preconditions of a POST before it changes anything. Call it when everything else about its head is right:
    /// a request that fails anyway has no preconditions (RFC 9110, 13.2.1). `etag` is that of the response to a GET.
    ///
    /// # Errors
    /// [`RequestError::PreconditionFailed`].
    pub(super) fn check(&self, etag: Option<&HeaderValue>) -> Result<(), RequestError> {
        match self.evaluate(etag) {
            Outcome::Hold => Ok(()),
            Outcome::Changed | Outcome::Known => Err(RequestError::PreconditionFailed),
        }
    }

    /// Turns the response to a GET or a HEAD into a 304 or a 412, if that is what the preconditions ask for.
    pub(super) fn apply(&self, response: Response) -> Response {
        if response.status() != StatusCode::OK {
            return response;
        }
        match self.evaluate(response.headers().get(header::ETAG)) {
            Outcome::Hold => response,
            Outcome::Changed => RequestError::PreconditionFailed.into_response(),
            Outcome::Known => not_modified(response),
        }
    }

    /// Evaluates the preconditions of a resource that exists (RFC 9110, 13.2.2).
    fn evaluate(&self, etag: Option<&HeaderValue>) -> Outcome {
        let etag = etag.map(HeaderValue::as_bytes);
        let names = |tag: &str| tag == "*" || Some(tag.as_bytes()) == etag;
        let is_changed = !self.if_match.is_empty() && !list_items(&self.if_match).any(names);
        // A weak comparison, because a cache may have changed the encoding.
        let names = |tag: &str| names(tag.strip_prefix("W/").unwrap_or(tag));
        if is_changed {
            Outcome::Changed
        } else if list_items(&self.if_none_match).any(names) {
            Outcome::Known
        } else {
            Outcome::Hold
        }
    }
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
