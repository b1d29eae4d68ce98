//! The state that a server function shares with its caller, [`super::api`].

use std::{cell::Cell, sync::Arc};

use axum::http::StatusCode;

use super::people::{People, Visitor};

tokio::task_local! {
    /// The current call.
    static CURRENT_CALL: FunctionCall;
}

/// What a server function knows about its call.
///
/// This is not a context of leptos, because its reactive owner for each call made `GET /api/waitlist/count`
/// a tenth slower (0.82 of the requests per second of bare axum, against 0.92).
pub(super) struct FunctionCall {
    people: Arc<People>,
    /// Who attempts something. `None` for a call that everybody may make as often as they like.
    visitor: Option<Visitor>,
    status: Cell<Option<StatusCode>>,
    retry_after: Cell<Option<u64>>,
}

/// How a server function wants its response to differ from a plain 200.
pub(super) struct ResponseChanges {
    /// The status, if it is not 200.
    pub(super) status: Option<StatusCode>,
    /// The value of `Retry-After`, in seconds.
    pub(super) retry_after: Option<u64>,
}

impl FunctionCall {
    pub(super) fn new(people: Arc<People>, visitor: Option<Visitor>) -> Self {
        Self {
            people,
            visitor,
            status: Cell::default(),
            retry_after: Cell::default(),
        }
    }

    /// Runs a server function as this call. Returns its result and what it changed in the response.
    pub(super) async fn run<T>(self, function: impl Future<Output = T>) -> (T, ResponseChanges) {
        let run = async {
            let result = function.await;
            let changes = CURRENT_CALL.with(|call| ResponseChanges {
                status: call.status.take(),
                retry_after: call.retry_after.take(),
            });
            (result, changes)
        };
        CURRENT_CALL.scope(self, run).await
    }
}

/// Returns the people on the list, for a server function.
///
/// # Panics
/// Outside of a call.
pub(super) fn current_people() -> Arc<People> {
    CURRENT_CALL.with(|call| Arc::clone(&call.people))
}

/// Returns the visitor, for a server function. `None` if the caller has checked nobody.
///
/// # Panics
/// Outside of a call.
pub(super) fn current_visitor() -> Option<Visitor> {
    CURRENT_CALL.with(|call| call.visitor.clone())
}

/// Sets the status of the response. Without this, it is 200.
pub(super) fn set_status(status: StatusCode) {
    // Outside of a call there is no response.
    let _ = CURRENT_CALL.try_with(|call| call.status.set(Some(status)));
}

/// Sets the value of `Retry-After`, in seconds.
pub(super) fn set_retry_after(seconds: Option<u64>) {
    let _ = CURRENT_CALL.try_with(|call| call.retry_after.set(seconds));
}
