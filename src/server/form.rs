//! The forms without JavaScript: browsers post a sign-up to `/`, and the code that confirms an address to `/confirm`.
//!
//! A failure is the landing page with the reason in its form, and with the same status as that of the API. A request that is
//! rejected before its fields are known, such as by the rate limit, gets a page that was rendered in advance.

use std::sync::Arc;

use axum::{
    Form,
    extract::{FromRef, Request, State},
    http::{HeaderValue, StatusCode},
    response::{IntoResponse, Redirect, Response},
};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    AppState, RequestError,
    admission::Admission,
    body,
    error::with_no_store,
    pages::{JOINED_PARAMETER, Pages},
    people::{People, Visitor},
    preconditions::Preconditions,
    rate_limit::LimitedAction,
};
use crate::{
    copy::{self, islands},
    page::{LinkPage, code_form, empty_form},
    waitlist::{Email, InvalidEmail},
    wire::{ConfirmBody, FormOutcome, FormState, SignUpBody},
};

/// What a page with a form needs: that of a sign-up, of a code, or of a link.
#[derive(Clone)]
pub(super) struct Forms {
    pub(super) people: Arc<People>,
    pub(super) pages: Arc<Pages>,
    pub(super) admission: Arc<Admission>,
}

impl FromRef<AppState> for Forms {
    fn from_ref(state: &AppState) -> Self {
        Self {
            people: FromRef::from_ref(state),
            pages: FromRef::from_ref(state),
            admission: FromRef::from_ref(state),
        }
    }
}

impl Forms {
    /// Checks whether a visitor may attempt something, and reads the form. `etag` is that of the page at its URL.
    async fn read<F: DeserializeOwned>(
        &self,
        action: LimitedAction,
        etag: Option<&HeaderValue>,
        request: Request,
    ) -> Result<(Visitor, F), RequestError> {
        let (parts, body) = request.into_parts();
        let visitor = self.admission.admit(action, &parts)?;
        Preconditions::of(&parts.headers).check(etag)?;
        let request = Request::from_parts(parts, body);
        let Form(form) = body::read(&self.admission.shutdown, request).await?;
        Ok((visitor, form))
    }
}

/// The fields of the form for an address, as browsers send them.
#[derive(Deserialize)]
struct SignUpForm {
    #[serde(default)]
    email: String,
    /// The honeypot (`islands/waitlist-form`). People can neither see nor focus it; bots fill in every field.
    /// The response to a bot looks like a success.
    #[serde(default)]
    topic: String,
}

/// `POST /`. After a success, redirects to a page that reports it.
pub(super) async fn sign_up(State(forms): State<Forms>, request: Request) -> Response {
    let (headers, pages) = (request.headers().clone(), &forms.pages);
    let etag = pages.landing_etag(&headers);
    let form = forms.read::<SignUpForm>(LimitedAction::SignUp, etag.as_ref(), request);
    let (visitor, SignUpForm { email, topic }) = match form.await {
        Ok(form) => form,
        Err(error) => return error.respond_with_page(&pages.landing().failed, &headers),
    };
    let fields = SignUpBody { email };
    let signed_up = if topic.is_empty() {
        sign_up_visitor(&forms.people, &fields, visitor).await
    } else {
        // Only the log says that nothing was stored: a bot must not learn that it was recognised.
        tracing::info!("ignored a sign-up by a bot: it filled in the hidden field `topic`");
        let parsed = Email::parse(&fields.email).map(drop);
        parsed.map_err(RequestError::InvalidEmail)
    };
    match signed_up {
        // The form for the code needs the address, which must not be in a URL. So there is no redirect, and a browser that
        // reloads the page sends the sign-up again. Then it gets the same page.
        Ok(()) if pages.confirms => {
            let page = pages.with_form(code_form(&fields.email));
            page.respond(StatusCode::OK, &headers)
        }
        // Reloading that page does not send the form again.
        Ok(()) => {
            let redirect = Redirect::to(&format!("/?{JOINED_PARAMETER}#waitlist"));
            with_no_store(redirect.into_response(), None)
        }
        Err(error) => {
            let (outcome, message) = error.form_result("", islands::FAILED);
            let form = match error {
                // Joining again sends another code.
                RequestError::AlreadyListed if pages.confirms => FormState {
                    lead: copy::fill_email(islands::CODE_ASKED, &fields.email),
                    ..code_form(&fields.email)
                },
                // The typed text stays in the field for correction.
                _ => FormState {
                    sign_up: fields,
                    ..empty_form()
                },
            };
            let page = pages.with_form(FormState {
                outcome,
                message: message.into(),
                ..form
            });
            error.respond_with_page(&page, &headers)
        }
    }
}

async fn sign_up_visitor(
    people: &People,
    fields: &SignUpBody,
    visitor: Visitor,
) -> Result<(), RequestError> {
    let sign_up = people.sign_up(fields, visitor).await?;
    match sign_up.is_new || sign_up.was_asked {
        true => Ok(()),
        false => Err(RequestError::AlreadyListed),
    }
}

/// `GET /confirm`, which a browser sends when somebody opens the URL of the page after a wrong code: leads to the form
/// for the address, because the URL has none.
pub(super) async fn to_form() -> Redirect {
    Redirect::to("/#contact")
}

/// `POST /confirm`. After a code that is not accepted, responds with the form again.
pub(super) async fn confirm(State(forms): State<Forms>, request: Request) -> Response {
    let (headers, pages) = (request.headers().clone(), &forms.pages);
    // The text above the field stays: the address of somebody who was listed may be confirmed already.
    let lead = match request.uri().query() {
        Some("listed") => islands::CODE_ASKED,
        _ => islands::CODE_SENT,
    };
    let form = forms.read::<ConfirmBody>(LimitedAction::Code, None, request);
    let ConfirmBody { email, code } = match form.await {
        Ok((_, form)) => form,
        // The address is unknown, so the form asks for it. Joining again leads to the code.
        Err(error) => return error.respond_with_page(&pages.landing().code_failed, &headers),
    };
    let Err(error) = forms.people.confirm_by_code(&email, &code).await else {
        let page = pages.link_page(LinkPage::Confirmed, None);
        return page.respond(StatusCode::OK, &headers);
    };
    let (outcome, message) = error.form_result(&code, islands::CODE_FAILED);
    let page = pages.with_form(FormState {
        lead: copy::fill_email(lead, &email),
        outcome,
        message: message.into(),
        // It stays in the field for correction.
        code,
        ..code_form(&email)
    });
    error.respond_with_page(&page, &headers)
}

impl RequestError {
    /// Returns what the form shows after an error (spec §8). `code` is what was typed as one, and `other` the text for errors that
    /// are not about what was typed.
    fn form_result(&self, code: &str, other: &'static str) -> (FormOutcome, &'static str) {
        let message = match self {
            Self::AlreadyListed => return (FormOutcome::Failed, islands::ALREADY_LISTED),
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
