//! The routes under `/api`: checks a request, then calls the server function of its path.

use std::sync::Arc;

use axum::{
    extract::{FromRef, Request, State},
    http::{Method, header},
    response::Response,
};
use leptos::server_fn::{axum::get_server_fn_service, error::SERVER_FN_ERROR_HEADER};

use super::{
    AppState, RequestError,
    admission::Admission,
    body,
    call::FunctionCall,
    error::with_no_store,
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
pub(super) async fn sign_up(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(api, Some(LimitedAction::SignUp), request).await
}

/// `POST /api/waitlist/confirm`
pub(super) async fn confirm(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(api, Some(LimitedAction::Code), request).await
}

/// `GET /api/waitlist/count`
pub(super) async fn count(
    State(api): State<Api>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(api, None, request).await
}

/// Calls the server function at the request's path.
async fn call_server_function(
    api: Api,
    action: Option<LimitedAction>,
    request: Request,
) -> Result<Response, RequestError> {
    let (mut parts, mut content) = request.into_parts();
    let mut visitor = None;
    if let Some(action) = action {
        let client = api.admission.admit(action, &parts)?;
        if !body::is_json(&parts.headers) {
            return Err(RequestError::NotJson);
        }
        Preconditions::of(&parts.headers).check(None)?;
        let source =
            SourceParameter::from_referer(&api.admission, &parts).map(|it| it.source().clone());
        visitor = Some(Visitor { client, source });
        content = body::read_object(&api.shutdown, content).await?.into();
    } else {
        // A GET or a HEAD. The server function has only GET; for HEAD, axum omits the body.
        parts.method = Method::GET;
    }
    // The functions take no query. leptos would parse one that a campaign link or a proxy added.
    parts.uri = parts.uri.path().parse().unwrap_or_default();
    // With these two headers, leptos would redirect as for a form. The site's form posts to `/` instead.
    parts.headers.remove(header::ACCEPT);
    parts.headers.remove(header::REFERER);

    let service = get_server_fn_service(parts.uri.path(), parts.method.clone());
    let Some(mut service) = service else {
        return Err(RequestError::NotFound);
    };
    let call = FunctionCall::new(api.people, visitor);
    let request = Request::from_parts(parts, content);
    let (mut response, changes) = call.run(service.run(request)).await;
    response.headers_mut().remove(SERVER_FN_ERROR_HEADER);
    if let Some(status) = changes.status {
        *response.status_mut() = status;
    }
    Ok(with_no_store(response, changes.retry_after))
}

/// Handles unknown paths under `/api`.
pub(super) async fn not_found() -> RequestError {
    RequestError::NotFound
}

/// Handles a wrong method on a known path. axum adds the `Allow` header.
pub(super) async fn method_not_allowed() -> RequestError {
    RequestError::MethodNotAllowed
}
