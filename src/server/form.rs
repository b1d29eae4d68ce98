//! The sign-up form without JavaScript, which the browser posts to `/`.

use axum::{
    extract::{FromRequest, Request, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    AppState, RequestError,
    api::read_body,
    error::with_no_store,
    page_cache::{JOINED_PARAMETER, render_with_reply},
    rate_limit::Attempt,
    sign_up::{admit, sign_up},
    source_parameter::SourceParameter,
};
use crate::{
    copy::reply,
    page::FormResult,
    waitlist::{Email, InvalidEmail},
    wire::FormOutcome,
};

/// `POST /`. After a success, redirects to a page that reports it. After a failure, responds with the landing page
/// and the reason in its form, with the same status as the API.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let FormFailure { error, typed } = match process_form(&state, request).await {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect.
        Ok(FormSuccess { email, .. }) if state.confirmation.is_some() => {
            let reply = FormResult {
                code_for: Some(email),
                ..FormResult::success()
            };
            let page = render_with_reply(state.current_page(), reply);
            return with_no_store(page.respond(StatusCode::OK, &headers), None);
        }
        Ok(FormSuccess { parameter, .. }) => {
            let redirect = Redirect::to(&joined_url(parameter.as_ref()));
            return with_no_store(redirect.into_response(), None);
        }
        Err(failure) => failure,
    };
    error.log();
    let (status, retry_after) = (error.status(), error.retry_after());
    let mut reply = error_reply(&error, typed);
    if state.confirmation.is_some() && matches!(error, RequestError::AlreadyListed) {
        reply.code_for = Some(reply.email.clone());
    }
    // Rejections by the rate limit are the most frequent, so their page is rendered in advance.
    let response = if reply.text == reply::FAILED && reply.email.is_empty() {
        state.page_cache.respond_with_failure(status, &headers)
    } else {
        render_with_reply(state.current_page(), reply).respond(status, &headers)
    };
    with_no_store(response, retry_after)
}

/// Returns where a success redirects to. Reloading that page does not send the form again. It keeps the source of the
/// visitor, for another sign-up.
fn joined_url(parameter: Option<&SourceParameter>) -> String {
    let parameter = parameter.map_or_else(String::new, |it| format!("&{it}"));
    format!("/?{JOINED_PARAMETER}{parameter}#waitlist")
}

/// A form that was accepted.
struct FormSuccess {
    /// The address, as typed.
    email: String,
    /// The source parameter of the page with the form.
    parameter: Option<SourceParameter>,
}

/// Why a form was rejected.
struct FormFailure {
    error: RequestError,
    /// The content of the address field; empty if the form could not be read.
    typed: String,
}

/// Reads the form and signs its sender up.
async fn process_form(state: &AppState, request: Request) -> Result<FormSuccess, FormFailure> {
    let (parameter, SignUpForm { email, topic }) =
        read_form(state, request)
            .await
            .map_err(|error| FormFailure {
                error,
                typed: String::new(),
            })?;
    let signed_up = if topic.is_empty() {
        let source = parameter.as_ref().map(SourceParameter::source);
        sign_up(state, &email, source.cloned()).await
    } else {
        // Only the log says that nothing was stored: a bot must not learn that it was recognised.
        tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
        Email::parse(&email).map_err(RequestError::InvalidEmail)
    };
    match signed_up {
        Ok(_) => Ok(FormSuccess { email, parameter }),
        Err(error) => Err(FormFailure {
            error,
            typed: email,
        }),
    }
}

async fn read_form(
    state: &AppState,
    request: Request,
) -> Result<(Option<SourceParameter>, SignUpForm), RequestError> {
    let (parts, body) = request.into_parts();
    admit(state, Attempt::SignUp, &parts)?;
    let parameter = SourceParameter::from_referer(state, &parts);
    let request = Request::from_parts(parts, read_body(state, body).await?.into());
    let form = axum::Form::<SignUpForm>::from_request(request, &()).await;
    form.map(|axum::Form(form)| (parameter, form))
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
