//! Signing up: the checks before it, and joining the list. The API and the form without JavaScript share it.

use std::{net::SocketAddr, time::SystemTime};

use axum::{
    extract::ConnectInfo,
    http::{header, request::Parts},
};

use super::{
    AppState, ClientKey, RequestError, confirmation::Promise, rate_limit::LimitedAction,
    store_deadline::within_deadline,
};
use crate::waitlist::{Email, JoinOutcome, Source, StoreError, WaitlistEntry};

/// Who signs up.
#[derive(Clone)]
pub(super) struct Visitor {
    pub(super) client: ClientKey,
    /// Where the visitor comes from.
    pub(super) source: Option<Source>,
}

/// The outcome of a sign-up.
pub(super) struct SignUp {
    /// The address, as parsed.
    pub(super) email: Email,
    /// Whether the address was not on the list before.
    pub(super) is_new: bool,
    /// Whether an earlier sign-up has asked the person for the code, less than an hour ago.
    pub(super) was_asked: bool,
}

/// Checks whether a client may attempt something, and returns it. Runs before the body is read.
///
/// # Errors
/// [`RequestError::CrossSite`] and [`RequestError::RateLimited`].
pub(super) fn admit(
    state: &AppState,
    action: LimitedAction,
    request: &Parts,
) -> Result<ClientKey, RequestError> {
    if is_cross_site(state, request) {
        return Err(RequestError::CrossSite);
    }
    limit(state, action, request)
}

/// Checks whether a client has attempted something too often, and returns the client.
///
/// # Errors
/// [`RequestError::RateLimited`].
pub(super) fn limit(
    state: &AppState,
    action: LimitedAction,
    request: &Parts,
) -> Result<ClientKey, RequestError> {
    let ConnectInfo(peer) = request
        .extensions
        .get::<ConnectInfo<SocketAddr>>()
        .ok_or_else(|| RequestError::Internal("a request has no peer address".into()))?;
    let has_header = |name: &str| request.headers.contains_key(name);
    if !state.proxies.contains(peer.ip())
        && (has_header("x-forwarded-for") || has_header("forwarded"))
        && state.untrusted_proxy_warning.try_acquire()
    {
        tracing::warn!(
            "sign-ups arrive through an untrusted proxy, so all its visitors share one rate limit; \
             add the proxy to --trusted-proxies"
        );
    }
    let client = state.proxies.client_address(peer.ip(), &request.headers);
    let client = client.into();
    let counted = state.rate_limits.count(action, client);
    counted.map_err(RequestError::RateLimited)?;
    Ok(client)
}

/// Returns whether a page of another site made the visitor's browser send this request.
///
/// Browsers report that in `Sec-Fetch-Site`, which a page cannot forge. Old browsers, and all browsers over plain
/// HTTP, omit that header but send the page's `Origin`. Other programs send neither, and act for no visitor. A
/// proxy may have changed `Host`, so the origin may also be that of `--origin`.
fn is_cross_site(state: &AppState, request: &Parts) -> bool {
    let headers = &request.headers;
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        // The browser has already compared the origins.
        Some(b"same-origin") => return false,
        // Not caused by a page, but by the visitor.
        Some(b"none") | None => {}
        Some(_) => return true,
    }
    headers
        .get(header::ORIGIN)
        .is_some_and(|origin| !is_own_origin(state, request, origin.as_bytes()))
}

/// Returns whether an origin, such as `https://steward.example`, is that of this site: of the host that the request
/// names, or of `--origin`.
pub(super) fn is_own_origin(state: &AppState, request: &Parts, origin: &[u8]) -> bool {
    let host = match request.uri.authority() {
        Some(authority) => authority.as_str().as_bytes(),
        None => request
            .headers
            .get(header::HOST)
            .map_or(&b""[..], |host| host.as_bytes()),
    };
    let is_own_host = [&b"https://"[..], b"http://"].iter().any(|scheme| {
        let origin_host = origin.strip_prefix(*scheme);
        origin_host
            .is_some_and(|origin_host| !host.is_empty() && origin_host.eq_ignore_ascii_case(host))
    });
    is_own_host || origin == state.files.site().origin.as_bytes()
}

/// Adds an address to the list. If people are to confirm their address, asks for that, also if the address was on the list
/// before. The list says durably that the site must ask, before this returns.
///
/// # Errors
/// [`RequestError::InvalidEmail`], and [`RequestError::Unavailable`] if the store fails.
pub(super) async fn sign_up(
    state: &AppState,
    typed: &str,
    Visitor { client, source }: Visitor,
) -> Result<SignUp, RequestError> {
    let email = Email::parse(typed).map_err(RequestError::InvalidEmail)?;
    let now = SystemTime::now();
    let entry = WaitlistEntry {
        source,
        asked_at: state.confirmation.as_ref().map(|_| now),
        ..WaitlistEntry::new(email.clone(), now)
    };
    let (is_new, promise) = within_deadline(join(state, entry)).await?;
    if let (Some(confirmation), Promise::Renewed) = (&state.confirmation, promise) {
        confirmation.ask(&email, client);
    }
    let was_asked = promise == Promise::Recent;
    Ok(SignUp {
        email,
        is_new,
        was_asked,
    })
}

/// Adds an entry to the list. Returns whether it is new, and what the site has promised the person.
async fn join(state: &AppState, entry: WaitlistEntry) -> Result<(bool, Promise), StoreError> {
    loop {
        let is_new = state.list.join(entry.clone()).await? == JoinOutcome::New;
        let promise = match &state.confirmation {
            None => Promise::NotNeeded,
            Some(_) if is_new => Promise::Renewed,
            Some(confirmation) => confirmation.promise_again(&entry.email).await?,
        };
        // Another instance has just erased it.
        if promise != Promise::NotListed {
            return Ok((is_new, promise));
        }
    }
}
