//! The routes under `/api`: each runs its server function as the protocol of the function says.
//!
//! `leptos_axum::handle_server_fns_with_context` does not serve this API. It redirects a client that accepts HTML to the
//! `Referer`, responds to arguments that it cannot parse with 500, and has no place between the head of a request and its body
//! for the rate limit. It also served the count at 0.9 of this rate (`wrk -c256`, the median of five runs in turns).

use std::sync::Arc;

use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    response::Response,
    routing::{self, MethodRouter},
};
use leptos::server_fn::{Protocol, ServerFn, axum::AxumServerFnBackend};

use super::{
    AppState, RequestError,
    admission::Admitted,
    body::JsonBody,
    functions::{Count, with_context},
    people::{People, Visitor},
    rate_limit::Limited,
};

/// Returns the handler of a server function with arguments, whose success has this status.
pub(super) fn post<F>(success: StatusCode) -> MethodRouter<AppState>
where
    F: Limited
        + ServerFn<
            Server = AxumServerFnBackend,
            Error = RequestError,
            InputStreamError = RequestError,
            OutputStreamError = RequestError,
        >,
{
    let handler =
        async move |State(people): State<Arc<People>>,
                    Admitted(visitor, JsonBody(arguments), _): Admitted<F, JsonBody>| {
            let mut response = run::<F>(people, Some(visitor?), arguments).await?;
            *response.status_mut() = success;
            Ok::<_, RequestError>(response)
        };
    routing::post(handler)
}

/// `GET /api/waitlist/count`. The function has no arguments, so the query does not matter.
pub(super) async fn count(State(people): State<Arc<People>>) -> Result<Response, RequestError> {
    run::<Count>(people, None, Bytes::new()).await
}

/// Parses the arguments of a server function, runs it, and encodes its result.
async fn run<F>(
    people: Arc<People>,
    visitor: Option<Visitor>,
    arguments: Bytes,
) -> Result<Response, RequestError>
where
    F: ServerFn<
            Server = AxumServerFnBackend,
            Error = RequestError,
            InputStreamError = RequestError,
            OutputStreamError = RequestError,
        >,
{
    let request = Request::new(Body::from(arguments));
    let run = F::Protocol::run_server(request, F::run_body);
    with_context(people, visitor, run).await
}
