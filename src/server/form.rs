//! The forms without JavaScript: browsers post a sign-up to `/`, and the code that confirms an address to `/confirm`.
//!
//! They call the same methods of [`People`] as the server functions. A failure is the landing page with the reason in its
//! form, and with the status that the API has.

use std::sync::Arc;

use axum::{
    Form,
    extract::{RawQuery, State},
    http::{HeaderMap, Method, Request, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use tokio::time::Instant;

use super::{
    RequestError,
    admission::Admitted,
    pages::{JOINED_PARAMETER, Pages, SAME_URL, SIGN_UP_URL},
    people::People,
    person_links::recipient,
    rate_limit::{Limited, LimitedAction},
};
use crate::{
    copy::{self, islands::waitlist_form},
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

impl Limited for Form<SignUpForm> {
    const ACTION: LimitedAction = LimitedAction::SignUp;
    const IS_SENT_TO_PAGE: bool = true;
}

impl Limited for Form<ConfirmBody> {
    const ACTION: LimitedAction = LimitedAction::Code;
}

/// `POST /`. After a success, redirects to a page that reports it.
pub(super) async fn sign_up(
    State(people): State<Arc<People>>,
    State(pages): State<Arc<Pages>>,
    headers: HeaderMap,
    form: Result<Admitted<Form<SignUpForm>>, RequestError>,
) -> Response {
    let (visitor, Form(SignUpForm { email, topic })) = match form {
        Ok(Admitted { visitor, sent }) => (visitor, sent),
        Err(error) => return sign_up_failed(&pages, &headers, String::new(), &error),
    };
    let signed_up = if topic.is_empty() {
        people.sign_up(&email, visitor).await
    } else {
        // Only the log says that nothing was stored: a bot must not learn that it was recognised.
        tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
        Email::parse(&email).map_err(RequestError::InvalidEmail)
    };
    match signed_up {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect, and a browser that
        // reloads the page sends the sign-up again.
        Ok(_) if pages.confirms => {
            let page = pages.with_form(code_form(&email), "/confirm#waitlist");
            page.respond(StatusCode::OK, &headers)
        }
        // Reloading that page does not send the form again.
        Ok(_) => Redirect::to(&format!("/?{JOINED_PARAMETER}#waitlist")).into_response(),
        // Nothing is wrong: somebody comes back to enter the code.
        Err(error @ RequestError::AlreadyListed) if pages.confirms => {
            let page = pages.with_form(listed_code_form(&email), "/confirm?listed#waitlist");
            error.respond_with_page(&page, &headers)
        }
        Err(error) => sign_up_failed(&pages, &headers, email, &error),
    }
}

/// `GET /confirm`, which a browser sends when somebody opens the URL of the page after a wrong code: leads to the form
/// for the address, because the URL has none.
pub(super) async fn redirect_to_form() -> Redirect {
    Redirect::to("/#contact")
}

/// `POST /confirm`. After a code that is not accepted, responds with the form again.
pub(super) async fn confirm_code(
    State(people): State<Arc<People>>,
    State(pages): State<Arc<Pages>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    form: Result<Admitted<Form<ConfirmBody>>, RequestError>,
) -> Response {
    let (form, action, error) = match form {
        // The address is unknown, so the form asks for it. Joining again leads to the code.
        Err(error) => (empty_form(), SIGN_UP_URL, error),
        Ok(Admitted {
            sent: Form(fields), ..
        }) => {
            let requested_at = Instant::now();
            let error = match people.confirm_by_code(&fields.email, &fields.code).await {
                Ok(email) => {
                    // Without the rest, the page still says that the address is confirmed.
                    let recipient =
                        recipient(&people, LinkPage::Confirmed, &email, requested_at).await;
                    let page = pages.link_page(LinkPage::Confirmed, recipient.ok());
                    return page.respond(StatusCode::OK, &headers);
                }
                Err(error) => error,
            };
            // The text above the field stays: the address of somebody who was listed may be confirmed already.
            let form = match query.as_deref() {
                Some("listed") => listed_code_form(&fields.email),
                _ => code_form(&fields.email),
            };
            // It stays in the field for correction.
            let code = fields.code;
            (FormState { code, ..form }, SAME_URL, error)
        }
    };
    let form = form_after(&error, form, waitlist_form::CODE_FAILED);
    error.respond_with_page(&pages.with_form(form, action), &headers)
}

/// Returns the form for the code of somebody who may be confirmed already.
fn listed_code_form(email: &str) -> FormState {
    FormState {
        lead: copy::fill_email(waitlist_form::CODE_ASKED, email),
        ..code_form(email)
    }
}

/// Returns whether a request is a form that a browser has sent without JavaScript: its client reads HTML, and it is not for
/// the API.
pub(super) fn is_form<B>(request: &Request<B>) -> bool {
    let accept = request.headers().get(header::ACCEPT);
    let accept = accept.and_then(|it| it.to_str().ok());
    let is_api = request.uri().path().starts_with("/api/");
    request.method() == Method::POST && !is_api && accept.is_some_and(|it| it.contains("text/html"))
}

/// Responds to an error outside of the handlers. The body of the request is lost, so the form on the page asks for the address.
pub(super) fn respond_unhandled(pages: &Pages, is_form: bool, error: RequestError) -> Response {
    if !is_form {
        return error.into_response();
    }
    let form = form_after(&error, empty_form(), waitlist_form::FAILED);
    error.respond_with_page(&pages.with_form(form, SIGN_UP_URL), &HeaderMap::new())
}

/// Responds to the error of a sign-up. The typed text stays in the field for correction.
fn sign_up_failed(
    pages: &Pages,
    request: &HeaderMap,
    email: String,
    error: &RequestError,
) -> Response {
    let form = FormState {
        sign_up: SignUpBody { email },
        ..empty_form()
    };
    let form = form_after(error, form, waitlist_form::FAILED);
    error.respond_with_page(&pages.with_form(form, SAME_URL), request)
}

/// Returns a form that shows an error (spec §8). `other` is the text for errors that are not about what was typed.
fn form_after(error: &RequestError, form: FormState, other: &'static str) -> FormState {
    let (outcome, message) = match error {
        RequestError::AlreadyListed => (FormOutcome::Failed, waitlist_form::ALREADY_LISTED),
        RequestError::InvalidEmail(InvalidEmail::Empty) => {
            (FormOutcome::Invalid, waitlist_form::EMPTY_EMAIL)
        }
        RequestError::InvalidEmail(_) => (FormOutcome::Invalid, waitlist_form::INVALID_EMAIL),
        RequestError::MalformedCode if form.code.trim().is_empty() => {
            (FormOutcome::Invalid, waitlist_form::EMPTY_CODE)
        }
        RequestError::MalformedCode => (FormOutcome::Invalid, waitlist_form::MALFORMED_CODE),
        RequestError::WrongCode => (FormOutcome::Invalid, waitlist_form::WRONG_CODE),
        RequestError::CodeLocked => (FormOutcome::Invalid, waitlist_form::LOCKED_CODE),
        _ => (FormOutcome::Failed, other),
    };
    FormState {
        outcome,
        message: message.into(),
        ..form
    }
}
