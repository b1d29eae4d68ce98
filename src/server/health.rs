//! The endpoints for load balancers and service managers.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode, response::IntoResponse};
use tokio::{
    sync::Mutex,
    time::{Instant, timeout},
};

use super::limits::READINESS_TIMEOUT;
use crate::waitlist::Waitlist;

/// Path of [`healthz`].
pub(super) const HEALTHZ_PATH: &str = "/healthz";
/// Path of [`readyz`].
pub(super) const READYZ_PATH: &str = "/readyz";

/// `GET /healthz`: 200 while the process runs.
pub(super) async fn healthz() -> &'static str {
    "OK"
}

/// `GET /readyz`: 200 if the store works, otherwise 503.
pub(super) async fn readyz(State(readiness): State<Arc<ReadinessCheck>>) -> impl IntoResponse {
    // In a task, because a client that leaves must not end the check for the others.
    match tokio::spawn(readiness.check()).await.unwrap_or(false) {
        true => (StatusCode::OK, "OK"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "Service Unavailable"),
    }
}

/// Checks whether the store is ready. Each check occupies a place in the store's queue, so requests that arrive
/// during a check share its result. Otherwise anyone could delay the checks of a load balancer.
pub(super) struct ReadinessCheck {
    list: Arc<dyn Waitlist>,
    /// When the last check ended, and its result. Locked during a check.
    last: Mutex<Option<(Instant, bool)>>,
}

impl ReadinessCheck {
    pub(super) fn new(list: Arc<dyn Waitlist>) -> Self {
        Self {
            list,
            last: Mutex::default(),
        }
    }

    /// Returns whether the store is ready, within [`READINESS_TIMEOUT`].
    async fn check(self: Arc<Self>) -> bool {
        let asked_at = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((ended_at, is_ready)) = *last
            && ended_at > asked_at
        {
            return is_ready;
        }
        let ready = timeout(READINESS_TIMEOUT, self.list.ready()).await;
        let is_ready = matches!(ready, Ok(Ok(())));
        *last = Some((Instant::now(), is_ready));
        is_ready
    }
}
