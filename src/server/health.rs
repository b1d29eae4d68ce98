//! What asks whether the site is well: a service manager, a load balancer.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use tokio::{sync::watch, time::timeout};

use super::{AppState, limits::READINESS_TIMEOUT};
use crate::waitlist::Waitlist;

/// `GET /healthz`: the process answers.
pub(super) async fn healthz() -> impl IntoResponse {
    status_response(StatusCode::OK)
}

/// `GET /readyz`: the store answers, so somebody could sign up.
pub(super) async fn readyz(State(state): State<AppState>) -> impl IntoResponse {
    status_response(if state.readiness.check(&state.list).await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    })
}

/// Asks the store whether it is ready. Each question takes a place in the store's queue, so requests that arrive
/// while one is open share its answer: strangers who also ask cannot make a load balancer wait.
#[derive(Default)]
pub(super) struct ReadinessCheck(Mutex<Option<PendingCheck>>);

/// `None` until it is answered.
type PendingCheck = watch::Receiver<Option<bool>>;

impl ReadinessCheck {
    /// Returns whether the store is ready, within [`READINESS_TIMEOUT`].
    async fn check(&self, list: &Arc<dyn Waitlist>) -> bool {
        let mut check = {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let pending = last.take().filter(is_pending);
            last.insert(pending.unwrap_or_else(|| start_check(Arc::clone(list))))
                .clone()
        };
        let result = check.wait_for(Option::is_some).await;
        // The store panicked if the answer is missing.
        result.is_ok_and(|is_ready| *is_ready == Some(true))
    }
}

/// Asks the store in a separate task, which continues if the client that caused it leaves.
fn start_check(list: Arc<dyn Waitlist>) -> PendingCheck {
    let (result, check) = watch::channel(None);
    tokio::spawn(async move {
        let ready = timeout(READINESS_TIMEOUT, list.ready()).await;
        result.send_replace(Some(matches!(ready, Ok(Ok(())))));
    });
    check
}

/// Returns whether the answer is still missing.
fn is_pending(check: &PendingCheck) -> bool {
    check.borrow().is_none() && check.has_changed().is_ok()
}

/// The status and its name, nothing else.
fn status_response(status: StatusCode) -> impl IntoResponse {
    let text = status.canonical_reason().unwrap_or_default();
    (status, [(header::CACHE_CONTROL, "no-store")], text)
}
