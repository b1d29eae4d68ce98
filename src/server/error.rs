//! Every error that the server responds with: its status, `Retry-After`, public message and log line.

use std::time::Duration;

use axum::{
    Json,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use leptos::{
    prelude::*,
    server_fn::{codec::JsonEncoding, error::ServerFnErrorErr},
};
use serde::{Deserialize, Serialize};

use super::{
    limits::{BODY_MAX_BYTES, RETRY_AFTER_SECONDS},
    resource::Resource,
};
use crate::{
    copy::islands::waitlist_form,
    waitlist::{InvalidEmail, StoreError},
    wire::ErrorBody,
};

/// Why a request failed. The text of an error is the message for a client of the API: the fault and the remedy, without
/// internal details. A visitor on the page reads a text of `islands/*/copy.json` instead.
#[derive(Clone, Debug, Deserialize, Serialize, thiserror::Error)]
#[serde(from = "ErrorBody", into = "ErrorBody")]
pub enum RequestError {
    /// 400: the body is not the expected JSON or form; the reason.
    #[error("Send the expected JSON: {0}.")]
    MalformedBody(String),
    /// 400: the request does not name exactly one valid host.
    #[error("Send exactly one valid Host header.")]
    InvalidHost,
    /// 400: the address is invalid.
    #[error("Please enter a valid email address: {0}.")]
    InvalidEmail(InvalidEmail),
    /// 400: the text does not contain one code.
    #[error("{}.", waitlist_form::MALFORMED_CODE)]
    MalformedCode,
    /// 400: the code is wrong, or nobody was asked to confirm this address.
    #[error("The code is wrong or not valid any more. Open the link in the message instead.")]
    WrongCode,
    /// 403: a page of another site sent the request.
    #[error("Sign up on this site's own page, or send neither Origin nor Sec-Fetch-Site.")]
    CrossSite,
    /// 404: unknown path.
    #[error("Nothing was found at this path.")]
    NotFound,
    /// 405: known path, but not with this method.
    #[error("Use one of the methods in the Allow header.")]
    MethodNotAllowed,
    /// 408: the request did not arrive in time.
    #[error("The request took too long to arrive. Send it again.")]
    Timeout,
    /// 409: the address is already on the list.
    #[error("Email already on waitlist.")]
    AlreadyListed,
    /// 412: a precondition such as `If-None-Match: *` does not hold.
    #[error("Send no If-Match or If-None-Match header.")]
    PreconditionFailed,
    /// 413: the body is larger than [`BODY_MAX_BYTES`].
    #[error("Send at most {BODY_MAX_BYTES} bytes.")]
    BodyTooLarge,
    /// 415: the content type is not JSON, or not that of a form.
    #[error("Send JSON, with Content-Type: application/json.")]
    NotJson,
    /// 423: there were too many wrong codes for this address.
    #[error("{}", waitlist_form::LOCKED_CODE)]
    CodeLocked,
    /// 429: the client has tried too often; how long it must wait.
    #[error("Too many tries. Try again in {}.", seconds(*.0))]
    RateLimited(Duration),
    /// 503: the store failed.
    #[error("The waitlist can't be reached. Try again in a moment.")]
    Unavailable(#[from] StoreError),
    /// 503: the connection got no place, or was too slow while others waited for its place.
    #[error("Too many connections are open. Try again in a moment.")]
    Overloaded,
    /// 501: no resource has this method.
    #[error("Use GET, HEAD or POST.")]
    UnknownMethod,
    /// 505: HTTP/2 from a client that is not a trusted proxy.
    #[error("Use HTTP/1.1. HTTP/2 is only for the proxies in --trusted-proxies.")]
    Http2NotAllowed,
    /// 500: a fault of the server; the details for the log.
    #[error("{FAULT}")]
    Internal(String),
    /// 500: a handler panicked. The panic hook has logged it.
    #[error("{FAULT}")]
    Panicked,
}

const FAULT: &str = "Something went wrong on our side.";

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
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::CodeLocked => StatusCode::LOCKED,
            Self::RateLimited(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable(_) | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::UnknownMethod => StatusCode::NOT_IMPLEMENTED,
            Self::Http2NotAllowed => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
            Self::Internal(_) | Self::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Responds with a page for a visitor without JavaScript, instead of JSON.
    pub(super) fn respond_with_page(&self, page: &Resource, request: &HeaderMap) -> Response {
        self.complete(page.respond(self.status(), request))
    }

    /// Logs the details that only the owner may see, and says when the client can try again. Every response to a
    /// `RequestError` passes here.
    fn complete(&self, mut response: Response) -> Response {
        match self {
            Self::Unavailable(detail) => tracing::error!("the store failed: {detail}"),
            Self::Internal(detail) => tracing::error!("{detail}"),
            _ => {}
        }
        let retry_after = match self {
            Self::RateLimited(wait) => Some(whole_seconds(*wait)),
            Self::Unavailable(_) | Self::Overloaded => Some(RETRY_AFTER_SECONDS),
            _ => None,
        };
        if let Some(seconds) = retry_after {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Rounds up, so that a client that waits this long is not rejected again.
fn whole_seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn seconds(wait: Duration) -> String {
    match whole_seconds(wait) {
        1 => "1 second".into(),
        seconds => format!("{seconds} seconds"),
    }
}

impl From<RequestError> for ErrorBody {
    fn from(error: RequestError) -> Self {
        Self {
            error: error.to_string(),
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
        let body = Json(ErrorBody::from(self.clone()));
        self.complete((self.status(), body).into_response())
    }
}

/// What server_fn needs of the error of a server function. [`super::api`] responds to errors, so the encoding is not used.
impl FromServerFnError for RequestError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        Self::Internal(error.to_string())
    }
}
