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
    request_checks,
};

/// Handles a request. If the handler panics, responds with 500.
pub(super) async fn handle(
    State(pages): State<Arc<Pages>>,
    request: Request,
    next: Next,
) -> Response {
    let entry = AccessLogEntry::new(Some(&request));
    let is_safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let preconditions = is_safe.then(|| Preconditions::of(request.headers()));
    let preconditions = preconditions.unwrap_or_default();
    let is_form = form::is_form(&request);
    let run = async {
        request_checks::check(&request)?;
        let response = AssertUnwindSafe(next.run(request)).catch_unwind();
        response.await.map_err(|_| RequestError::Panicked)
    };
    let response = run
        .await
        .unwrap_or_else(|error| form::respond_unhandled(&pages, is_form, error));
    finalize(&pages, entry, preconditions.apply(response))
}

/// Completes the error response to a connection that never sent a complete request.
pub(super) fn finalize_error(pages: &Pages, response: Response) -> Response {
    finalize(pages, AccessLogEntry::new(None), response)
}

/// Completes a response, and notes it in the log.
fn finalize(pages: &Pages, mut entry: AccessLogEntry, mut response: Response) -> Response {
    pages.response_headers.add_to(response.headers_mut());
    entry.record(&response);
    response
}
