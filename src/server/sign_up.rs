//! The one sign-up behind both doors, the API and the form that posts itself, and who may come to them.

use std::{net::SocketAddr, time::SystemTime};

use axum::{
    extract::ConnectInfo,
    http::{header, request::Parts},
};

use super::{AppState, RequestError};
use crate::waitlist::{Email, JoinOutcome, Waitlist, WaitlistEntry};

/// Lets a sign-up in, before its body is read.
///
/// # Errors
/// [`RequestError::CrossSite`] and [`RequestError::RateLimited`].
pub(super) fn admit(state: &AppState, request: &Parts) -> Result<(), RequestError> {
    if is_cross_site(state, request) {
        return Err(RequestError::CrossSite);
    }
    let ConnectInfo(peer) = request
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .ok_or_else(|| RequestError::Internal("a request without a connection".into()))?;
    let has_header = |name: &str| request.headers.contains_key(name);
    if !state.proxies.contains(peer.ip())
        && (has_header("x-forwarded-for") || has_header("forwarded"))
        && state.untrusted_proxy_warning.try_acquire()
    {
        tracing::warn!(
            "sign-ups come through a proxy that is not trusted, so all its visitors count as one \
             client: name it with --trusted-proxies"
        );
    }
    let address = state.proxies.client_address(peer.ip(), &request.headers);
    state
        .sign_up_rate_limit
        .take_token(address.into())
        .map_err(RequestError::RateLimited)
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
    let is_own_host = [&b"https://"[..], b"http://"].iter().any(|scheme| {
        let origin_host = origin.strip_prefix(*scheme);
        origin_host
            .is_some_and(|origin_host| !host.is_empty() && origin_host.eq_ignore_ascii_case(host))
    });
    !is_own_host && origin != state.site.origin.as_bytes()
}

/// Puts what was typed on the list and returns the address as it is kept.
///
/// # Errors
/// [`RequestError`]: not an address, on the list already, or the store can't answer.
pub async fn sign_up(list: &dyn Waitlist, typed: &str) -> Result<Email, RequestError> {
    let email = Email::parse(typed).map_err(RequestError::InvalidEmail)?;
    let entry = WaitlistEntry {
        email: email.clone(),
        joined_at: SystemTime::now(),
    };
    match list.join(entry).await {
        Ok(JoinOutcome::New) => Ok(email),
        Ok(JoinOutcome::AlreadyListed) => Err(RequestError::AlreadyListed),
        Err(error) => Err(RequestError::Unavailable(error)),
    }
}
