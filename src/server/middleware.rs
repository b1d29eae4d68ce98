//! The middleware around all routes: validates the request, catches panics, adds the security headers and
//! writes the access log.

use std::panic::AssertUnwindSafe;

use axum::{
    extract::{Request, State},
    http::{Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use hyper::body::Body;

use super::{
    AppState, RequestError,
    access_log::AccessLogEntry,
    limits::{HEADER_FIELDS_MAX, HEADERS_MAX_BYTES, URL_MAX_BYTES},
};

/// Handles a request. If the handler panics, responds with 500.
pub(super) async fn handle(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::for_request(&request);
    let response = match validate(&request) {
        Err(error) => error.into_response(),
        Ok(()) => {
            let response = AssertUnwindSafe(next.run(request)).catch_unwind();
            response
                .await
                .unwrap_or_else(|_| RequestError::Panicked.into_response())
        }
    };
    finalize(&state, entry, response)
}

/// Returns the error response for a connection that never sent a complete request.
pub(super) fn error_response(state: &AppState, error: RequestError) -> Response {
    let entry = AccessLogEntry::without_request();
    finalize(state, entry, error.into_response())
}

/// Checks the size of the URL and the headers, and the `Host` header.
///
/// # Errors
/// [`RequestError::HeadersTooLarge`], [`RequestError::UrlTooLong`], and [`RequestError::MalformedRequest`] if the
/// request does not have exactly one `Host` header.
fn validate(request: &Request) -> Result<(), RequestError> {
    let headers = request.headers();
    let url = request.uri().path_and_query();
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len())
        .sum();
    if bytes > HEADERS_MAX_BYTES || headers.len() > HEADER_FIELDS_MAX {
        return Err(RequestError::HeadersTooLarge);
    }
    if url.is_some_and(|url| url.as_str().len() > URL_MAX_BYTES) {
        return Err(RequestError::UrlTooLong);
    }
    // RFC 9112, 3.2: with two hosts, a proxy could route the request by one and this server by the other.
    let hosts = headers.get_all(header::HOST).iter().count();
    if request.version() == Version::HTTP_11 && hosts != 1 {
        return Err(RequestError::MalformedRequest);
    }
    Ok(())
}

/// Adds the security headers to a response, and its status and size to the log entry.
fn finalize(state: &AppState, mut entry: AccessLogEntry, mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in &state.security_headers {
        // A page may be stricter.
        if !headers.contains_key(name) {
            headers.insert(name, value.clone());
        }
    }
    entry.status = response.status().as_u16();
    entry.bytes = response.body().size_hint().exact().unwrap_or_default();
    response
}
