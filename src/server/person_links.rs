//! `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages.
//!
//! A GET changes nothing, because mail programs and scanners open links. It shows a page with one button. The button, or
//! the mail program itself (one-click, RFC 8058), sends a POST. The POST of a mail program has neither a cookie nor an
//! `Origin`, and its body does not matter. So a POST is exempt from the cross-site check. One that unsubscribes is exempt from
//! the limits per client too, because a provider sends those of many people; one that confirms counts like a code. A token
//! cannot be guessed, and each request looks up one person.

use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{Mutex, PoisonError},
};

use axum::{
    extract::{FromRequestParts, Path, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};

use super::{
    AppState, RequestError, body,
    error::with_no_store,
    preconditions::Preconditions,
    rate_limit::LimitedAction,
    resource::{Compression, EncodedBody, HTML_CONTENT_TYPE, NO_STORE, Resource},
    sign_up::limit,
    store_deadline::within_deadline,
};
use crate::{
    mail::TokenPurpose,
    page::{LinkPage, Recipient, document},
    waitlist::{Email, Erasure, StoreError, Waitlist},
};

/// The pages that are the same for everybody, rendered at the first request. A flood of links must not render them.
#[derive(Default)]
pub(super) struct LinkPages(Mutex<HashMap<LinkPage, Resource>>);

/// The token of a link. A mail program may have damaged the link so that its path is not UTF-8: that is a wrong token too.
pub(super) struct Token(String);

impl<S: Send + Sync> FromRequestParts<S> for Token {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let token = Path::<String>::from_request_parts(parts, state).await;
        Ok(Self(token.map(|Path(token)| token).unwrap_or_default()))
    }
}

/// `GET /confirm/{token}`: asks, unless there is nothing to confirm.
pub(super) async fn ask_to_confirm(
    State(state): State<AppState>,
    Token(token): Token,
    headers: HeaderMap,
) -> Response {
    let question = within_deadline(question(&state, TokenPurpose::Confirm, &token)).await;
    respond(&state, question, LinkPage::ConfirmFailed, &headers)
}

/// `GET /unsubscribe/{token}`: asks, unless the person has left.
pub(super) async fn ask_to_unsubscribe(
    State(state): State<AppState>,
    Token(token): Token,
    headers: HeaderMap,
) -> Response {
    let question = within_deadline(question(&state, TokenPurpose::Unsubscribe, &token)).await;
    respond(&state, question, LinkPage::UnsubscribeFailed, &headers)
}

/// Returns the page that asks, with its recipient, or the one that says why there is nothing to ask.
async fn question(
    state: &AppState,
    purpose: TokenPurpose,
    token: &str,
) -> Result<(LinkPage, Option<Recipient>), RequestError> {
    let Some(email) = find_person(state, purpose, token).await? else {
        let page = match purpose {
            TokenPurpose::Confirm => LinkPage::WrongConfirmLink,
            TokenPurpose::Unsubscribe => LinkPage::WrongUnsubscribeLink,
        };
        return Ok((page, None));
    };
    let (page, way_out) = match (purpose, state.list.person(&email).await?) {
        (TokenPurpose::Confirm, None) => return Ok((LinkPage::NotListed, None)),
        (TokenPurpose::Unsubscribe, None) => return Ok((LinkPage::Unsubscribed, None)),
        (TokenPurpose::Unsubscribe, Some(_)) => (LinkPage::Unsubscribe, "/".to_owned()),
        (TokenPurpose::Confirm, Some(entry)) => {
            let page = match entry.confirmed_at {
                Some(_) => LinkPage::Confirmed,
                None => LinkPage::Confirm,
            };
            let tokens = state.list_key.tokens(TokenPurpose::Unsubscribe).await?;
            let token = tokens.token(&email).unwrap_or_default();
            (page, format!("/unsubscribe/{token}"))
        }
    };
    let address = email.masked();
    Ok((page, Some(Recipient { address, way_out })))
}

