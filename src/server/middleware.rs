//! The middleware around all routes: validates the request, catches panics, adds the security headers and
//! writes the access log.

use std::{panic::AssertUnwindSafe, sync::Arc, time::SystemTime};

use axum::{
    extract::{Request, State},
    http::{HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use jiff::{Timestamp, fmt::rfc2822::DateTimePrinter};

use super::{
    RequestError,
    access_log::AccessLogEntry,
    host,
    limits::{HEADER_FIELDS_MAX, HEADERS_MAX_BYTES, URL_MAX_BYTES},
    preconditions::Preconditions,
    security_headers::SecurityHeaders,
};

/// Handles a request. If the handler panics, responds with 500.
pub(super) async fn handle(
    State(security_headers): State<Arc<SecurityHeaders>>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::for_request(&request);
    let preconditions = Preconditions::of_safe(&request);
    let response = match validate(&request) {
        Err(error) => error.into_response(),
        Ok(()) => {
            let response = AssertUnwindSafe(next.run(request)).catch_unwind();
            response
                .await
                .unwrap_or_else(|_| RequestError::Panicked.into_response())
        }
    };
    let response = match preconditions {
        Some(preconditions) => preconditions.apply(response),
        None => response,
    };
    finalize(&security_headers, entry, response)
}

/// Returns the error response for a connection that never sent a complete request.
pub(super) fn error_response(security_headers: &SecurityHeaders, error: RequestError) -> Response {
    let entry = AccessLogEntry::without_request();
    finalize(security_headers, entry, error.into_response())
}

/// Checks the size of the URL and the headers, the host and the method.
///
/// # Errors
/// [`RequestError::HeadersTooLarge`], [`RequestError::UrlTooLong`], [`RequestError::InvalidHost`] and
/// [`RequestError::UnknownMethod`].
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
    host::check(request)?;
    match is_known(request.method()) {
        true => Ok(()),
        false => Err(RequestError::UnknownMethod),
    }
}

/// Returns whether RFC 9110 or RFC 5789 has a method. Routes respond to those that they do not have with 405.
fn is_known(method: &Method) -> bool {
    [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
        Method::TRACE,
        Method::CONNECT,
    ]
    .contains(method)
}

/// Adds the date and the security headers to a response, and its status and size to the log entry.
fn finalize(
    security_headers: &SecurityHeaders,
    mut entry: AccessLogEntry,
    mut response: Response,
) -> Response {
    let headers = response.headers_mut();
    // hyper keeps the date until the second is over by the clock, so for an hour if the clock was set back by an hour.
    if let Ok(now) = Timestamp::try_from(SystemTime::now())
        && let Ok(date) = DateTimePrinter::new().timestamp_to_rfc9110_string(&now)
        && let Ok(date) = HeaderValue::try_from(date)
    {
        headers.insert(header::DATE, date);
    }
    security_headers.add_to(headers);
    entry.record(&response);
    response
}
