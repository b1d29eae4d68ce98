//! The access log: one line per response. It never contains a path, a query or an address. Successful health checks
//! are only logged at the level debug: behind HAProxy they were half of the log.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    response::Response,
};
use hyper::body::Body;

use super::health::{HEALTHZ_PATH, READYZ_PATH};

/// A line of the log. It is written on drop, so also for a request that the client aborts.
pub(super) struct AccessLogEntry {
    started_at: Instant,
    method: &'static str,
    /// The pattern in the router, not the path: a path or a query could contain an address.
    route: Option<MatchedPath>,
    status: u16,
    /// Size of the response body.
    bytes: u64,
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

    /// Notes the response.
    pub(super) fn record(&mut self, response: &Response) {
        self.status = response.status().as_u16();
        // axum drops the body of a response to a HEAD afterwards.
        let size = response.body().size_hint().exact();
        let size = size.filter(|_| self.method != method_name(&Method::HEAD));
        self.bytes = size.unwrap_or_default();
    }

    fn route(&self) -> &str {
        self.route
            .as_ref()
            .map_or(UNMATCHED_ROUTE, MatchedPath::as_str)
    }

    fn is_successful_health_check(&self) -> bool {
        [HEALTHZ_PATH, READYZ_PATH].contains(&self.route()) && (200..300).contains(&self.status)
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        // A macro, because the level of a line must be a constant.
        macro_rules! log_at {
            ($level:ident) => {
                tracing::$level!(
                    method = self.method,
                    route = self.route(),
                    status = self.status,
                    us = self.started_at.elapsed().as_micros() as u64,
                    bytes = self.bytes,
                    "answered"
                )
            };
        }
        if self.is_successful_health_check() {
            log_at!(debug);
        } else {
            log_at!(info);
        }
    }
}

/// Logged if the client closes the connection before the response is ready, or is too slow while places are scarce. nginx uses
/// the same status.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Logged for files and for unknown paths.
const UNMATCHED_ROUTE: &str = "/{file}";

/// Returns the name to log for a method. A client can invent methods, so unknown ones are not logged verbatim.
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
