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

use super::api::set_status;
use super::limits::{BODY_MAX_BYTES, RETRY_AFTER_SECONDS};
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
    /// 400: not an address.
    InvalidEmail(InvalidEmail),
    /// 404: no such path.
    NotFound,
    /// 405: a path of ours, but another method.
    MethodNotAllowed,
    /// 409: the address is on the list.
    AlreadyListed,
    /// 413: a body larger than [`BODY_MAX_BYTES`].
    TooLarge,
    /// 415: not JSON by content type.
    NotJson,
    /// 503: the store can't answer.
    Unavailable(StoreError),
    /// 500: a fault of ours.
    Internal(String),
}

impl ApiError {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::BadBody(_) | Self::InvalidEmail(_) => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::AlreadyListed => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the client is told: what is wrong with the request, nothing of our insides.
    fn public(&self) -> String {
        match self {
            Self::BadBody(why) => format!("Send JSON such as {EXAMPLE}: {why}."),
            Self::InvalidEmail(why) => format!("Please enter a valid email address: {why}."),
            Self::NotFound => "There is nothing at this address.".into(),
            Self::MethodNotAllowed => "This address takes the methods of the Allow header.".into(),
            Self::AlreadyListed => "Email already on waitlist.".into(),
            Self::TooLarge => format!("Send at most {BODY_MAX_BYTES} bytes."),
            Self::NotJson => format!("Send {EXAMPLE} with Content-Type: application/json."),
            Self::Unavailable(_) => "The waitlist can't be reached. Try again in a moment.".into(),
            Self::Internal(_) => "Something went wrong on our side.".into(),
        }
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
        dress((self.status(), Json(ErrorBody::from(self))).into_response())
    }
}

/// Adds the headers of every answer to a sign-up or a question for the count.
pub(super) fn dress(mut response: Response) -> Response {
    let unavailable = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if unavailable {
        headers.insert(header::RETRY_AFTER, RETRY_AFTER_SECONDS.into());
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
        set_status(self.status());
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}
