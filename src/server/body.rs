//! Reads the bodies of requests.

use std::error::Error;

use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{FromRequest, Request},
    http::{HeaderMap, header, request::Parts},
};
use futures_util::FutureExt;
use http_body_util::LengthLimitError;
use hyper::body::Body as _;
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::{
    RequestError,
    limits::{BODY_MAX_BYTES, BODY_READ_TIMEOUT},
    shutdown::Shutdown,
};

/// Reads a body.
///
/// # Errors
/// [`RequestError::BodyTooLarge`] above [`BODY_MAX_BYTES`], [`RequestError::Timeout`] after
/// [`BODY_READ_TIMEOUT`] or a moment after a shutdown has started, and [`RequestError::MalformedBody`] if the client closes the
/// connection.
pub(super) async fn read(shutdown: &Shutdown, body: Body) -> Result<Bytes, RequestError> {
    if body.size_hint().lower() > BODY_MAX_BYTES as u64 {
        return Err(RequestError::BodyTooLarge);
    }
    let body = tokio::select! {
        // First, because nearly every body arrives with its head. Then the timers are never started.
        biased;
        body = to_bytes(body, BODY_MAX_BYTES) => body,
        () = sleep(BODY_READ_TIMEOUT) => return Err(RequestError::Timeout),
        () = shutdown.read_deadline() => return Err(RequestError::Timeout),
    };
    body.map_err(|error| {
        let is_too_large = error
            .source()
            .is_some_and(|source| source.is::<LengthLimitError>());
        if is_too_large {
            RequestError::BodyTooLarge
        } else {
            RequestError::MalformedBody("the body is incomplete".into())
        }
    })
}

/// Reads a JSON object.
///
/// # Errors
/// [`RequestError::MalformedBody`], and the errors of [`read`].
pub(super) async fn read_json<T: DeserializeOwned>(
    shutdown: &Shutdown,
    body: Body,
) -> Result<T, RequestError> {
    let bytes = read(shutdown, body).await?;
    // serde would accept an array with one string as a struct with one string field.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(RequestError::MalformedBody(
            "expected an object, found an array".into(),
        ));
    }
    serde_json::from_slice(&bytes).map_err(|error| RequestError::MalformedBody(error.to_string()))
}

/// Reads a form.
///
/// # Errors
/// [`RequestError::MalformedBody`], and the errors of [`read`].
pub(super) async fn read_form<F: DeserializeOwned>(
    shutdown: &Shutdown,
    parts: Parts,
    body: Body,
) -> Result<F, RequestError> {
    parse_form(parts, read(shutdown, body).await?).await
}

/// Reads the form of a client that is rejected anyway, so that its page keeps what was typed: only if all of it has arrived.
pub(super) async fn read_arrived_form<F: DeserializeOwned>(parts: Parts, body: Body) -> Option<F> {
    let body = to_bytes(body, BODY_MAX_BYTES).now_or_never()?;
    parse_form(parts, body.ok()?).await.ok()
}

async fn parse_form<F: DeserializeOwned>(parts: Parts, body: Bytes) -> Result<F, RequestError> {
    let request = Request::from_parts(parts, body.into());
    let form = axum::Form::<F>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| RequestError::MalformedBody(rejection.to_string()))
}

/// Returns whether the content type is `application/json`, with any parameters (RFC 9110, 8.3.1).
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}
