//! `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages.
//!
//! A GET changes nothing, because mail programs and scanners open links. It shows a page with one button. The button, or
//! the mail program itself (one-click, RFC 8058), sends a POST. The POST of a mail program has neither a cookie nor an
//! `Origin`, and its body does not matter. So a POST is exempt from the cross-site check. One that unsubscribes is exempt from
//! the limits per client too, because a provider sends those of many people; one that confirms counts like a code. A token
//! cannot be guessed, and each request looks up one person.

use std::convert::Infallible;

use axum::{
    extract::{FromRequestParts, Path, Request, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};

use super::{
    RequestError, body, error::with_no_store, form::Forms, pages::Pages, people::People,
    preconditions::Preconditions, rate_limit::LimitedAction, store_deadline::within_deadline,
};
use crate::{
    mail::TokenPurpose,
    page::{LinkPage, Recipient},
    waitlist::{Email, Erasure, StoreError, Waitlist},
};

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
    State(forms): State<Forms>,
    Token(token): Token,
    headers: HeaderMap,
) -> Response {
    let question = within_deadline(question(&forms.people, TokenPurpose::Confirm, &token)).await;
    respond(&forms.pages, question, LinkPage::ConfirmFailed, &headers)
}

/// `GET /unsubscribe/{token}`: asks, unless the person has left.
pub(super) async fn ask_to_unsubscribe(
    State(forms): State<Forms>,
    Token(token): Token,
    headers: HeaderMap,
) -> Response {
    let question =
        within_deadline(question(&forms.people, TokenPurpose::Unsubscribe, &token)).await;
    respond(
        &forms.pages,
        question,
        LinkPage::UnsubscribeFailed,
        &headers,
    )
}

/// Returns the page that asks, with its recipient, or the one that says why there is nothing to ask.
async fn question(
    people: &People,
    purpose: TokenPurpose,
    token: &str,
) -> Result<(LinkPage, Option<Recipient>), RequestError> {
    let Some(email) = find_person(people, purpose, token).await? else {
        let page = match purpose {
            TokenPurpose::Confirm => LinkPage::WrongConfirmLink,
            TokenPurpose::Unsubscribe => LinkPage::WrongUnsubscribeLink,
        };
        return Ok((page, None));
    };
    let (page, way_out) = match (purpose, people.list.person(&email).await?) {
        (TokenPurpose::Confirm, None) => return Ok((LinkPage::NotListed, None)),
        (TokenPurpose::Unsubscribe, None) => return Ok((LinkPage::Unsubscribed, None)),
        (TokenPurpose::Unsubscribe, Some(_)) => (LinkPage::Unsubscribe, "/".to_owned()),
        (TokenPurpose::Confirm, Some(entry)) => {
            let page = match entry.confirmed_at {
                Some(_) => LinkPage::AlreadyConfirmed,
                None => LinkPage::Confirm,
            };
            let tokens = people.key.tokens(TokenPurpose::Unsubscribe).await?;
            let token = tokens.token(&email).unwrap_or_default();
            (page, format!("/unsubscribe/{token}"))
        }
    };
    let address = email.masked();
    Ok((page, Some(Recipient { address, way_out })))
}

/// `POST /confirm/{token}`: confirms.
pub(super) async fn confirm(
    State(forms): State<Forms>,
    Token(token): Token,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    if let Err(error) = forms.admission.limit(LimitedAction::Code, &parts) {
        return respond_with_error(
            &forms.pages,
            LinkPage::ConfirmFailed,
            &error,
            &parts.headers,
        );
    }
    // It is read, so that the connection can be used again.
    let _ = body::read(&forms.shutdown, content).await;
    let confirmed = within_deadline(async {
        let person = find_person(&forms.people, TokenPurpose::Confirm, &token).await?;
        let Some((email, confirmation)) = person.zip(forms.people.confirmation.as_ref()) else {
            return Ok((LinkPage::WrongConfirmLink, None));
        };
        Preconditions::of(&parts.headers).check(None)?;
        confirmation.confirm(email).await?;
        let question = question(&forms.people, TokenPurpose::Confirm, &token).await;
        question.map(|(page, recipient)| match page {
            LinkPage::AlreadyConfirmed => (LinkPage::Confirmed, recipient),
            _ => (page, recipient),
        })
    });
    let confirmed = confirmed.await;
    respond(
        &forms.pages,
        confirmed,
        LinkPage::ConfirmFailed,
        &parts.headers,
    )
}

/// `POST /unsubscribe/{token}`: takes the person off the list.
pub(super) async fn unsubscribe(
    State(forms): State<Forms>,
    Token(token): Token,
    request: Request,
) -> Response {
    let (parts, content) = request.into_parts();
    // It is read, so that the connection can be used again. If it is too long or breaks off, the person leaves all the
    // same.
    let _ = body::read(&forms.shutdown, content).await;
    let left = within_deadline(async {
        let Some(email) = find_person(&forms.people, TokenPurpose::Unsubscribe, &token).await?
        else {
            return Ok((LinkPage::WrongUnsubscribeLink, None));
        };
        Preconditions::of(&parts.headers).check(None)?;
        leave(&*forms.people.list, email).await?;
        Ok((LinkPage::Unsubscribed, None))
    });
    let left = left.await;
    respond(
        &forms.pages,
        left,
        LinkPage::UnsubscribeFailed,
        &parts.headers,
    )
}

/// Returns the person that a link names. Nobody confirms while the site asks nobody.
async fn find_person(
    people: &People,
    purpose: TokenPurpose,
    token: &str,
) -> Result<Option<Email>, StoreError> {
    if purpose == TokenPurpose::Confirm && people.confirmation.is_none() {
        return Ok(None);
    }
    let tokens = people.key.tokens(purpose).await?;
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
    pages: &Pages,
    page: Result<(LinkPage, Option<Recipient>), RequestError>,
    failed: LinkPage,
    request: &HeaderMap,
) -> Response {
    let (page, recipient) = match page {
        Ok(found) => found,
        Err(error) => return respond_with_error(pages, failed, &error, request),
    };
    let status = match page.is_found() {
        true => StatusCode::OK,
        false => StatusCode::NOT_FOUND,
    };
    pages.link_page(page, recipient, status, request)
}

/// Responds with the page that offers another try.
fn respond_with_error(
    pages: &Pages,
    failed: LinkPage,
    error: &RequestError,
    request: &HeaderMap,
) -> Response {
    error.log();
    let response = pages.link_page(failed, None, error.status(), request);
    with_no_store(response, error.retry_after())
}
