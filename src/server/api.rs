//! The routes under `/api`: each checks a request, and runs its server function with what it sends.
//!
//! `leptos_axum::handle_server_fns_with_context` does not serve this API. It redirects a client that accepts HTML to the
//! `Referer`, responds to arguments that it cannot parse with 500, and has no place between the head of a request and its body
//! for the rate limit. It also served the count at 0.9 of this rate (`wrk -c256`, the median of five runs in turns).

use std::sync::Arc;

use axum::{
    Json,
    extract::{FromRef, Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
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
    functions::{Confirm, Count, Join},
    people::{People, Visitor},
    preconditions::Preconditions,
    rate_limit::LimitedAction,
    shutdown::Shutdown,
    source_parameter::SourceParameter,
};

/// What a call of the API needs.
#[derive(Clone)]
pub(super) struct Api {
    people: Arc<People>,
    admission: Arc<Admission>,
    shutdown: Arc<Shutdown>,
}

impl FromRef<AppState> for Api {
    fn from_ref(state: &AppState) -> Self {
        Self {
            people: FromRef::from_ref(state),
            admission: FromRef::from_ref(state),
            shutdown: FromRef::from_ref(state),
        }
    }
}

/// `POST /api/waitlist`
pub(super) async fn join(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, RequestError> {
    let (visitor, function) = api.read::<Join>(LimitedAction::SignUp, request).await?;
    api.run(StatusCode::CREATED, function, Some(visitor)).await
}

/// `POST /api/waitlist/confirm`
pub(super) async fn confirm(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, RequestError> {
    let (visitor, function) = api.read::<Confirm>(LimitedAction::Code, request).await?;
    api.run(StatusCode::OK, function, Some(visitor)).await
}

/// `GET /api/waitlist/count`
pub(super) async fn count(State(api): State<Api>) -> Result<Response, RequestError> {
    api.run(StatusCode::OK, Count {}, None).await
}

impl Api {
    /// Checks whether a client may attempt something, and reads the arguments of the server function.
    async fn read<F: DeserializeOwned>(
        &self,
        action: LimitedAction,
        request: Request,
    ) -> Result<(Visitor, F), RequestError> {
        let (parts, body) = request.into_parts();
        let client = self.admission.admit(action, &parts)?;
        if !body::is_json(&parts.headers) {
            return Err(RequestError::NotJson);
        }
        Preconditions::of(&parts.headers).check(None)?;
        let source = SourceParameter::from_referer(&self.admission, &parts);
        let source = source.map(|it| it.source().clone());
        let function = body::read_json(&self.shutdown, body).await?;
        Ok((Visitor { client, source }, function))
    }

    /// Runs a server function, and responds with this status and its result.
    async fn run<F>(
        self,
        status: StatusCode,
        function: F,
        visitor: Option<Visitor>,
    ) -> Result<Response, RequestError>
    where
        F: ServerFn<Output: Serialize, Error = RequestError>,
    {
        let owner = Owner::new();
        let run = owner.with(|| {
            provide_context(self.people);
            if let Some(visitor) = visitor {
                provide_context(visitor);
            }
            ScopedFuture::new(function.run_body())
        });
        let response = (status, Json(run.await?)).into_response();
        Ok(with_no_store(response, None))
    }
}

/// Handles unknown paths under `/api`.
pub(super) async fn not_found() -> RequestError {
    RequestError::NotFound
}

/// Handles a wrong method on a known path. axum adds the `Allow` header.
pub(super) async fn method_not_allowed() -> RequestError {
    RequestError::MethodNotAllowed
}
