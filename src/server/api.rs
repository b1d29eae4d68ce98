//! The routes under `/api`: checks a request, then calls the server function of its path.

use std::error::Error;

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    response::Response,
};
use http_body_util::LengthLimitError;
use hyper::body::Body as _;
use leptos::server_fn::{axum::get_server_fn_service, error::SERVER_FN_ERROR_HEADER};
use tokio::time::sleep;

use super::{
    AppState, RequestError,
    call::FunctionCall,
    error::with_no_store,
    evicted::Evicted,
    limits::{BODY_MAX_BYTES, BODY_READ_TIMEOUT},
    rate_limit::LimitedAction,
    sign_up::{Visitor, admit},
    source_parameter::SourceParameter,
};

/// `POST /api/waitlist`
pub(super) async fn sign_up(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(state, Some(LimitedAction::SignUp), request).await
}

/// `POST /api/waitlist/confirm`
pub(super) async fn confirm(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(state, Some(LimitedAction::Code), request).await
}

/// `GET /api/waitlist/count`
pub(super) async fn count(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, RequestError> {
    call_server_function(state, None, request).await
}

/// Calls the server function at the request's path.
async fn call_server_function(
    state: AppState,
    action: Option<LimitedAction>,
    request: Request,
) -> Result<Response, RequestError> {
    let (mut parts, mut body) = request.into_parts();
    let mut visitor = None;
    if let Some(action) = action {
        let client = admit(&state, action, &parts)?;
        if !has_json_content_type(&parts.headers) {
            return Err(RequestError::NotJson);
        }
        let source = SourceParameter::from_referer(&state, &parts).map(|it| it.source().clone());
        visitor = Some(Visitor { client, source });
        let bytes = read_body(&state, body).await?;
        // serde would accept an array with one string as a struct with one string field.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(RequestError::MalformedBody(
                "expected an object, found an array".into(),
            ));
        }
        body = Body::from(bytes);
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
    let call = FunctionCall::new(state.clone(), visitor);
    let request = Request::from_parts(parts, body);
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

/// Reads the body of a sign-up.
///
/// # Errors
/// [`RequestError::BodyTooLarge`] above [`BODY_MAX_BYTES`], [`RequestError::Timeout`] after
/// [`BODY_READ_TIMEOUT`] or a moment after a shutdown has started, [`RequestError::Overloaded`] if the connection must
/// make room for others, and [`RequestError::MalformedBody`] if the client closes it.
pub(super) async fn read_body(state: &AppState, body: Body) -> Result<Bytes, RequestError> {
    if body.size_hint().lower() > BODY_MAX_BYTES as u64 {
        return Err(RequestError::BodyTooLarge);
    }
    let body = tokio::select! {
        // First, because nearly every body arrives with its head. Then the timers are never started.
        biased;
        body = to_bytes(body, BODY_MAX_BYTES) => body,
        () = sleep(BODY_READ_TIMEOUT) => return Err(RequestError::Timeout),
        () = state.shutdown.read_deadline() => return Err(RequestError::Timeout),
    };
    body.map_err(|error| {
        let is_too_large = error
            .source()
            .is_some_and(|source| source.is::<LengthLimitError>());
        if is_too_large {
            RequestError::BodyTooLarge
        } else if Evicted::caused(&error) {
            RequestError::Overloaded
        } else {
            RequestError::MalformedBody("the body is incomplete".into())
        }
    })
}

/// Returns whether the content type is `application/json`, with any parameters (RFC 9110, 8.3.1).
fn has_json_content_type(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
