//! What asks whether the site is well: a service manager, a load balancer.

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};

use super::AppState;

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> impl IntoResponse {
    told(StatusCode::OK)
}

/// `GET /readyz`: the store answers, so somebody could sign up.
pub(super) async fn ready(State(state): State<AppState>) -> impl IntoResponse {
    let _one_at_a_time = state.asking.lock().await;
    told(match state.list.ready().await {
        Ok(()) => StatusCode::OK,
        Err(_) => StatusCode::SERVICE_UNAVAILABLE,
    })
}

/// The status and its name, nothing else.
fn told(status: StatusCode) -> impl IntoResponse {
    let text = status.canonical_reason().unwrap_or_default();
    (status, [(header::CACHE_CONTROL, "no-store")], text)
}
