//! The sign-up form without JavaScript, which the browser posts to `/`.

use std::sync::Arc;

use axum::{
    extract::{FromRef, Request, State},
    http::StatusCode,
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    AppState, RequestError,
    admission::Admission,
    body::{read_arrived_form, read_form},
    error::with_no_store,
    page_cache::{JOINED_PARAMETER, render_with_form},
    pages::Pages,
    people::{People, SignUp, Visitor},
    preconditions::Preconditions,
    rate_limit::LimitedAction,
    shutdown::Shutdown,
    source_parameter::SourceParameter,
};
use crate::{
    copy::{self, islands},
    page::{code_form, empty_form},
    waitlist::{Email, InvalidEmail},
    wire::{FormOutcome, FormState, FormStep, SignUpBody},
};

/// What a page with a form needs: that of a sign-up, of a code, or of a link.
#[derive(Clone)]
pub(super) struct Forms {
    pub(super) people: Arc<People>,
    pub(super) pages: Arc<Pages>,
    pub(super) admission: Arc<Admission>,
    pub(super) shutdown: Arc<Shutdown>,
}

impl FromRef<AppState> for Forms {
    fn from_ref(state: &AppState) -> Self {
        Self {
            people: FromRef::from_ref(state),
            pages: FromRef::from_ref(state),
            admission: FromRef::from_ref(state),
            shutdown: FromRef::from_ref(state),
        }
    }
}

/// `POST /`. After a success, redirects to a page that reports it. After a failure, responds with the landing page
/// and the reason in its form, with the same status as the API.
pub(super) async fn sign_up_by_form(State(forms): State<Forms>, request: Request) -> Response {
    let headers = request.headers().clone();
    let FormFailure { error, typed } = match process_form(&forms, request).await {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect, and a browser that
        // reloads the page sends the sign-up again. Then it gets the same page.
        Ok(FormSuccess { sign_up, .. }) if forms.pages.confirms => {
            let page = render_with_form(forms.pages.current(), code_form(&sign_up.email));
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
    // Rejections by the rate limit are the most frequent, so their page is rendered in advance.
    let response = if matches!(error, RequestError::RateLimited(_)) {
        let cache = &forms.pages.cache;
        cache.respond_with_failure(FormStep::Email, &typed.email, status, &headers)
    } else {
        let form = form_after(&error, typed, forms.pages.confirms);
        render_with_form(forms.pages.current(), form).respond(status, &headers)
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
    sign_up: SignUpBody,
    /// The source parameter of the page with the form.
    parameter: Option<SourceParameter>,
}

/// Why a form was rejected.
struct FormFailure {
    error: RequestError,
    /// The content of the fields; empty if the form could not be read.
    typed: SignUpBody,
}

/// Reads the form and signs its sender up.
async fn process_form(forms: &Forms, request: Request) -> Result<FormSuccess, FormFailure> {
    let (parts, body) = request.into_parts();
    let admitted = forms.admission.admit(LimitedAction::SignUp, &parts);
    let admitted = admitted.and_then(|client| {
        let etag = forms.pages.cache.etag(&parts.headers);
        Preconditions::of(&parts.headers).check(etag.as_ref())?;
        Ok(client)
    });
    let client = match admitted {
        Ok(client) => client,
        Err(error) => {
            let typed = read_arrived_form::<SignUpForm>(parts, body).await;
            let typed = typed.and_then(|form| form.sign_up).unwrap_or_default();
            return Err(FormFailure { error, typed });
        }
    };
    let parameter = SourceParameter::from_referer(&forms.admission, &parts);
    let form = read_form::<SignUpForm>(&forms.shutdown, parts, body).await;
    let SignUpForm { sign_up, topic } = form.map_err(|error| FormFailure {
        error,
        typed: SignUpBody::default(),
    })?;
    let sign_up = sign_up.unwrap_or_default();
    let signed_up = if topic.is_empty() {
        let source = parameter.as_ref().map(|it| it.source().clone());
        match forms
            .people
            .sign_up(&sign_up, Visitor { client, source })
            .await
        {
            Ok(SignUp {
                is_new, was_asked, ..
            }) if is_new || was_asked => Ok(()),
            Ok(_) => Err(RequestError::AlreadyListed),
            Err(error) => Err(error),
        }
    } else {
        // Only the log says that nothing was stored: a bot must not learn that it was recognised.
        tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
        let parsed = Email::parse(&sign_up.email).map(drop);
        parsed.map_err(RequestError::InvalidEmail)
    };
    match signed_up {
        Ok(()) => Ok(FormSuccess { sign_up, parameter }),
        Err(error) => Err(FormFailure {
            error,
            typed: sign_up,
        }),
    }
}

/// The fields of the form, as browsers send them.
#[derive(Deserialize)]
struct SignUpForm {
    /// `None` if a field is missing. The API has an error for that; a visitor is asked for the address.
    #[serde(flatten)]
    sign_up: Option<SignUpBody>,
    /// The honeypot (`islands/waitlist-form`). People can neither see nor focus it; bots fill in every field.
    /// The response to a bot looks like a success.
    #[serde(default)]
    topic: String,
}

/// Returns the form after an error (spec §8). What was typed stays in the fields for correction.
fn form_after(error: &RequestError, typed: SignUpBody, confirms: bool) -> FormState {
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
            lead: copy::fill_email(islands::CODE_ASKED, &typed.email),
            ..code_form(&typed.email)
        },
        _ => FormState {
            sign_up: typed,
            ..empty_form()
        },
    };
    FormState {
        outcome,
        message: message.into(),
        ..form
    }
}
