//! What asks whether the site is well: a service manager, a load balancer.

use std::sync::{Arc, Mutex, PoisonError};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::IntoResponse,
};
use tokio::{sync::watch, time::timeout};

use super::{AppState, limits::READY_TIMEOUT};
use crate::waitlist::Waitlist;

/// `GET /healthz`: the process answers.
pub(super) async fn alive() -> impl IntoResponse {
    told(StatusCode::OK)
}

/// `GET /readyz`: the store answers, so somebody could sign up.
pub(super) async fn ready(State(state): State<AppState>) -> impl IntoResponse {
    told(if state.readiness.ask(&state.list).await {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    })
}

/// Asks the store whether it is ready. Each question takes a place in the store's queue, so requests that arrive
/// while one is open share its answer: strangers who also ask cannot make a load balancer wait.
#[derive(Default)]
pub(super) struct Readiness(Mutex<Option<Question>>);

/// `None` until it is answered.
type Question = watch::Receiver<Option<bool>>;

impl Readiness {
    /// Returns whether the store is ready, within [`READY_TIMEOUT`].
    async fn ask(&self, list: &Arc<dyn Waitlist>) -> bool {
        let mut question = {
            let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let open = last.take().filter(is_open);
            last.insert(open.unwrap_or_else(|| ask(Arc::clone(list))))
                .clone()
        };
        let answer = question.wait_for(Option::is_some).await;
        // The store panicked if the answer is missing.
        answer.is_ok_and(|answer| *answer == Some(true))
    }
}

/// Asks the store in a separate task, which continues if the client that caused it leaves.
fn ask(list: Arc<dyn Waitlist>) -> Question {
    let (answer, question) = watch::channel(None);
    tokio::spawn(async move {
        let ready = timeout(READY_TIMEOUT, list.ready()).await;
        answer.send_replace(Some(matches!(ready, Ok(Ok(())))));
    });
    question
}

/// Returns whether the answer is still missing.
fn is_open(question: &Question) -> bool {
    question.borrow().is_none() && question.has_changed().is_ok()
}

/// The status and its name, nothing else.
fn told(status: StatusCode) -> impl IntoResponse {
    let text = status.canonical_reason().unwrap_or_default();
    (status, [(header::CACHE_CONTROL, "no-store")], text)
}
