//! `/confirm`: confirming an address by the code that was sent to it.
//!
//! A code can be guessed, so each counts towards the five tries for an address and towards the limit of the client. The API
//! and the form without JavaScript share this.

use std::iter;

use axum::{
    extract::{Request, State},
    http::StatusCode,
    response::{Redirect, Response},
};
use serde::Deserialize;

use super::{
    RequestError,
    body::{read_arrived_form, read_form},
    confirmation::ConfirmOutcome,
    error::with_no_store,
    form::Forms,
    page_cache::render_with_form,
    people::People,
    preconditions::Preconditions,
    rate_limit::LimitedAction,
    store_deadline::within_deadline,
};
use crate::{
    copy::{self, islands},
    mail::CODE_LEN,
    page::{LinkPage, code_form, empty_form},
    waitlist::Email,
    wire::{FormOutcome, FormState, FormStep},
};

/// `GET /confirm`, which a browser sends when somebody opens the URL of the page after a wrong code: leads to the form
/// for the address, because the URL has none.
pub(super) async fn to_form() -> Redirect {
    Redirect::to("/#contact")
}

/// The fields of the form for the code.
#[derive(Deserialize)]
struct CodeForm {
    #[serde(default)]
    email: String,
    #[serde(default)]
    code: String,
}

/// `POST /confirm`: confirms by a code, without JavaScript. After a code that is not accepted, responds with the form
/// again.
pub(super) async fn confirm_by_form(State(forms): State<Forms>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers.clone();
    // The text above the field stays: the address of somebody who was listed may be confirmed already.
    let lead = match parts.uri.query() {
        Some("listed") => islands::CODE_ASKED,
        _ => islands::CODE_SENT,
    };
    let admitted = forms.admission.admit(LimitedAction::Code, &parts);
    if let Err(error) = admitted.and_then(|_| Preconditions::of(&headers).check(None)) {
        // The form needs the address again.
        let typed = read_arrived_form::<CodeForm>(parts, body).await;
        let email = typed.map(|form| form.email).unwrap_or_default();
        let cache = &forms.pages.cache;
        let page = cache.respond_with_failure(FormStep::Code, &email, error.status(), &headers);
        return with_no_store(page, error.retry_after());
    }
    let (error, form) = match read_form::<CodeForm>(&forms.shutdown, parts, body).await {
        Ok(CodeForm { email, code }) => {
            let Err(error) = confirm_by_code(&forms.people, &email, &code).await else {
                let page = LinkPage::Confirmed;
                return forms.pages.link_page(page, None, StatusCode::OK, &headers);
            };
            let form = FormState {
                lead: copy::fill_email(lead, &email),
                ..form_after(&error, &email, code)
            };
            (error, form)
        }
        // The address is unknown, so the form asks for it. Joining again leads to the code.
        Err(error) => {
            let form = FormState {
                outcome: FormOutcome::Failed,
                message: islands::CODE_FAILED.into(),
                ..empty_form()
            };
            (error, form)
        }
    };
    error.log();
    let page = render_with_form(forms.pages.current(), form).respond(error.status(), &headers);
    with_no_store(page, error.retry_after())
}

/// Returns the form after an error. The code stays in the field for correction.
fn form_after(error: &RequestError, email: &str, code: String) -> FormState {
    let (outcome, message) = match error {
        RequestError::MalformedCode if code.trim().is_empty() => {
            (FormOutcome::Invalid, islands::EMPTY_CODE)
        }
        RequestError::MalformedCode => (FormOutcome::Invalid, islands::MALFORMED_CODE),
        RequestError::WrongCode => (FormOutcome::Invalid, islands::WRONG_CODE),
        RequestError::CodeLocked => (FormOutcome::Invalid, islands::LOCKED_CODE),
        _ => (FormOutcome::Failed, islands::CODE_FAILED),
    };
    FormState {
        outcome,
        message: message.into(),
        code,
        ..code_form(email)
    }
}

/// Confirms an address by the code that was sent to it.
///
/// # Errors
/// [`RequestError::InvalidEmail`], [`RequestError::MalformedCode`], [`RequestError::WrongCode`],
/// [`RequestError::CodeLocked`], and [`RequestError::Unavailable`] if the store fails.
pub(super) async fn confirm_by_code(
    people: &People,
    email: &str,
    code: &str,
) -> Result<(), RequestError> {
    let confirmation = people.confirmation.as_ref();
    let confirmation = confirmation.ok_or(RequestError::NotFound)?;
    let email = Email::parse(email).map_err(RequestError::InvalidEmail)?;
    let code = read_code(code).ok_or(RequestError::MalformedCode)?;
    match within_deadline(confirmation.confirm_by_code(&email, &code)).await? {
        ConfirmOutcome::Confirmed => Ok(()),
        // Also if nobody with this address was asked: whoever types a code learns only that it does not count.
        ConfirmOutcome::Wrong => Err(RequestError::WrongCode),
        ConfirmOutcome::Locked => Err(RequestError::CodeLocked),
    }
}

/// Returns the first code in a text: people write `123 456` and `123-456`, paste the sentence around it, and type the
/// digits of their language. `islands/waitlist-form/typed.ts` has the same rule.
fn read_code(typed: &str) -> Option<String> {
    let text: String = typed.chars().map(to_ascii).collect();
    let is_inside = |c: char| c.is_whitespace() || matches!(c, '-' | '\u{2010}'..='\u{2015}');
    // Digits with spaces and hyphens between them: one number, or several.
    let groups = text.split(|c: char| !c.is_ascii_digit() && !is_inside(c));
    let mut numbers = groups.flat_map(|it| {
        let several = it.split(is_inside).map(str::to_owned);
        several.chain(iter::once(it.replace(is_inside, "")))
    });
    numbers.find(|it| it.len() == CODE_LEN)
}

/// Returns a decimal digit of any script as one of ASCII. Unicode has the digits of a script in a row, from zero to nine,
/// and the next script may follow. Other numbers, such as `½`, are in no code.
fn to_ascii(c: char) -> char {
    let before = (0..u32::from(c)).rev().map_while(char::from_u32);
    let before = before.take_while(|it| it.is_numeric()).count();
    match u32::try_from(before % 10) {
        Ok(digit) if c.is_numeric() => char::from_digit(digit, 10).unwrap_or(c),
        _ => c,
    }
}
