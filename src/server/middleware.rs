//! What every request passes first and every response last: validation, security headers, the access log.

use std::panic::AssertUnwindSafe;

use axum::{
    extract::{Request, State},
    http::{Version, header},
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;
use hyper::body::Body;

use super::{
    AppState, RequestError,
    access_log::AccessLogEntry,
    limits::{HEADER_FIELDS_MAX, HEADERS_MAX_BYTES, URL_MAX_BYTES},
};

/// Handles a request, also if its handler panics.
pub(super) async fn handle(
    State(state): State<AppState>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::for_request(&request);
    let response = match validate(&request) {
        Err(error) => error.into_unlogged_response(),
        Ok(()) => {
            let response = AssertUnwindSafe(next.run(request)).catch_unwind();
            // The panic hook of the program has logged the panic.
            response
                .await
                .unwrap_or_else(|_| RequestError::Internal(String::new()).into_unlogged_response())
        }
    };
    finalize(&state, entry, response)
}

/// Returns the response to a connection that sent no complete request.
pub(super) fn error_response(state: &AppState, error: RequestError) -> Response {
    let entry = AccessLogEntry::without_request();
    finalize(state, entry, error.into_unlogged_response())
}

/// Checks what must hold for every request.
///
/// # Errors
/// [`RequestError::HeadersTooLarge`], [`RequestError::UrlTooLong`], and [`RequestError::MalformedRequest`] for a
/// request that does not have exactly one `Host` header.
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
    // RFC 9112, 3.2: with two hosts, a proxy could take the request for another site than this program does.
    let hosts = headers.get_all(header::HOST).iter().count();
    if request.version() == Version::HTTP_11 && hosts != 1 {
        return Err(RequestError::MalformedRequest);
    }
    Ok(())
}

/// Adds the security headers to a response, and its status and size to the log entry.
fn finalize(state: &AppState, mut entry: AccessLogEntry, mut response: Response) -> Response {
    response
        .headers_mut()
        .extend(state.security_headers.clone());
    entry.status = response.status().as_u16();
    entry.bytes = response.body().size_hint().exact().unwrap_or_default();
    response
}
