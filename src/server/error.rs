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
    api::refuse,
    limits::{BODY_MAX_BYTES, FIELDS_MAX, HEAD_MAX_BYTES, RETRY_AFTER_SECONDS, URL_MAX_BYTES},
};
use crate::{
    waitlist::{InvalidEmail, StoreError},
    wire::ErrorBody,
};

/// Why the API has no success to answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "ErrorBody", into = "ErrorBody")]
pub enum ApiError {
    /// 400: the body is not the JSON that is asked for; says why.
    BadBody(String),
    /// 400: no request of HTTP/1.1, or one that could be meant for several hosts.
    BadRequest,
    /// 400: not an address.
    InvalidEmail(InvalidEmail),
    /// 403: sent by another site's page.
    CrossSite,
    /// 404: no such path.
    NotFound,
    /// 405: a path of ours, but another method.
    MethodNotAllowed,
    /// 408: the body did not arrive in time.
    TooSlow,
    /// 409: the address is on the list.
    AlreadyListed,
    /// 413: a body larger than [`BODY_MAX_BYTES`].
    TooLarge,
    /// 414: a path and query longer than [`URL_MAX_BYTES`].
    UrlTooLong,
    /// 415: not JSON by content type.
    NotJson,
    /// 431: a head larger than [`HEAD_MAX_BYTES`], or of too many fields.
    HeadTooLarge,
    /// 429: the client tries too often. In so many seconds it may try again.
    TooMany(u64),
    /// 503: the store can't answer.
    Unavailable(StoreError),
    /// 505: HTTP/2, which only trusted proxies may speak.
    Http2,
    /// 500: a fault of ours.
    Internal(String),
}

impl ApiError {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_) | Self::BadRequest | Self::InvalidEmail(_) => StatusCode::BAD_REQUEST,
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::AlreadyListed => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UrlTooLong => StatusCode::URI_TOO_LONG,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TooMany(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Http2 => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the client is told: what is wrong with the request, nothing of our insides.
    fn public(&self) -> String {
        match self {
            Self::BadBody(why) => format!("Send JSON such as {EXAMPLE}: {why}."),
            Self::BadRequest => "Send a request of HTTP/1.1, with one Host header.".into(),
            Self::InvalidEmail(why) => format!("Please enter a valid email address: {why}."),
            Self::CrossSite => "Sign up on our own page, or without an Origin header.".into(),
            Self::NotFound => "There is nothing at this address.".into(),
            Self::MethodNotAllowed => "This address takes the methods of the Allow header.".into(),
            Self::TooSlow => "The request took too long to arrive. Send it again.".into(),
            Self::AlreadyListed => "Email already on waitlist.".into(),
            Self::TooLarge => format!("Send at most {BODY_MAX_BYTES} bytes."),
            Self::UrlTooLong => {
                format!("Ask for an address of at most {URL_MAX_BYTES} bytes.")
            }
            Self::HeadTooLarge => {
                format!(
                    "Send at most {HEAD_MAX_BYTES} bytes of headers, and at most {FIELDS_MAX} of them."
                )
            }
            Self::TooMany(seconds) => {
                format!("Too many tries. Try again in {seconds} seconds.")
            }
            Self::NotJson => format!("Send {EXAMPLE} with Content-Type: application/json."),
            Self::Unavailable(_) => "The waitlist can't be reached. Try again in a moment.".into(),
            Self::Http2 => "Send a request of HTTP/1.1. HTTP/2 is for proxies that are named with \
                            --trusted-proxies."
                .into(),
            Self::Internal(_) => "Something went wrong on our side.".into(),
        }
    }

    /// How many seconds the client is to wait.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooMany(seconds) => Some(*seconds),
            Self::Unavailable(_) => Some(RETRY_AFTER_SECONDS),
            _ => None,
        }
    }

    /// The answer, where no server function makes it.
    pub(super) fn respond(self) -> Response {
        let (status, retry_after) = (self.status(), self.retry_after());
        dress(
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

const EXAMPLE: &str = r#"{"email": "you@company.com"}"#;

impl From<ApiError> for ErrorBody {
    fn from(error: ApiError) -> Self {
        Self {
            error: error.public(),
        }
    }
}

/// Only a client of server functions would need this direction, and ours is TypeScript.
impl From<ErrorBody> for ApiError {
    fn from(body: ErrorBody) -> Self {
        Self::Internal(body.error)
    }
}

/// For answers that no server function makes.
impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.log();
        self.respond()
    }
}

/// Adds the headers of every answer to a sign-up or a question for the count.
pub(super) fn dress(mut response: Response, retry_after: Option<u64>) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// For answers of server functions. leptos would make every error a 500; the status of ours goes
/// by way of the response options, also when the body could not even be parsed.
impl FromServerFnError for ApiError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(why)
            | ServerFnErrorErr::Deserialization(why)
            | ServerFnErrorErr::MissingArg(why) => Self::BadBody(why),
            other => Self::Internal(other.to_string()),
        }
    }

    fn ser(&self) -> axum::body::Bytes {
        self.log();
        refuse(self);
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}
