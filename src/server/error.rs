//! The one place where a failure becomes a status, a header and a public sentence.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use leptos::{
    prelude::*,
    server_fn::{codec::JsonEncoding, error::ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};

use super::{
    call,
    limits::{
        BODY_MAX_BYTES, HEADER_FIELDS_MAX, HEADERS_MAX_BYTES, RETRY_AFTER_SECONDS, URL_MAX_BYTES,
    },
};
use crate::{
    waitlist::{InvalidEmail, StoreError},
    wire::ErrorBody,
};

/// Why the API has no success to answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "ErrorBody", into = "ErrorBody")]
pub enum RequestError {
    /// 400: the body is not the JSON that is asked for; says why.
    MalformedBody(String),
    /// 400: no request of HTTP/1.1, or one that could be meant for several hosts.
    MalformedRequest,
    /// 400: not an address.
    InvalidEmail(InvalidEmail),
    /// 403: sent by another site's page.
    CrossSite,
    /// 404: no such path.
    NotFound,
    /// 405: a path of ours, but another method.
    MethodNotAllowed,
    /// 408: the body did not arrive in time.
    Timeout,
    /// 409: the address is on the list.
    AlreadyListed,
    /// 413: a body larger than [`BODY_MAX_BYTES`].
    BodyTooLarge,
    /// 414: a path and query longer than [`URL_MAX_BYTES`].
    UrlTooLong,
    /// 415: not JSON by content type.
    NotJson,
    /// 431: a head larger than [`HEADERS_MAX_BYTES`], or of too many fields.
    HeadersTooLarge,
    /// 429: the client tries too often. In so many seconds it may try again.
    RateLimited(u64),
    /// 503: the store can't answer.
    Unavailable(StoreError),
    /// 505: HTTP/2, which only trusted proxies may speak.
    Http2NotAllowed,
    /// 500: a fault of ours.
    Internal(String),
}

impl RequestError {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MalformedBody(_) | Self::MalformedRequest | Self::InvalidEmail(_) => {
                StatusCode::BAD_REQUEST
            }
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::AlreadyListed => StatusCode::CONFLICT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UrlTooLong => StatusCode::URI_TOO_LONG,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Http2NotAllowed => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the client is told: what is wrong with the request, nothing of our insides.
    fn public_message(&self) -> String {
        match self {
            Self::MalformedBody(reason) => format!("Send JSON such as {EXAMPLE_BODY}: {reason}."),
            Self::MalformedRequest => "Send a request of HTTP/1.1, with one Host header.".into(),
            Self::InvalidEmail(reason) => format!("Please enter a valid email address: {reason}."),
            Self::CrossSite => "Sign up on our own page, or without an Origin header.".into(),
            Self::NotFound => "There is nothing at this address.".into(),
            Self::MethodNotAllowed => "This address takes the methods of the Allow header.".into(),
            Self::Timeout => "The request took too long to arrive. Send it again.".into(),
            Self::AlreadyListed => "Email already on waitlist.".into(),
            Self::BodyTooLarge => format!("Send at most {BODY_MAX_BYTES} bytes."),
            Self::UrlTooLong => {
                format!("Ask for an address of at most {URL_MAX_BYTES} bytes.")
            }
            Self::HeadersTooLarge => {
                format!(
                    "Send at most {HEADERS_MAX_BYTES} bytes of headers, and at most {HEADER_FIELDS_MAX} of them."
                )
            }
            Self::RateLimited(seconds) => {
                format!("Too many tries. Try again in {seconds} seconds.")
            }
            Self::NotJson => format!("Send {EXAMPLE_BODY} with Content-Type: application/json."),
            Self::Unavailable(_) => "The waitlist can't be reached. Try again in a moment.".into(),
            Self::Http2NotAllowed => {
                "Send a request of HTTP/1.1. HTTP/2 is for proxies that are named with \
                            --trusted-proxies."
                    .into()
            }
            Self::Internal(_) => "Something went wrong on our side.".into(),
        }
    }

    /// How many seconds the client is to wait.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited(seconds) => Some(*seconds),
            Self::Unavailable(_) => Some(RETRY_AFTER_SECONDS),
            _ => None,
        }
    }

    /// The answer, where no server function makes it.
    pub(super) fn into_unlogged_response(self) -> Response {
        let (status, retry_after) = (self.status(), self.retry_after());
        with_no_store(
            (status, Json(ErrorBody::from(self))).into_response(),
            retry_after,
        )
    }

    /// Logs what the owner must know and the client must not.
    pub(super) fn log(&self) {
        match self {
            Self::Unavailable(detail) => tracing::error!("sign-up refused: {detail}"),
            Self::Internal(detail) => tracing::error!("{detail}"),
            _ => {}
        }
    }
}

const EXAMPLE_BODY: &str = r#"{"email": "you@company.com"}"#;

impl From<RequestError> for ErrorBody {
    fn from(error: RequestError) -> Self {
        Self {
            error: error.public_message(),
        }
    }
}

/// Only a client of server functions would need this direction, and ours is TypeScript.
impl From<ErrorBody> for RequestError {
    fn from(body: ErrorBody) -> Self {
        Self::Internal(body.error)
    }
}

/// For answers that no server function makes.
impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        self.log();
        self.into_unlogged_response()
    }
}

/// Adds the headers of every answer to a sign-up or a question for the count.
pub(super) fn with_no_store(mut response: Response, retry_after: Option<u64>) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// For answers of server functions. leptos would make every error a 500; the status of ours goes
/// by way of the response options, also when the body could not even be parsed.
impl FromServerFnError for RequestError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(reason)
            | ServerFnErrorErr::Deserialization(reason)
            | ServerFnErrorErr::MissingArg(reason) => Self::MalformedBody(reason),
            other => Self::Internal(other.to_string()),
        }
    }

    fn ser(&self) -> axum::body::Bytes {
        self.log();
        call::set_status(self.status());
        call::set_retry_after(self.retry_after());
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}
