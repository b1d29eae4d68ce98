//! Every error that the server responds with: its status, `Retry-After`, public message and log line.

use std::time::Duration;

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

use super::limits::{
    BODY_MAX_BYTES, HEADER_FIELDS_MAX, HEADERS_MAX_BYTES, RETRY_AFTER_SECONDS, URL_MAX_BYTES,
};
use crate::{
    copy,
    waitlist::{InvalidEmail, StoreError},
    wire::ErrorBody,
};

/// Why a request failed.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(from = "ErrorBody", into = "ErrorBody")]
pub enum RequestError {
    /// 400: the body is not the expected JSON or form; the reason.
    MalformedBody(String),
    /// 400: the request does not name exactly one valid host.
    InvalidHost,
    /// 400: the address is invalid.
    InvalidEmail(InvalidEmail),
    /// 400: the text does not contain one code.
    MalformedCode,
    /// 400: the code is wrong, or nobody was asked to confirm this address.
    WrongCode,
    /// 403: a page of another site sent the request.
    CrossSite,
    /// 404: unknown path.
    NotFound,
    /// 405: known path, but not with this method.
    MethodNotAllowed,
    /// 408: the request did not arrive in time.
    Timeout,
    /// 409: the address is already on the list.
    AlreadyListed,
    /// 412: a precondition such as `If-None-Match: *` does not hold.
    PreconditionFailed,
    /// 413: the body is larger than [`BODY_MAX_BYTES`].
    BodyTooLarge,
    /// 414: the path and query are longer than [`URL_MAX_BYTES`].
    UrlTooLong,
    /// 415: the content type is not JSON.
    NotJson,
    /// 431: the headers are larger than [`HEADERS_MAX_BYTES`], or more than [`HEADER_FIELDS_MAX`].
    HeadersTooLarge,
    /// 423: there were too many wrong codes for this address.
    CodeLocked,
    /// 429: the client has tried too often; how long it must wait.
    RateLimited(Duration),
    /// 503: the store failed.
    Unavailable(StoreError),
    /// 503: the connection got no place, or was too slow while others waited for its place.
    Overloaded,
    /// 501: no resource has this method.
    UnknownMethod,
    /// 505: HTTP/2 from a client that is not a trusted proxy.
    Http2NotAllowed,
    /// 500: a fault of the server; the details for the log.
    Internal(String),
    /// 500: a handler panicked. The panic hook has logged it.
    Panicked,
}

impl RequestError {
    /// Returns the status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MalformedBody(_)
            | Self::InvalidHost
            | Self::InvalidEmail(_)
            | Self::MalformedCode
            | Self::WrongCode => StatusCode::BAD_REQUEST,
            Self::CrossSite => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::Timeout => StatusCode::REQUEST_TIMEOUT,
            Self::AlreadyListed => StatusCode::CONFLICT,
            Self::PreconditionFailed => StatusCode::PRECONDITION_FAILED,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UrlTooLong => StatusCode::URI_TOO_LONG,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::CodeLocked => StatusCode::LOCKED,
            Self::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::UnknownMethod => StatusCode::NOT_IMPLEMENTED,
            Self::Http2NotAllowed => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Internal(_) | Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Returns the message for a client of the API: the fault and the remedy, without internal details. A visitor on
    /// the page reads a text of `islands/*/copy.json` instead.
    fn public_message(&self) -> String {
        match self {
            Self::MalformedBody(reason) => format!("Send JSON such as {EXAMPLE_BODY}: {reason}."),
            Self::InvalidHost => "Send exactly one valid Host header.".into(),
            Self::InvalidEmail(reason) => format!("Please enter a valid email address: {reason}."),
            Self::MalformedCode => format!("{}.", copy::islands::MALFORMED_CODE),
            Self::WrongCode => {
                "The code is wrong or not valid any more. Open the link in the message instead."
                    .into()
            }
            Self::CodeLocked => copy::islands::LOCKED_CODE.into(),
            Self::CrossSite => "Sign up on this site's own page, or send no Origin header.".into(),
            Self::NotFound => "Nothing was found at this path.".into(),
            Self::MethodNotAllowed => "Use one of the methods in the Allow header.".into(),
            Self::Timeout => "The request took too long to arrive. Send it again.".into(),
            Self::AlreadyListed => "Email already on waitlist.".into(),
            Self::PreconditionFailed => "Send no If-Match or If-None-Match header.".into(),
            Self::BodyTooLarge => format!("Send at most {BODY_MAX_BYTES} bytes."),
            Self::UrlTooLong => {
                format!("Use a URL of at most {URL_MAX_BYTES} bytes.")
            }
            Self::HeadersTooLarge => {
                format!(
                    "Send at most {HEADER_FIELDS_MAX} headers with at most {HEADERS_MAX_BYTES} bytes."
                )
            }
            Self::RateLimited(wait) => {
                let seconds = whole_seconds(*wait);
                let unit = if seconds == 1 { "second" } else { "seconds" };
                format!("Too many tries. Try again in {seconds} {unit}.")
            }
            Self::NotJson => format!("Send {EXAMPLE_BODY} with Content-Type: application/json."),
            Self::Unavailable(_) => "The waitlist can't be reached. Try again in a moment.".into(),
            Self::Overloaded => "Too many connections are open. Try again in a moment.".into(),
            Self::UnknownMethod => "Use GET, HEAD or POST.".into(),
            Self::Http2NotAllowed => {
                "Use HTTP/1.1. HTTP/2 is only for the proxies in --trusted-proxies.".into()
            }
            Self::Internal(_) | Self::Panicked => "Something went wrong on our side.".into(),
        }
    }

    /// Returns the value of `Retry-After`, in seconds.
    pub(super) fn retry_after(&self) -> Option<u64> {
        match self {
            Self::RateLimited(wait) => Some(whole_seconds(*wait)),
            Self::Unavailable(_) | Self::Overloaded => Some(RETRY_AFTER_SECONDS),
            _ => None,
        }
    }

    /// Logs the details that only the owner may see.
    pub(super) fn log(&self) {
        match self {
            Self::Unavailable(detail) => tracing::error!("the store failed: {detail}"),
            Self::Internal(detail) => tracing::error!("{detail}"),
            _ => {}
        }
    }
}

const EXAMPLE_BODY: &str = r#"{"email": "you@company.com"}"#;

/// Rounds up, so that a client that waits this long is not rejected again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

impl From<StoreError> for RequestError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<RequestError> for ErrorBody {
    fn from(error: RequestError) -> Self {
        Self {
            error: error.public_message(),
        }
    }
}

/// Required by leptos, for server functions called from Rust. The only client here is TypeScript.
impl From<ErrorBody> for RequestError {
    fn from(body: ErrorBody) -> Self {
        Self::Internal(body.error)
    }
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        self.log();
        let (status, retry_after) = (self.status(), self.retry_after());
        let response = (status, Json(ErrorBody::from(self))).into_response();
        with_no_store(response, retry_after)
    }
}

/// Adds `Cache-Control: no-store` and, if given, `Retry-After` in seconds.
pub(super) fn with_no_store(mut response: Response, retry_after: Option<u64>) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after {
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Required by leptos. [`super::api`] responds to errors, so neither an error of server_fn nor its encoding reaches a client.
impl FromServerFnError for RequestError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        Self::Internal(error.to_string())
    }
}
