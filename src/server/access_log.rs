//! The access log: one line for each response. It never holds a path, a query or an address.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
};

/// A request's line in the log, written when it is over, also when the client has gone meanwhile.
pub(super) struct AccessLogEntry {
    started_at: Instant,
    method: &'static str,
    /// As it is in the table of routes: a path or a query could hold an address.
    route: Option<MatchedPath>,
    pub(super) status: u16,
    /// Of the answer's body.
    pub(super) bytes: u64,
}

impl AccessLogEntry {
    pub(super) fn for_request(request: &Request) -> Self {
        Self {
            started_at: Instant::now(),
            method: method_name(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            status: CLIENT_CLOSED_REQUEST,
            bytes: 0,
        }
    }

    pub(super) fn without_request() -> Self {
        Self {
            started_at: Instant::now(),
            method: OTHER_METHOD,
            route: None,
            status: CLIENT_CLOSED_REQUEST,
            bytes: 0,
        }
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        tracing::info!(
            method = self.method,
            route = self
                .route
                .as_ref()
                .map_or(UNMATCHED_ROUTE, MatchedPath::as_str),
            status = self.status,
            us = self.started_at.elapsed().as_micros() as u64,
            bytes = self.bytes,
            "answered"
        );
    }
}

/// For a client that did not wait for the answer; nginx's number.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// The route of files, and of what is not found.
const UNMATCHED_ROUTE: &str = "/{file}";

/// A method as it is logged: one that nobody knows is what a client has made up.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => OTHER_METHOD,
    }
}

const OTHER_METHOD: &str = "other";
