//! The endpoints for load balancers and service managers.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use tokio::{sync::watch, time::timeout};

use super::limits::READINESS_TIMEOUT;
use crate::waitlist::Waitlist;

/// Path of [`healthz`].
pub(super) const HEALTHZ_PATH: &str = "/healthz";
/// Path of [`readyz`].
pub(super) const READYZ_PATH: &str = "/readyz";

/// `GET /healthz`: 200 while the process runs.
pub(super) async fn healthz() -> impl IntoResponse {
    status_response(StatusCode::OK)
}

/// `GET /readyz`: 200 if the store works, otherwise 503.
pub(super) async fn readyz(State(readiness): State<Arc<ReadinessCheck>>) -> impl IntoResponse {
    status_response(if readiness.check().await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    })
}

/// Checks whether the store is ready. Each check occupies a place in the store's queue, so requests that arrive
/// during a check share its result. Otherwise anyone could delay the checks of a load balancer.
pub(super) struct ReadinessCheck {
    list: Arc<dyn Waitlist>,
    last: Mutex<Option<PendingCheck>>,
}

/// Holds `None` until the check is complete.
type PendingCheck = watch::Receiver<Option<bool>>;

impl ReadinessCheck {
    pub(super) fn new(list: Arc<dyn Waitlist>) -> Self {
        Self {
            list,
            last: Mutex::default(),
        }
    }

    /// Returns whether the store is ready, within [`READINESS_TIMEOUT`].
    async fn check(&self) -> bool {
        let mut check = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = last.take().filter(is_pending);
            last.insert(pending.unwrap_or_else(|| start_check(Arc::clone(&self.list))))
                .clone()
        };
        let result = check.wait_for(Option::is_some).await;
        // The result is missing if the store panicked.
        result.is_ok_and(|is_ready| *is_ready == Some(true))
    }
}

/// Starts a check in a separate task, which continues if the client disconnects.
fn start_check(list: Arc<dyn Waitlist>) -> PendingCheck {
    let (result, check) = watch::channel(None);
    tokio::spawn(async move {
        let ready = timeout(READINESS_TIMEOUT, list.ready()).await;
        result.send_replace(Some(matches!(ready, Ok(Ok(())))));
    });
    check
}

/// Returns whether the check is still running.
fn is_pending(check: &PendingCheck) -> bool {
    check.borrow().is_none() && check.has_changed().is_ok()
}

/// Returns a response with the name of the status as its body.
fn status_response(status: StatusCode) -> impl IntoResponse {
    let text = status.canonical_reason().unwrap_or_default();
    (status, [(header::CACHE_CONTROL, "no-store")], text)
}
