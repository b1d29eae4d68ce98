//! What stands before the server functions: content type, size, and what leptos would do with a
//! browser's headers.

use std::error::Error;

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    http::{HeaderMap, Method, header},
    response::{IntoResponse, Response},
};
use http_body_util::LengthLimitError;
use leptos::{prelude::provide_context, server_fn::error::SERVER_FN_ERROR_HEADER};

use super::{ApiError, AppState, error::dress, limits::BODY_MAX_BYTES};

/// Runs the server function at the request's path.
pub(super) async fn server_function(
    State(state): State<AppState>,
    request: Request,
) -> Result<Response, ApiError> {
    let (mut parts, body) = request.into_parts();
    if parts.method == Method::POST && !is_json(&parts.headers) {
        return Err(ApiError::NotJson);
    }
    let body = read_body(body).await?;
    // serde would take an array of one string for a struct of one string.
    if parts.method == Method::POST && body.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::BadBody(
            "expected an object, found an array".into(),
        ));
    }
    // A server function has one method; axum leaves the body of a HEAD away.
    if parts.method == Method::HEAD {
        parts.method = Method::GET;
    }
    // For these two, leptos would answer a form's post with a redirect. Our form posts elsewhere.
    parts.headers.remove(header::ACCEPT);
    parts.headers.remove(header::REFERER);

    let list = state.list.clone();
    let provide = move || provide_context(list.clone());
    let request = Request::from_parts(parts, Body::from(body));
    let answer = leptos_axum::handle_server_fns_with_context(provide, request).await;
    let mut response = answer.into_response();
    response.headers_mut().remove(SERVER_FN_ERROR_HEADER);
    Ok(dress(response))
}

/// Any other path under `/api`.
pub(super) async fn not_found() -> ApiError {
    ApiError::NotFound
}

/// Another method on a path of ours; axum adds `Allow`.
pub(super) async fn method_not_allowed() -> ApiError {
    ApiError::MethodNotAllowed
}

/// A sign-up's body, counted while it arrives.
pub(super) async fn read_body(body: Body) -> Result<Bytes, ApiError> {
    to_bytes(body, BODY_MAX_BYTES).await.map_err(|error| {
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
