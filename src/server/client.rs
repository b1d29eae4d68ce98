//! Who a request comes from: the other end of its connection, or whom a trusted proxy names there.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

use super::limits::LIST_ITEMS_MAX;
use crate::config::{Config, ProxyHeader};

/// What counts as one client: an IPv4 address, or the /64 that an IPv6 customer gets (RFC 6177), of
/// which each could use another address for every request.
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

/// The proxies in front of the site.
#[derive(Clone, Debug)]
pub struct TrustedProxies {
    networks: Vec<IpNet>,
    header: ProxyHeader,
}

impl TrustedProxies {
    /// Those of the configuration.
    pub fn from_config(config: &Config) -> Self {
        Self {
            networks: config.trusted_proxies.clone(),
            header: config.proxy_header,
        }
    }

    /// Whether one of them has this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }

    /// The right-most address that is not a trusted proxy's. Each proxy adds the address it was
    /// connected from at the right, so what stands left of that one is a client's own invention; so
    /// is all of it when the connection itself comes from elsewhere. Where a trusted proxy has
    /// written no address (`unknown`, `_hidden`), it is itself the client.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.contains(client) {
            return client;
        }
        let values = headers.get_all(self.header_name()).iter().rev();
        let hops = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        // RFC 9110, 5.6.1: empty elements of a list count for nothing.
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

/// The address of RFC 7239's `node`: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::1]`, and with a port.
/// `X-Forwarded-For` has it so too, or an IPv6 address without brackets.
fn parse_node(text: &str) -> Option<IpAddr> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse();
    address
        .or_else(|_| text.parse().map(|socket: SocketAddr| socket.ip()))
        .ok()
}

/// The value of `for` in one element of `Forwarded`. The list was cut at every comma, also at one in
/// a quoted string: an address has none, and a quote that a client leaves open must not swallow
/// what a proxy adds after it.
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
        // RFC 7239, 4: each parameter once.
        if name.eq_ignore_ascii_case("for") && found.replace(value).is_some() {
            return None;
        }
    }
    found
}
