//! The access log: one line per response. It never contains a path, a query or an address. Successful health checks
//! are only logged at the level debug: behind HAProxy they were half of the log.

use std::time::Instant;

use axum::{
    extract::{MatchedPath, Request},
    response::Response,
};
use hyper::body::Body;

use super::{
    health::{HEALTHZ_PATH, READYZ_PATH},
    request_checks::method_name,
};

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
    /// Begins the line of a request, or of a connection that never sent a complete one.
    pub(super) fn new(request: Option<&Request>) -> Self {
        // A client can invent methods, so unknown ones are not logged verbatim.
        let method = request.and_then(|it| method_name(it.method()));
        Self {
            started_at: Instant::now(),
            method: method.unwrap_or("other"),
            route: request.and_then(|it| it.extensions().get().cloned()),
            status: CLIENT_CLOSED_REQUEST,
            bytes: 0,
        }
    }

    /// Notes the response.
    pub(super) fn record(&mut self, response: &Response) {
        self.status = response.status().as_u16();
        // axum drops the body of a response to a HEAD afterwards.
        let size = response.body().size_hint().exact();
        let size = size.filter(|_| self.method != "HEAD");
        self.bytes = size.unwrap_or_default();
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        let route = self.route.as_ref();
        let route = route.map_or(UNMATCHED_ROUTE, MatchedPath::as_str);
        // A macro, because the level of a line must be a constant.
        macro_rules! log_at {
            ($level:ident) => {
                tracing::$level!(
                    method = self.method,
                    route,
                    status = self.status,
                    us = self.started_at.elapsed().as_micros() as u64,
                    bytes = self.bytes,
                    "answered"
                )
            };
        }
        let is_health_check = [HEALTHZ_PATH, READYZ_PATH].contains(&route);
        if is_health_check && (200..300).contains(&self.status) {
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
