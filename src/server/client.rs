//! The client of a request: the peer of its connection, or the address that a trusted proxy reports.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

use super::limits::LIST_ITEMS_MAX;
use crate::config::{Config, ProxyHeader};

/// One client: an IPv4 address, or an IPv6 /64. Providers assign at least a /64 to each customer (RFC 6177), who
/// could otherwise use another address for every request.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ClientKey(IpAddr);

impl From<IpAddr> for ClientKey {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
            v4 => v4,
        })
    }
}

impl ClientKey {
    /// Stands for clients that are not known any more. No client has this address.
    pub(super) const UNKNOWN: Self = Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED));

    /// Returns whether the client is an IPv6 network.
    pub(super) fn is_ipv6(self) -> bool {
        self.0.is_ipv6()
    }
}

/// The proxies that are trusted to report their clients.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    header: ProxyHeader,
}

impl TrustedProxies {
    /// Returns the proxies of the configuration.
    pub fn from_config(config: &Config) -> Self {
        Self {
            networks: config.trusted_proxies.clone(),
            header: config.proxy_header,
        }
    }

    /// Returns whether a proxy has this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    /// Returns the right-most address that does not belong to a trusted proxy.
    ///
    /// Each proxy appends the address that connected to it, so a client can forge everything to the left of that
    /// address. It can forge the whole header if it connects directly. If a trusted proxy reports no address
    /// (`unknown`, `_hidden`), the proxy itself counts as the client.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.contains(client) {
            return client;
        }
        let values = headers.get_all(self.header_name()).iter().rev();
        let hops = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        // RFC 9110, 5.6.1: empty elements of a list are ignored.
        let hops = hops.map(<[u8]>::trim_ascii).filter(|hop| !hop.is_empty());
        for hop in hops.take(LIST_ITEMS_MAX) {
            if !self.contains(client) {
                break;
            }
            match self.parse_hop(hop) {
                Some(address) => client = address.to_canonical(),
                None => break,
            }
        }
        client
    }

    fn header_name(&self) -> HeaderName {
        match self.header {
            ProxyHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            ProxyHeader::Forwarded => header::FORWARDED,
        }
    }

    fn parse_hop(&self, hop: &[u8]) -> Option<IpAddr> {
        let hop = str::from_utf8(hop).ok()?;
        match self.header {
            ProxyHeader::XForwardedFor => parse_node(hop),
            ProxyHeader::Forwarded => parse_node(forwarded_for_value(hop)?),
        }
    }
}

/// Parses the address in a `node` of RFC 7239, with or without a port: `192.0.2.1`, `192.0.2.1:80`,
/// `[2001:db8::1]`. In `X-Forwarded-For`, IPv6 addresses can also come without brackets.
fn parse_node(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse();
    address
        .or_else(|_| text.parse().map(|socket: SocketAddr| socket.ip()))
        .ok()
}

/// Returns the value of `for` in one element of `Forwarded`.
///
/// The header is split at every comma, even inside quotes. Addresses contain no commas, and a client must not be
/// able to hide what a proxy appends by leaving a quote open.
fn forwarded_for_value(element: &str) -> Option<&str> {
    let mut found = None;
    for pair in element.split(';') {
        let (name, value) = pair.trim().split_once('=')?;
        let quoted = value
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        let value = quoted.unwrap_or(value);
        if value.contains('"') {
            return None;
        }
        // RFC 7239, 4: each parameter occurs at most once.
        if name.eq_ignore_ascii_case("for") && found.replace(value).is_some() {
            return None;
        }
    }
    found
}
