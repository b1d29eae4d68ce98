//! The middleware around all routes: checks the request, catches panics, completes the response and writes the access log.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    extract::{Request, State},
    http::Method,
    middleware::Next,
    response::Response,
};
use futures_util::FutureExt;

use super::{
    RequestError, access_log::AccessLogEntry, form, pages::Pages, preconditions::Preconditions,
    request_checks, response_headers::ResponseHeaders,
};

/// Handles a request. If the handler panics, responds with 500.
pub(super) async fn handle(
    State((response_headers, pages)): State<(Arc<ResponseHeaders>, Arc<Pages>)>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::new(Some(&request));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let preconditions = is_safe.then(|| Preconditions::of(request.headers()));
    let preconditions = preconditions.unwrap_or_default();
    let is_form = form::is_form(request.headers());
    let run = async {
        request_checks::check(&request)?;
        let response = AssertUnwindSafe(next.run(request)).catch_unwind();
        response.await.map_err(|_| RequestError::Panicked)
    };
    let response = run
        .await
        .unwrap_or_else(|error| form::respond_to_lost_body(&pages, is_form, error));
    finalize(&response_headers, entry, preconditions.apply(response))
}

/// Completes the error response to a connection that never sent a complete request.
pub(super) fn finalize_error(response_headers: &ResponseHeaders, response: Response) -> Response {
    finalize(response_headers, AccessLogEntry::new(None), response)
}

/// Completes a response, and notes it in the log.
fn finalize(
    response_headers: &ResponseHeaders,
    mut entry: AccessLogEntry,
    mut response: Response,
) -> Response {
    response_headers.add_to(response.headers_mut());
    entry.record(&response);
    response
}
