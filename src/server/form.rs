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
    page_cache::{JOINED_PARAMETER, render_with_form},
    rate_limit::Attempt,
    sign_up::{admit, sign_up},
    source_parameter::SourceParameter,
};
use crate::{
    copy::{self, islands},
    page::{code_form, empty_form},
    waitlist::{Email, InvalidEmail},
    wire::{FormOutcome, FormState},
};

/// `POST /`. After a success, redirects to a page that reports it. After a failure, responds with the landing page
/// and the reason in its form, with the same status as the API.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let FormFailure { error, typed } = match process_form(&state, request).await {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect.
        Ok(FormSuccess { email, .. }) if state.confirmation.is_some() => {
            let page = render_with_form(state.current_page(), code_form(&email));
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
    let is_limited = matches!(error, RequestError::RateLimited(_));
    // Rejections by the rate limit are the most frequent, so their page is rendered in advance.
    let response = if is_limited {
        state.page_cache.respond_with_failure(status, &headers)
    } else {
        let form = form_after(&error, &typed, state.confirmation.is_some());
        render_with_form(state.current_page(), form).respond(status, &headers)
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

/// Returns the form after an error (spec §8). The address stays in the field for correction.
fn form_after(error: &RequestError, email: &str, confirms: bool) -> FormState {
    let (outcome, message) = match error {
        RequestError::AlreadyListed => (FormOutcome::Failed, islands::ALREADY_LISTED),
        RequestError::InvalidEmail(InvalidEmail::Empty) => {
            (FormOutcome::Invalid, islands::EMPTY_EMAIL)
        }
        RequestError::MalformedBody(_) | RequestError::InvalidEmail(_) => {
            (FormOutcome::Invalid, islands::INVALID_EMAIL)
        }
        _ => (FormOutcome::Failed, islands::FAILED),
    };
    let form = match error {
        // Joining again sends another code.
        RequestError::AlreadyListed if confirms => FormState {
            lead: copy::fill_email(islands::CODE_ASKED, email),
            ..code_form(email)
        },
        _ => FormState {
            email: email.into(),
            ..empty_form()
        },
    };
    FormState {
        outcome,
        message: message.into(),
        ..form
    }
}
