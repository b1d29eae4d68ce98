//! The client of a request: the peer of its connection, or the address that a trusted proxy reports.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::HeaderMap;
use ipnet::IpNet;

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
    /// Stands for clients that are not known any more. Only this machine has addresses in this network.
    pub(super) const UNKNOWN: Self = Self(IpAddr::V6(Ipv6Addr::UNSPECIFIED));
    /// Stands for the people who are welcomed: their messages share the budget like those of a client. No client has this address.
    pub(super) const WELCOME: Self = Self(IpAddr::V6(Ipv6Addr::LOCALHOST));

    /// Returns the IPv4 address, or the IPv6 /48. It is the largest network that providers assign to one customer
    /// (RFC 6177), whose 65,536 networks would otherwise be as many clients.
    pub(super) fn customer(self) -> Self {
        Self(match self.0 {
            IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 80 << 80).into(),
            v4 => v4,
        })
    }

    /// Returns whether the client is an IPv6 network.
    pub(super) fn is_ipv6(self) -> bool {
        self.0.is_ipv6()
    }
}

/// The proxies that are trusted to report their clients.
#[derive(Clone, Debug)]
pub struct TrustedProxies(pub Vec<IpNet>);

/// The header in which proxies report their clients.
pub(super) const FORWARDED_FOR: &str = "x-forwarded-for";

impl TrustedProxies {
    /// Returns whether a proxy has this address.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
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
        let values = headers.get_all(FORWARDED_FOR).iter().rev();
        let hops = values.flat_map(|value| value.as_bytes().rsplit(|byte| *byte == b','));
        // RFC 9110, 5.6.1: empty elements of a list are ignored.
        let hops = hops.map(<[u8]>::trim_ascii).filter(|hop| !hop.is_empty());
        for hop in hops {
            if !self.contains(client) {
                break;
            }
            match parse_hop(hop) {
                Some(address) => client = address.to_canonical(),
                None => break,
            }
        }
        client
    }
}

/// Parses an address with or without a port: `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `[2001:db8::1]:80`.
fn parse_hop(hop: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(hop).ok()?;
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = bare.unwrap_or(text).parse();
    address
        .or_else(|_| text.parse().map(|socket: SocketAddr| socket.ip()))
        .ok()
}
