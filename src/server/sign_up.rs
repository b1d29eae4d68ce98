//! The one sign-up behind both doors, the API and the form that posts itself, and who may come to them.

use std::{net::SocketAddr, time::SystemTime};

use axum::{
    extract::ConnectInfo,
    http::{header, request::Parts},
};

use super::{ApiError, AppState};
use crate::waitlist::{Email, Entry, Joined, Waitlist};

/// Lets a sign-up in, before its body is read.
///
/// # Errors
/// [`ApiError::CrossSite`] and [`ApiError::TooMany`].
pub(super) fn admit(state: &AppState, request: &Parts) -> Result<(), ApiError> {
    if is_cross_site(state, request) {
        return Err(ApiError::CrossSite);
    }
    let ConnectInfo(peer) = request
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .ok_or_else(|| ApiError::Internal("a request without a connection".into()))?;
    let is_proxied = |name: &str| request.headers.contains_key(name);
    if !state.proxies.trust(peer.ip())
        && (is_proxied("x-forwarded-for") || is_proxied("forwarded"))
        && state.unknown_proxy.is_due()
    {
        tracing::warn!(
            "sign-ups come through a proxy that is not trusted, so all its visitors count as one \
             client: name it with --trusted-proxies"
        );
    }
    let client = state.proxies.client(peer.ip(), &request.headers);
    state
        .sign_up_limit
        .take(client.into())
        .map_err(ApiError::TooMany)
}

/// Whether a page of another site had its visitor's browser send this. Browsers say so in
/// `Sec-Fetch-Site`, which no page can forge; those that do not know it, and all of them over plain
/// HTTP, at least say whose page it is in `Origin`. What is no browser says neither, and has no visitor
/// to speak for. A proxy may have changed `Host`, so `--origin` counts too.
fn is_cross_site(state: &AppState, request: &Parts) -> bool {
    let headers = &request.headers;
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        // Whatever the origin is, the browser knows that it is ours.
        Some(b"same-origin") => return false,
        // Nobody's page: the visitor's own doing.
        Some(b"none") | None => {}
        Some(_) => return true,
    }
    let Some(origin) = headers.get(header::ORIGIN) else {
        return false;
    };
    let origin = origin.as_bytes();
    let host = match request.uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => headers
            .get(header::HOST)
            .map_or(&b""[..], |host| host.as_bytes()),
    };
    let is_host = [&b"https://"[..], b"http://"].iter().any(|scheme| {
        let its_host = origin.strip_prefix(*scheme);
        its_host.is_some_and(|its_host| !host.is_empty() && its_host.eq_ignore_ascii_case(host))
    });
    !is_host && origin != state.site.origin.as_bytes()
}

/// Puts what was typed on the list and returns the address as it is kept.
///
/// # Errors
/// [`ApiError`]: not an address, on the list already, or the store can't answer.
pub async fn sign_up(list: &dyn Waitlist, typed: &str) -> Result<Email, ApiError> {
    let email = Email::parse(typed).map_err(ApiError::InvalidEmail)?;
    let entry = Entry {
        email: email.clone(),
        joined_at: SystemTime::now(),
    };
    match list.join(entry).await {
        Ok(Joined::New) => Ok(email),
        Ok(Joined::AlreadyListed) => Err(ApiError::AlreadyListed),
        Err(error) => Err(ApiError::Unavailable(error)),
    }
}
