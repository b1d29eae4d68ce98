//! The checks before something changes: the cross-site check, the rate limit, and where a visitor comes from.

use std::net::{IpAddr, SocketAddr};

use axum::{
    extract::{ConnectInfo, FromRequest, Request},
    http::{header, request::Parts},
};
use url::{Url, form_urlencoded};

use super::{
    AppState, ClientKey, RequestError, TrustedProxies, body,
    client::FORWARDED_FOR,
    people::Visitor,
    preconditions::Preconditions,
    rate_limit::{Limited, LimitedAction, RateLimits},
    warning_throttle::WarningThrottle,
};
use crate::{config::Config, waitlist::Source};

/// Decides whether a request may change something.
pub(super) struct Admission {
    proxies: TrustedProxies,
    rate_limits: RateLimits,
    /// The origin of the site, such as `https://steward.example`.
    origin: String,
    untrusted_proxy_warning: WarningThrottle,
}

/// The body of a request whose visitor may attempt what it is for. The visitor is checked before the body is read, and the
/// preconditions after that.
pub(super) struct Admitted<T> {
    pub(super) visitor: Visitor,
    pub(super) sent: T,
}

impl<T> FromRequest<AppState> for Admitted<T>
where
    T: Limited + FromRequest<(), Rejection: Into<RequestError>>,
{
    type Rejection = RequestError;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, RequestError> {
        let (parts, body) = request.into_parts();
        let visitor = state.admission.admit(T::ACTION, &parts)?;
        let preconditions = Preconditions::of(&parts.headers);
        let etag = T::IS_SENT_TO_PAGE.then(|| state.pages.landing_etag(&parts.headers));
        let sent = body::read(&state.shutdown, Request::from_parts(parts, body)).await?;
        preconditions.check(etag.flatten().as_ref())?;
        Ok(Self { visitor, sent })
    }
}

impl Admission {
    /// Takes the origin of the site, and the rest from the configuration.
    pub(super) fn new(config: &Config, origin: &str) -> Self {
        Self {
            proxies: TrustedProxies(config.trusted_proxies.clone()),
            rate_limits: RateLimits::per_minute(config.signups_per_minute),
            origin: origin.to_owned(),
            untrusted_proxy_warning: WarningThrottle::default(),
        }
    }

    /// Returns whether an address is that of a trusted proxy.
    pub(super) fn is_trusted_proxy(&self, address: IpAddr) -> bool {
        self.proxies.contains(address)
    }

    /// Checks whether a visitor of the site may attempt something.
    ///
    /// # Errors
    /// [`RequestError::CrossSite`] and [`RequestError::RateLimited`].
    fn admit(&self, action: LimitedAction, request: &Parts) -> Result<Visitor, RequestError> {
        if self.is_cross_site(request) {
            return Err(RequestError::CrossSite);
        }
        Ok(Visitor {
            client: self.limit(action, request)?,
            source: self.source(request),
        })
    }

    /// Checks whether a client has attempted something too often, and returns the client.
    ///
    /// # Errors
    /// [`RequestError::RateLimited`].
    pub(super) fn limit(
        &self,
        action: LimitedAction,
        request: &Parts,
    ) -> Result<ClientKey, RequestError> {
        let ConnectInfo(peer) = request
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .ok_or_else(|| RequestError::Internal("a request has no peer address".into()))?;
        if !self.is_trusted_proxy(peer.ip())
            && request.headers.contains_key(FORWARDED_FOR)
            && self.untrusted_proxy_warning.try_acquire()
        {
            tracing::warn!(
                "sign-ups arrive through an untrusted proxy, so all its visitors share one rate limit; \
                 add the proxy to --trusted-proxies"
            );
        }
        let client = self.proxies.client_address(peer.ip(), &request.headers);
        let client = client.into();
        let counted = self.rate_limits.count(action, client);
        counted.map_err(RequestError::RateLimited)?;
        Ok(client)
    }

    /// Returns whether a page of another site made the visitor's browser send this request.
    ///
    /// Browsers report that in `Sec-Fetch-Site`, which a page cannot forge. Old browsers, and all browsers over plain
    /// HTTP, omit that header but send the page's `Origin`. Other programs send neither, and act for no visitor. A
    /// proxy may have changed `Host`, so the origin may also be that of `--origin`.
    fn is_cross_site(&self, request: &Parts) -> bool {
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
            .is_some_and(|origin| !self.is_own_origin(request, origin.as_bytes()))
    }

    /// Returns the source in the URL of the page that sent a request, such as `/?ref=hn` (spec §10). Browsers report that URL
    /// in `Referer`. The URL of another site does not count.
    fn source(&self, request: &Parts) -> Option<Source> {
        let referer = request.headers.get(header::REFERER)?.to_str().ok()?;
        let page = Url::parse(referer).ok()?;
        let origin = page.origin().ascii_serialization();
        if !self.is_own_origin(request, origin.as_bytes()) {
            return None;
        }
        let query = page.query()?.as_bytes();
        let mut sources = ["utm_source", "ref", "source"]
            .into_iter()
            .flat_map(|name| {
                form_urlencoded::parse(query)
                    .filter(move |(key, _)| key == name)
                    .filter_map(|(_, value)| Source::from_parameter(&value))
            });
        // An earlier name takes precedence, but where an invitation is shared, its link may get another parameter.
        let invitation = sources.clone().find(Source::is_invitation);
        invitation.or_else(|| sources.next())
    }

    /// Returns whether an origin, such as `https://steward.example`, is that of this site: of the host that the request
    /// names, or of `--origin`.
    fn is_own_origin(&self, request: &Parts, origin: &[u8]) -> bool {
        let host = match request.uri.authority() {
            Some(authority) => authority.as_str().as_bytes(),
            None => request
                .headers
                .get(header::HOST)
                .map_or(&b""[..], |host| host.as_bytes()),
        };
        let is_own_host = [&b"https://"[..], b"http://"].iter().any(|scheme| {
            let origin_host = origin.strip_prefix(*scheme);
            origin_host.is_some_and(|origin_host| {
                !host.is_empty() && origin_host.eq_ignore_ascii_case(host)
            })
        });
        is_own_host || origin == self.origin.as_bytes()
    }
}
