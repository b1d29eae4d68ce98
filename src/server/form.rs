//! The sign-up form without JavaScript, which the browser posts to `/`.

use axum::{
    extract::{FromRequest, Request, State},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    AppState, RequestError,
    api::read_body,
    error::with_no_store,
    page_cache::render_with_reply,
    sign_up::{admit, sign_up},
};
use crate::{
    copy::reply,
    page::FormResult,
    waitlist::{Email, InvalidEmail},
    wire::FormOutcome,
};

/// Where a success redirects to. Reloading that page does not send the form again.
const JOINED_URL: &str = "/?joined#waitlist";

/// `POST /`. After a success, redirects to a page that reports it. After a failure, responds with the landing page
/// and the reason in its form, with the same status as the API.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let FormFailure { error, typed } = match process_form(&state, request).await {
        Ok(()) => return with_no_store(Redirect::to(JOINED_URL).into_response(), None),
        Err(failure) => failure,
    };
    error.log();
    let (status, retry_after) = (error.status(), error.retry_after());
    let reply = error_reply(&error, typed);
    // Rejections by the rate limit are the most frequent, so their page is rendered in advance.
    let response = if reply.text == reply::FAILED && reply.email.is_empty() {
        state.page_cache.respond_with_failure(status, &headers)
    } else {
        render_with_reply(state.current_page(), reply).respond(status, &headers)
    };
    with_no_store(response, retry_after)
}

/// Why a form was rejected.
struct FormFailure {
    error: RequestError,
    /// The content of the address field; empty if the form could not be read.
    typed: String,
}

/// Reads the form and signs its sender up.
async fn process_form(state: &AppState, request: Request) -> Result<(), FormFailure> {
    let SignUpForm { email, topic } =
        read_form(state, request)
            .await
            .map_err(|error| FormFailure {
                error,
                typed: String::new(),
            })?;
    let signed_up = if topic.is_empty() {
        sign_up(&*state.list, &email).await
    } else {
        // Only the log says that nothing was stored: a bot must not learn that it was recognised.
        tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
        Email::parse(&email).map_err(RequestError::InvalidEmail)
    };
    signed_up.map(drop).map_err(|error| FormFailure {
        error,
        typed: email,
    })
}

async fn read_form(state: &AppState, request: Request) -> Result<SignUpForm, RequestError> {
    let (parts, body) = request.into_parts();
    admit(state, &parts)?;
    let request = Request::from_parts(parts, read_body(state, body).await?.into());
    let form = axum::Form::<SignUpForm>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| RequestError::MalformedBody(rejection.to_string()))
}

/// The fields of the form, as browsers send them.
#[derive(Deserialize)]
struct SignUpForm {
    #[serde(default)]
    email: String,
    /// The honeypot (`islands/waitlist-form`). People can neither see nor focus it; bots fill in every field.
    /// The response to a bot looks like a success.
    #[serde(default)]
    topic: String,
}

/// Returns the page's message for an error (spec §8). `email` stays in the field for correction.
fn error_reply(error: &RequestError, email: String) -> FormResult {
    let (outcome, text) = match error {
        RequestError::AlreadyListed => (FormOutcome::Failed, reply::ALREADY_LISTED),
        RequestError::InvalidEmail(InvalidEmail::Empty) => {
            (FormOutcome::Invalid, reply::EMPTY_EMAIL)
        }
        RequestError::MalformedBody(_) | RequestError::InvalidEmail(_) => {
            (FormOutcome::Invalid, reply::INVALID_EMAIL)
        }
        _ => (FormOutcome::Failed, reply::FAILED),
    };
    FormResult::failure(outcome, text, email)
}
