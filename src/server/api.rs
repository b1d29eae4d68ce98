//! The routes under `/api`: each checks a request, and runs its server function with what it sends.
//!
//! `leptos_axum::handle_server_fns_with_context` does not serve this API. It redirects a client that accepts HTML to the
//! `Referer`, responds to arguments that it cannot parse with 500, and has no place between the head of a request and its body
//! for the rate limit. It also served the count at 0.9 of this rate (`wrk -c256`, the median of five runs in turns).

use std::sync::Arc;

use axum::{
    Json,
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
    routing::{self, MethodRouter},
};
use leptos::{
    prelude::{Owner, provide_context},
    reactive::computed::ScopedFuture,
    server_fn::ServerFn,
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    AppState, RequestError,
    admission::Admission,
    body,
    error::with_no_store,
    functions::Count,
    people::{People, Visitor},
    preconditions::Preconditions,
    rate_limit::LimitedAction,
};

/// Returns the handler of a server function with arguments, whose success has this status.
pub(super) fn post<F>(action: LimitedAction, success: StatusCode) -> MethodRouter<AppState>
where
    F: ServerFn<Output: Serialize, Error = RequestError> + DeserializeOwned,
{
    let handler = async move |State(people): State<Arc<People>>,
                              State(admission): State<Arc<Admission>>,
                              request: Request| {
        let (parts, body) = request.into_parts();
        let visitor = admission.admit(action, &parts)?;
        let preconditions = Preconditions::of(&parts.headers);
        let request = Request::from_parts(parts, body);
        let Json(function) = body::read::<Json<F>>(&admission.shutdown, request).await?;
        preconditions.check(None)?;
        run(people, success, function, Some(visitor)).await
    };
    routing::post(handler)
}

/// `GET /api/waitlist/count`
pub(super) async fn count(State(people): State<Arc<People>>) -> Result<Response, RequestError> {
    run(people, StatusCode::OK, Count {}, None).await
}

/// Runs a server function, and responds with this status and its result.
async fn run<F>(
    people: Arc<People>,
    success: StatusCode,
    function: F,
    visitor: Option<Visitor>,
) -> Result<Response, RequestError>
where
    F: ServerFn<Output: Serialize, Error = RequestError>,
{
    let owner = Owner::new();
    let run = owner.with(|| {
        provide_context(people);
        if let Some(visitor) = visitor {
            provide_context(visitor);
        }
        ScopedFuture::new(function.run_body())
    });
    let response = (success, Json(run.await?)).into_response();
    Ok(with_no_store(response, None))
}
