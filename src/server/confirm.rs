//! `/confirm` and `/confirm/{token}`: confirming an address, by the code or by the link of a message.
//!
//! A GET changes nothing, because mail programs and scanners open links. The page has one button, and a script that
//! presses it at the first sign of a person. The POST of that page needs no cross-site check: nobody can guess the
//! token. A code can be guessed, so it counts as a try, and against the limits per client.

use axum::{
    body::Body,
    extract::{FromRequest, Path, Request, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;

use super::{
    AppState, RequestError,
    api::read_body,
    confirmation::ConfirmOutcome,
    error::with_no_store,
    rate_limit::Attempt,
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, Resource},
    sign_up::admit,
    unsubscribe::respond_privately,
};
use crate::{
    copy,
    page::{ConfirmStep, Page, document},
    waitlist::{Email, StoreError},
};

/// The pages that are the same for everybody.
#[derive(Debug)]
pub(super) struct ConfirmPages {
    ask: Resource,
    done: Resource,
    not_listed: Resource,
    wrong: Resource,
    failed: Resource,
}

impl ConfirmPages {
    /// Renders the pages.
    pub(super) fn new(page: &Page) -> Self {
        let render = |step| {
            let html = document::confirm_page(page.clone(), step);
            let body = EncodedBody::compress(html, Compression::Balanced);
            Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body)
        };
        Self {
            ask: render(ConfirmStep::Ask),
            done: render(ConfirmStep::Done),
            not_listed: render(ConfirmStep::NotListed),
            wrong: render(ConfirmStep::WrongLink),
            failed: render(ConfirmStep::Failed),
        }
    }
}

/// `GET /confirm/{token}`: asks.
pub(super) async fn ask(
    State(state): State<AppState>,
    Path(token): Path<String>,
    headers: HeaderMap,
) -> Response {
    let pages = &state.confirm_pages;
    let person = match &state.confirmation {
        Some(confirmation) => confirmation.person(&token).await,
        None => Ok(None),
    };
    match person {
        Ok(Some(_)) => respond_privately(&pages.ask, StatusCode::OK, &headers),
        Ok(None) => respond_privately(&pages.wrong, StatusCode::NOT_FOUND, &headers),
        Err(error) => respond_with_failure(&state, error, &headers),
    }
}

/// `POST /confirm/{token}`: confirms.
pub(super) async fn confirm_by_link(
    State(state): State<AppState>,
    Path(token): Path<String>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    // It is read, so that the connection can be used again. Its content does not matter.
    let _ = read_body(&state, body).await;
    let outcome = match &state.confirmation {
        Some(confirmation) => confirmation.confirm_by_token(&token).await,
        None => Ok(ConfirmOutcome::Wrong),
    };
    match outcome {
        Ok(outcome) => respond_with(&state, outcome, &parts.headers),
        Err(error) => respond_with_failure(&state, error, &parts.headers),
    }
}

/// `GET /confirm`, which a browser sends when somebody loads the page after a wrong code again: leads to the form.
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
pub(super) async fn confirm_by_form(State(state): State<AppState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers = parts.headers.clone();
    let admitted = admit(&state, Attempt::Code, &parts);
    // Read before a client over its limit is rejected: the form needs the address again.
    let CodeForm { email, code } = match read_form(&state, parts, body).await {
        Ok(form) => form,
        Err(error) => return error.into_response(),
    };
    let confirmed = match admitted {
        Ok(()) => confirm_by_code(&state, &email, &code).await,
        Err(error) => Err(error),
    };
    match confirmed {
        Ok(()) => respond_with(&state, ConfirmOutcome::Confirmed, &headers),
        Err(error) => respond_with_code_form(&state, email, &error, &headers),
    }
}

fn respond_with_code_form(
    state: &AppState,
    email: String,
    error: &RequestError,
    request: &HeaderMap,
) -> Response {
    error.log();
    let problem = match error {
        RequestError::WrongCode => copy::islands::WRONG_CODE,
        _ => copy::islands::CODE_FAILED,
    };
    let step = ConfirmStep::CodeRejected { email, problem };
    let html = document::confirm_page(state.current_page(), step);
    let body = EncodedBody::compress(html, Compression::Fast);
    let page = Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body);
    let page = respond_privately(&page, error.status(), request);
    with_no_store(page, error.retry_after())
}

async fn read_form(state: &AppState, parts: Parts, body: Body) -> Result<CodeForm, RequestError> {
    let request = Request::from_parts(parts, read_body(state, body).await?.into());
    let form = axum::Form::<CodeForm>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| RequestError::MalformedBody(rejection.to_string()))
}

/// Confirms an address by the code that was sent to it.
///
/// # Errors
/// [`RequestError::InvalidEmail`], [`RequestError::WrongCode`], and [`RequestError::Unavailable`] if the store fails.
pub(super) async fn confirm_by_code(
    state: &AppState,
    email: &str,
    code: &str,
) -> Result<(), RequestError> {
    let confirmation = state.confirmation.as_ref();
    let confirmation = confirmation.ok_or(RequestError::NotFound)?;
    let email = Email::parse(email).map_err(RequestError::InvalidEmail)?;
    let outcome = confirmation.confirm_by_code(&email, code).await;
    match outcome.map_err(RequestError::Unavailable)? {
        ConfirmOutcome::Confirmed => {
            state.shown_count.note_confirmation();
            Ok(())
        }
        // One error, so that nobody can find out who is on the list.
        ConfirmOutcome::NotListed | ConfirmOutcome::Wrong => Err(RequestError::WrongCode),
    }
}

fn respond_with(state: &AppState, outcome: ConfirmOutcome, request: &HeaderMap) -> Response {
    let pages = &state.confirm_pages;
    match outcome {
        ConfirmOutcome::Confirmed => {
            state.shown_count.note_confirmation();
            respond_privately(&pages.done, StatusCode::OK, request)
        }
        ConfirmOutcome::NotListed => {
            respond_privately(&pages.not_listed, StatusCode::NOT_FOUND, request)
        }
        ConfirmOutcome::Wrong => respond_privately(&pages.wrong, StatusCode::NOT_FOUND, request),
    }
}

fn respond_with_failure(state: &AppState, error: StoreError, request: &HeaderMap) -> Response {
    tracing::error!("a person could not confirm the address: {error}");
    let error = RequestError::Unavailable(error);
    let page = respond_privately(&state.confirm_pages.failed, error.status(), request);
    with_no_store(page, error.retry_after())
}