/// `POST /confirm/{token}`: confirms.
pub(super) async fn confirm(
    State(state): State<AppState>,
    Token(token): Token,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    if let Err(error) = limit(&state, LimitedAction::Code, &parts) {
        return respond_with_error(&state, LinkPage::ConfirmFailed, &error, &parts.headers);
    }
    // It is read, so that the connection can be used again.
    let _ = body::read(&state.shutdown, content).await;
    let confirmed = within_deadline(async {
        let person = find_person(&state, TokenPurpose::Confirm, &token).await?;
        let Some((email, confirmation)) = person.zip(state.confirmation.as_ref()) else {
            return Ok((LinkPage::WrongConfirmLink, None));
        };
        Preconditions::of(&parts.headers).check(None)?;
        confirmation.confirm(email).await?;
        question(&state, TokenPurpose::Confirm, &token).await
    });
    let confirmed = confirmed.await;
    respond(&state, confirmed, LinkPage::ConfirmFailed, &parts.headers)
}

/// `POST /unsubscribe/{token}`: takes the person off the list.
pub(super) async fn unsubscribe(
    State(state): State<AppState>,
    Token(token): Token,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    // It is read, so that the connection can be used again. If it is too long or breaks off, the person leaves all the
    // same.
    let _ = body::read(&state.shutdown, content).await;
    let left = within_deadline(async {
        let Some(email) = find_person(&state, TokenPurpose::Unsubscribe, &token).await? else {
            return Ok((LinkPage::WrongUnsubscribeLink, None));
        };
        Preconditions::of(&parts.headers).check(None)?;
        leave(&*state.list, email).await?;
        Ok((LinkPage::Unsubscribed, None))
    });
    let left = left.await;
    respond(&state, left, LinkPage::UnsubscribeFailed, &parts.headers)
}

/// Returns the person that a link names. Nobody confirms while the site asks nobody.
async fn find_person(
    state: &AppState,
    purpose: TokenPurpose,
    token: &str,
) -> Result<Option<Email>, StoreError> {
    if purpose == TokenPurpose::Confirm && state.confirmation.is_none() {
        return Ok(None);
    }
    let tokens = state.list_key.tokens(purpose).await?;
    Ok(tokens.person(token))
}

/// Erases a person and suppresses the address, unless that was done before.
async fn leave(list: &dyn Waitlist, email: Email) -> Result<(), StoreError> {
    let emails = [email];
    let is_listed = list.are_listed(&emails).await? == [true];
    if is_listed || !list.is_suppressed(&emails[0]).await? {
        list.erase(&emails, Erasure::Suppress).await?;
    }
    Ok(())
}

/// Responds with a page, or with `failed` after an error.
fn respond(
    state: &AppState,
    page: Result<(LinkPage, Option<Recipient>), RequestError>,
    failed: LinkPage,
    request: &HeaderMap,
) -> Response {
    let (page, recipient) = match page {
        Ok(found) => found,
        Err(error) => return respond_with_error(state, failed, &error, request),
    };
    let status = match page.is_found() {
        true => StatusCode::OK,
        false => StatusCode::NOT_FOUND,
    };
    if recipient.is_none() {
        return respond_with_link_page(state, page, status, request);
    }
    let page = render(state, page, recipient, Compression::Fast);
    with_private_headers(page.respond(status, request))
}

/// Responds with the page that offers another try.
fn respond_with_error(
    state: &AppState,
    failed: LinkPage,
    error: &RequestError,
    request: &HeaderMap,
) -> Response {
    error.log();
    let response = respond_with_link_page(state, failed, error.status(), request);
    with_no_store(response, error.retry_after())
}

/// Responds with a page that is the same for everybody.
pub(super) fn respond_with_link_page(
    state: &AppState,
    page: LinkPage,
    status: StatusCode,
    request: &HeaderMap,
) -> Response {
    let pages = &state.link_pages.0;
    let mut pages = pages.lock().unwrap_or_else(PoisonError::into_inner);
    let resource = pages
        .entry(page)
        .or_insert_with(|| render(state, page, None, Compression::Balanced));
    with_private_headers(resource.respond(status, request))
}

fn render(
    state: &AppState,
    page: LinkPage,
    recipient: Option<Recipient>,
    compression: Compression,
) -> Resource {
    let html = document::link_page(state.current_page(), page, recipient);
    let body = EncodedBody::compress(html, compression);
    Resource::new(&HTML_CONTENT_TYPE, NO_STORE, body)
}

/// Adds the headers of a page whose URL names a person.
fn with_private_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    let name = HeaderName::from_static("x-robots-tag");
    headers.insert(name, HeaderValue::from_static("noindex"));
    response
}
