//! The forms without JavaScript: browsers post a sign-up to `/`, and the code that confirms an address to `/confirm`.
//!
//! They call the same server functions as the API. A failure is the landing page with the reason in its form, and with the status
//! that the API has.

use std::sync::Arc;

use axum::{
    Form,
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    RequestError,
    admission::Admitted,
    functions::{Confirm, Join, confirm, join, with_context},
    pages::{JOINED_PARAMETER, Pages},
    people::People,
    person_links::recipient,
};
use crate::{
    copy::{self, islands},
    mail::TokenPurpose,
    page::{LinkPage, code_form, empty_form},
    waitlist::{Email, InvalidEmail},
    wire::{ConfirmBody, FormOutcome, FormState, SignUpBody},
};

/// The fields of the form for an address, as browsers send them.
#[derive(Deserialize)]
pub(super) struct SignUpForm {
    #[serde(default)]
    email: String,
    /// The honeypot (`islands/waitlist-form`). People can neither see nor focus it; bots fill in every field.
    /// The response to a bot looks like a success.
    #[serde(default)]
    topic: String,
}

/// `POST /`. After a success, redirects to a page that reports it.
pub(super) async fn sign_up(
    State(people): State<Arc<People>>,
    State(pages): State<Arc<Pages>>,
    headers: HeaderMap,
    form: Result<Admitted<Join, Form<SignUpForm>>, RequestError>,
) -> Response {
    let Admitted(visitor, Form(SignUpForm { email, topic }), _) = match form {
        Ok(form) => form,
        Err(error) => return sign_up_failed(&pages, &headers, SignUpBody::default(), &error),
    };
    let fields = SignUpBody { email };
    let signed_up = match visitor {
        Ok(visitor) if topic.is_empty() => {
            let joined = with_context(people, Some(visitor), join(fields.clone()));
            joined.await.map(drop)
        }
        Ok(_) => {
            // Only the log says that nothing was stored: a bot must not learn that it was recognised.
            tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
            let parsed = Email::parse(&fields.email).map(drop);
            parsed.map_err(RequestError::InvalidEmail)
        }
        Err(error) => Err(error),
    };
    match signed_up {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect, and a browser that
        // reloads the page sends the sign-up again. Then it gets the same page.
        Ok(()) | Err(RequestError::AlreadyListed { was_asked: true }) if pages.confirms => {
            let page = pages.with_form(code_form(&fields.email));
            page.respond(StatusCode::OK, &headers)
        }
        // Reloading that page does not send the form again.
        Ok(()) => Redirect::to(&format!("/?{JOINED_PARAMETER}#waitlist")).into_response(),
        // Joining again sends another code.
        Err(error @ RequestError::AlreadyListed { .. }) if pages.confirms => {
            let form = listed_code_form(&fields.email);
            respond_with_form(&pages, &headers, form, &error, islands::FAILED)
        }
        Err(error) => sign_up_failed(&pages, &headers, fields, &error),
    }
}

/// `GET /confirm`, which a browser sends when somebody opens the URL of the page after a wrong code: leads to the form
/// for the address, because the URL has none.
pub(super) async fn to_form() -> Redirect {
    Redirect::to("/#contact")
}

/// `POST /confirm`. After a code that is not accepted, responds with the form again.
pub(super) async fn confirm_code(
    State(people): State<Arc<People>>,
    State(pages): State<Arc<Pages>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    form: Result<Admitted<Confirm, Form<ConfirmBody>>, RequestError>,
) -> Response {
    let Admitted(visitor, Form(fields), _) = match form {
        Ok(form) => form,
        // The address is unknown, so the form asks for it. Joining again leads to the code.
        Err(error) => {
            return respond_with_form(&pages, &headers, empty_form(), &error, islands::CODE_FAILED);
        }
    };
    let confirmed = match visitor {
        Ok(visitor) => {
            let confirming = confirm(fields.clone());
            with_context(Arc::clone(&people), Some(visitor), confirming).await
        }
        Err(error) => Err(error),
    };
    match confirmed {
        Ok(_) => {
            // The page also says that the address is confirmed if the list cannot be asked for the rest.
            let recipient = match Email::parse(&fields.email) {
                Ok(email) => recipient(&people, TokenPurpose::Confirm, &email).await.ok(),
                Err(_) => None,
            };
            let page = pages.link_page(LinkPage::Confirmed, recipient);
            page.respond(StatusCode::OK, &headers)
        }
        Err(error) => {
            // The text above the field stays: the address of somebody who was listed may be confirmed already.
            let form = match query.as_deref() {
                Some("listed") => listed_code_form(&fields.email),
                _ => code_form(&fields.email),
            };
            let form = FormState {
                // It stays in the field for correction.
                code: fields.code,
                ..form
            };
            respond_with_form(&pages, &headers, form, &error, islands::CODE_FAILED)
        }
    }
}

/// Returns the form for the code of somebody who may be confirmed already.
fn listed_code_form(email: &str) -> FormState {
    FormState {
        lead: copy::fill_email(islands::CODE_ASKED, email),
        ..code_form(email)
    }
}

/// Responds to the error of a sign-up. The typed text stays in the field for correction.
pub(super) fn sign_up_failed(
    pages: &Pages,
    request: &HeaderMap,
    sign_up: SignUpBody,
    error: &RequestError,
) -> Response {
    let form = FormState {
        sign_up,
        ..empty_form()
    };
    respond_with_form(pages, request, form, error, islands::FAILED)
}

/// Responds to an error with the landing page, whose form shows it. `other` is the text for errors that are not about what was
/// typed.
fn respond_with_form(
    pages: &Pages,
    request: &HeaderMap,
    form: FormState,
    error: &RequestError,
    other: &'static str,
) -> Response {
    let (outcome, message) = error.form_result(&form.code, other);
    let page = pages.with_form(FormState {
        outcome,
        message: message.into(),
        ..form
    });
    error.respond_with_page(&page, request)
}

impl RequestError {
    /// Returns what the form shows after an error (spec §8). `code` is what was typed as one, and `other` the text for errors that
    /// are not about what was typed.
    fn form_result(&self, code: &str, other: &'static str) -> (FormOutcome, &'static str) {
        let message = match self {
            Self::AlreadyListed { .. } => return (FormOutcome::Failed, islands::ALREADY_LISTED),
            Self::InvalidEmail(InvalidEmail::Empty) => islands::EMPTY_EMAIL,
            Self::InvalidEmail(_) => islands::INVALID_EMAIL,
            Self::MalformedCode if code.trim().is_empty() => islands::EMPTY_CODE,
            Self::MalformedCode => islands::MALFORMED_CODE,
            Self::WrongCode => islands::WRONG_CODE,
            Self::CodeLocked => islands::LOCKED_CODE,
            _ => return (FormOutcome::Failed, other),
        };
        (FormOutcome::Invalid, message)
    }
}
