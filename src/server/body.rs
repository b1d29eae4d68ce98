//! Reads what a request sends.

use axum::{
    extract::{
        FromRequest, Request,
        rejection::{FormRejection, JsonRejection},
    },
    http::StatusCode,
};
use hyper::body::Body as _;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{
    RequestError,
    limits::{BODY_MAX_BYTES, BODY_READ_TIMEOUT, SHUTDOWN_READ_TIMEOUT},
};

/// Reads a form or JSON. The router limits its size, with or without a length in the head.
///
/// # Errors
/// [`RequestError::BodyTooLarge`] above [`BODY_MAX_BYTES`], [`RequestError::Timeout`] after [`BODY_READ_TIMEOUT`] or
/// [`read_deadline`], [`RequestError::NotJson`], and [`RequestError::MalformedBody`].
pub(super) async fn read<T>(
    shutdown: &CancellationToken,
    request: Request,
) -> Result<T, RequestError>
where
    T: FromRequest<(), Rejection: Into<RequestError>>,
{
    // Without asking the client to go on (`Expect: 100-continue`).
    if request.body().size_hint().lower() > BODY_MAX_BYTES as u64 {
        return Err(RequestError::BodyTooLarge);
    }
    tokio::select! {
        // First, because nearly every body arrives with its head. Then the timers are never started.
        biased;
        read = T::from_request(request, &()) => read.map_err(Into::into),
        () = sleep(BODY_READ_TIMEOUT) => Err(RequestError::Timeout),
        () = read_deadline(shutdown) => Err(RequestError::Timeout),
    }
}

/// Resolves when a request that is still arriving has no more time, because the server shuts down.
pub(super) async fn read_deadline(shutdown: &CancellationToken) {
    shutdown.cancelled().await;
    sleep(SHUTDOWN_READ_TIMEOUT).await;
}

impl From<JsonRejection> for RequestError {
    fn from(rejection: JsonRejection) -> Self {
        from_rejection(rejection.status(), rejection.body_text())
    }
}

impl From<FormRejection> for RequestError {
    fn from(rejection: FormRejection) -> Self {
        from_rejection(rejection.status(), rejection.body_text())
    }
}

fn from_rejection(status: StatusCode, reason: String) -> RequestError {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE => RequestError::BodyTooLarge,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => RequestError::NotJson,
        _ => RequestError::MalformedBody(reason),
    }
}
