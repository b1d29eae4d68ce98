//! The routes under `/api`: each runs its server function, as its own extractor and axum's `Json` read and write it.
//!
//! `leptos_axum::handle_server_fns_with_context` does not serve this API. It redirects a client that accepts HTML to the
//! `Referer`, and responds to arguments that it cannot parse with 500, so it would need a layer around it for each, and one for
//! the rate limit. It also served the count at 0.9 of this rate, so at 0.7 of bare axum's (`wrk -c256`, the median of five
//! runs in turns).

use std::sync::Arc;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    routing::{self, MethodRouter},
};
use leptos::server_fn::ServerFn;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    AppState, RequestError,
    admission::Admitted,
    functions::{count, with_context},
    people::People,
    rate_limit::Limited,
};
use crate::wire::CountBody;

/// Returns the handler of a server function with arguments, whose success has this status.
pub(super) fn post<F>(success: StatusCode) -> MethodRouter<AppState>
where
    F: ServerFn<Error = RequestError, Output: Serialize> + DeserializeOwned + 'static,
    Json<F>: Limited,
{
    let handler = async move |State(people): State<Arc<People>>, admitted: Admitted<Json<F>>| {
        let Json(arguments) = admitted.sent;
        let run = with_context(people, Some(admitted.visitor), arguments.run_body());
        Ok::<_, RequestError>((success, Json(run.await?)))
    };
    routing::post(handler)
}

/// `GET /api/waitlist/count`. The function has no arguments, so the query does not matter.
pub(super) async fn get_count(
    State(people): State<Arc<People>>,
) -> Result<Json<CountBody>, RequestError> {
    with_context(people, None, count()).await.map(Json)
}
