//! What stands before the server functions: content type, size, and what leptos would do with a
//! browser's headers.

use std::{cell::Cell, error::Error, sync::Arc};

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, StatusCode, header},
    response::Response,
};
use http_body_util::LengthLimitError;
use hyper::body::Body as _;
use leptos::server_fn::{axum::get_server_fn_service, error::SERVER_FN_ERROR_HEADER};
use tokio::time::timeout;

use super::{
    ApiError, AppState,
    error::dress,
    limits::{BODY_MAX_BYTES, BODY_PATIENCE},
    sign_up::admit,
};
use crate::waitlist::Waitlist;

tokio::task_local! {
    /// The call that is under way.
    static CALL: Call;
}

/// What a server function knows of its call. It finds it here and not in a context of leptos, whose
/// reactive owner for each call made `GET /api/waitlist/count` a tenth slower (0.82 of bare axum's
/// requests a second, against 0.92).
struct Call {
    list: Arc<dyn Waitlist>,
    /// Of the answer, when it is not 200.
    status: Cell<Option<StatusCode>>,
    /// In how many seconds to try again.
    retry_after: Cell<Option<u64>>,
}

/// The list, for a server function.
pub fn list() -> Arc<dyn Waitlist> {
    CALL.with(|call| Arc::clone(&call.list))
}

/// Answers with another status than 200.
pub fn set_status(status: StatusCode) {
    // Outside of a call there is nobody to answer.
    let _ = CALL.try_with(|call| call.status.set(Some(status)));
}

/// Answers with an error.
pub(super) fn refuse(error: &ApiError) {
    set_status(error.status());
    let _ = CALL.try_with(|call| call.retry_after.set(error.retry_after()));
}

/// Runs the server function at the request's path.
pub(super) async fn server_function(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, mut body) = request.into_parts();
    if parts.method == Method::POST {
        admit(&state, &parts)?;
        if !is_json(&parts.headers) {
            return Err(ApiError::NotJson);
        }
        let bytes = read_body(body).await?;
        // serde would take an array of one string for a struct of one string.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(ApiError::BadBody(
                "expected an object, found an array".into(),
            ));
        }
        body = Body::from(bytes);
    } else {
        // A HEAD, or a GET: a server function has one method, and axum leaves the body away.
        parts.method = Method::GET;
    }
    // No call has a query. leptos would parse one that a campaign link or a proxy has added.
    parts.uri = parts.uri.path().parse().unwrap_or_default();
    // For these two, leptos would answer a form's post with a redirect. Our form posts elsewhere.
    parts.headers.remove(header::ACCEPT);
    parts.headers.remove(header::REFERER);

    let service = get_server_fn_service(parts.uri.path(), parts.method.clone());
    let Some(mut service) = service else {
        return Err(ApiError::NotFound);
    };
    let call = Call {
        list: Arc::clone(&state.list),
        status: Cell::default(),
        retry_after: Cell::default(),
    };
    let request = Request::from_parts(parts, body);
    let run = async {
        let mut response = service.run(request).await;
        response.headers_mut().remove(SERVER_FN_ERROR_HEADER);
        CALL.with(|call| {
            if let Some(status) = call.status.take() {
                *response.status_mut() = status;
            }
            dress(response, call.retry_after.take())
        })
    };
    Ok(CALL.scope(call, run).await)
}

/// Any other path under `/api`.
pub(super) async fn not_found() -> ApiError {
    ApiError::NotFound
}

/// Another method on a path of ours; axum adds `Allow`.
pub(super) async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

/// A sign-up's body, counted and timed while it arrives.
pub(super) async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    if body.size_hint().lower() > BODY_MAX_BYTES as u64 {
        return Err(ApiError::TooLarge);
    }
    let body = timeout(BODY_PATIENCE, to_bytes(body, BODY_MAX_BYTES)).await;
    body.map_err(|_| ApiError::TooSlow)?.map_err(|error| {
        let too_large = error
            .source()
            .is_some_and(|source| source.is::<LengthLimitError>());
        if too_large {
            ApiError::TooLarge
        } else {
            ApiError::BadBody("the body broke off".into())
        }
    })
}

/// `application/json`, with any parameters (RFC 9110, 8.3.1).
fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
