//! `/confirm/{token}` and `/unsubscribe/{token}`: the links in messages.
//!
//! A GET changes nothing, because mail programs and scanners open links. It shows a page with one button. The button, or
//! the mail program itself (one-click, RFC 8058), sends a POST. The POST of a mail program has neither a cookie nor an
//! `Origin`, and its body does not matter. So a POST is exempt from the cross-site check. One that unsubscribes a person is
//! exempt from the limits per client too, because a provider sends those of many people: a token cannot be guessed, and is for
//! one address. One that confirms counts like a code.

use std::sync::Arc;

use axum::{
    extract::{Path, Request, State, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, Method, StatusCode, request::Parts},
    response::Response,
    routing::{MethodRouter, get},
};
use tokio::time::Instant;

use super::{
    AppState, RequestError,
    admission::Admission,
    pages::Pages,
    people::{People, within_deadline},
    preconditions::Preconditions,
    rate_limit::LimitedAction,
};
use crate::{
    mail::TokenPurpose,
    page::{LinkPage, Recipient},
    waitlist::{Email, Erasure, StoreError, WaitlistEntry},
};

/// The page that a link leads to. One that names a person has a recipient.
type Outcome = Result<(LinkPage, Option<Recipient>), RequestError>;

/// The token of a link. A mail program may have damaged the link so that its path is not UTF-8: that is a wrong token too.
type Token = Result<Path<String>, PathRejection>;

/// Returns the handlers of the links for a purpose.
pub(super) fn route(purpose: TokenPurpose) -> MethodRouter<AppState> {
    let handle = async move |State(people): State<Arc<People>>,
                             State(pages): State<Arc<Pages>>,
                             State(admission): State<Arc<Admission>>,
                             token: Token,
                             request: Request| {
        let token = token.map(|Path(token)| token).unwrap_or_default();
        // The body of a POST does not matter, and is not read.
        let (parts, _) = request.into_parts();
        let headers = parts.headers.clone();
        let requested_at = Instant::now();
        let outcome = within_deadline(async move {
            if parts.method != Method::POST {
                return find_page(&people, purpose, &token, requested_at).await;
            }
            act(&people, &admission, purpose, &token, &parts, requested_at).await
        });
        respond(&pages, purpose, outcome.await, &headers)
    };
    get(handle).post(handle)
}

/// Returns the page that asks a person, or the one that says why there is nothing to ask.
async fn find_page(
    people: &People,
    purpose: TokenPurpose,
    token: &str,
    requested_at: Instant,
) -> Outcome {
    let Some((email, sign_up)) = find_person(people, purpose, token).await? else {
        return Ok((LinkPage::WrongLink, None));
    };
    let page = match (purpose, sign_up) {
        (TokenPurpose::Confirm, None) => return Ok((LinkPage::NotListed, None)),
        (TokenPurpose::Unsubscribe, None) => return Ok((LinkPage::Unsubscribed, None)),
        (TokenPurpose::Unsubscribe, Some(_)) => LinkPage::Unsubscribe,
        (TokenPurpose::Confirm, Some(entry)) => match entry.confirmed_at {
            Some(_) => LinkPage::AlreadyConfirmed,
            None => LinkPage::Confirm,
        },
    };
    let recipient = recipient(people, page, &email, requested_at).await?;
    Ok((page, Some(recipient)))
}

/// Returns the person of a page: with the other way out, to leave or to stay, and with the invitation of a person who has
/// confirmed.
pub(super) async fn recipient(
    people: &People,
    page: LinkPage,
    email: &Email,
    requested_at: Instant,
) -> Result<Recipient, StoreError> {
    let way_out = match page {
        LinkPage::Unsubscribe => "/".to_owned(),
        _ => {
            let tokens = people.key.tokens(TokenPurpose::Unsubscribe).await?;
            format!("/unsubscribe/{}", tokens.token(email))
        }
    };
    let invitation = match page {
        LinkPage::Confirmed | LinkPage::AlreadyConfirmed => {
            people.invitation(email, requested_at).await
        }
        _ => None,
    };
    Ok(Recipient {
        address: email.masked(),
        way_out,
        invitation,
    })
}

/// Confirms the address of a person, or takes the person off the list.
async fn act(
    people: &People,
    admission: &Admission,
    purpose: TokenPurpose,
    token: &str,
    request: &Parts,
    requested_at: Instant,
) -> Outcome {
    let Some((email, sign_up)) = find_person(people, purpose, token).await? else {
        return Ok((LinkPage::WrongLink, None));
    };
    if purpose == TokenPurpose::Confirm {
        admission.limit(LimitedAction::Code, request)?;
    }
    Preconditions::of(&request.headers).check(None)?;
    let confirmation = people.confirmation.as_ref();
    let Some(confirmation) = confirmation.filter(|_| purpose == TokenPurpose::Confirm) else {
        if sign_up.is_some() || !people.list.is_suppressed(&email).await? {
            people.list.erase(&[email], Erasure::Suppress).await?;
        }
        return Ok((LinkPage::Unsubscribed, None));
    };
    if let Some(sign_up) = sign_up
        && confirmation.confirm(sign_up).await?
    {
        let page = LinkPage::Confirmed;
        let recipient = recipient(people, page, &email, requested_at).await?;
        return Ok((page, Some(recipient)));
    }
    Ok((LinkPage::NotListed, None))
}

/// Returns the person that a link names, with the sign-up if the person is on the list. Nobody confirms while the site asks
/// nobody, or by a link for an earlier sign-up.
async fn find_person(
    people: &People,
    purpose: TokenPurpose,
    token: &str,
) -> Result<Option<(Email, Option<WaitlistEntry>)>, StoreError> {
    if purpose == TokenPurpose::Confirm && people.confirmation.is_none() {
        return Ok(None);
    }
    let Some(person) = people.key.tokens(purpose).await?.person(token) else {
        return Ok(None);
    };
    let sign_up = people.list.person(&person.email).await?;
    let is_later = |sign_up: &WaitlistEntry| !person.is_for(sign_up.joined_at);
    if purpose == TokenPurpose::Confirm && sign_up.as_ref().is_some_and(is_later) {
        return Ok(None);
    }
    Ok(Some((person.email, sign_up)))
}

/// Responds with a page, or after an error with the one that offers another try.
fn respond(
    pages: &Pages,
    purpose: TokenPurpose,
    outcome: Outcome,
    request: &HeaderMap,
) -> Response {
    let mut response = match outcome {
        Ok((page, recipient)) => {
            let status = match page.is_found() {
                true => StatusCode::OK,
                false => StatusCode::NOT_FOUND,
            };
            pages.link_page(page, recipient).respond(status, request)
        }
        Err(error) => {
            let page = match purpose {
                TokenPurpose::Confirm => LinkPage::ConfirmFailed,
                TokenPurpose::Unsubscribe => LinkPage::UnsubscribeFailed,
            };
            error.respond_with_page(&pages.link_page(page, None), request)
        }
    };
    // The URL names a person.
    let headers = response.headers_mut();
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex"));
    response
}
