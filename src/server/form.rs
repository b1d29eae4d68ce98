//! The sign-up form without JavaScript: the browser posts it to `/`.

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
    page::FormReply,
    waitlist::{Email, InvalidEmail},
    wire::FormOutcome,
};

/// Where the browser goes after a success. A reload there does not send the form again.
const JOINED_URL: &str = "/?joined#waitlist";

/// `POST /`: the form posting itself, without JavaScript. A success leads to a page that says so. The
/// answer to a failure is the page, saying what happened, with the same status as the API's.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let (error, email) = match process_form(&state, request).await {
        Ok(()) => return with_no_store(Redirect::to(JOINED_URL).into_response(), None),
        Err(failure) => failure,
    };
    error.log();
    let (status, retry_after) = (error.status(), error.retry_after());
    let reply = error_reply(&error, email);
    let response = if reply.text == reply::FAILED && reply.email.is_empty() {
        state.page_cache.respond_with_failure(status, &headers)
    } else {
        render_with_reply(state.current_page(), reply).respond(status, &headers)
    };
    with_no_store(response, retry_after)
}

/// Signs up who has sent the form. An error comes with what was typed, as far as that was read.
async fn process_form(state: &AppState, request: Request) -> Result<(), (RequestError, String)> {
    let SignUpForm { email, topic } = read_form(state, request)
        .await
        .map_err(|error| (error, String::new()))?;
    let signed_up = if topic.is_empty() {
        sign_up(&*state.list, &email).await
    } else {
        tracing::info!("a sign-up was taken for a program's and not kept: it filled in `topic`");
        Email::parse(&email).map_err(RequestError::InvalidEmail)
    };
    signed_up.map(drop).map_err(|error| (error, email))
}

async fn read_form(state: &AppState, request: Request) -> Result<SignUpForm, RequestError> {
    let (parts, body) = request.into_parts();
    admit(state, &parts)?;
    let request = Request::from_parts(parts, read_body(body).await?.into());
    let form = axum::Form::<SignUpForm>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| RequestError::MalformedBody(rejection.to_string()))
}

/// The form's fields, as browsers send them.
#[derive(Deserialize)]
struct SignUpForm {
    #[serde(default)]
    email: String,
    /// People neither see it nor come to it (`islands/waitlist-form`). What fills in every field of a
    /// form is no person: it is told that it has joined.
    #[serde(default)]
    topic: String,
}

/// Spec §8's catalogue, for a page. `email`: what was typed, to be put right.
fn error_reply(error: &RequestError, email: String) -> FormReply {
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
    FormReply::failure(outcome, text, email)
}
