//! The values of the options: parses them, and says what is wrong with one that is invalid.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net};
use url::{Host, Url};

/// Scheme, host and port of an http or https URL.
#[derive(Clone, Debug)]
pub struct Origin(Url);

impl Origin {
    /// Returns the origin as text, without a trailing slash.
    pub fn as_str(&self) -> &str {
        self.0.as_str().trim_end_matches('/')
    }

    /// Returns the host, without the port. An IPv6 address has brackets.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl FromStr for Origin {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let url = parse_web_url(text)?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        is_bare.then_some(Self(url)).ok_or(InvalidValue::Origin)
    }
}

/// The target of a link: an absolute http or https URL.
#[derive(Clone, Debug)]
pub struct LinkUrl(Url);

impl LinkUrl {
    /// Returns the URL, for `href`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the host.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl FromStr for LinkUrl {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        parse_web_url(text).map(Self)
    }
}

/// A text that `Debug` hides.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why the value of an option or an environment variable is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidValue {
    /// The address to listen on is not an IP address with a port.
    #[error(
        "expected an IP address and a port up to 65535, such as 127.0.0.1:3000 or [::1]:3000; the address 0.0.0.0 accepts \
         connections from other machines"
    )]
    Addr,
    /// The value is not an absolute URL.
    #[error("{}; write a URL such as https://steward.example", describe_url_error(*.0))]
    Url(#[from] url::ParseError),
    /// The URL has this scheme.
    #[error("the URL must start with https: or http:, not {0}:")]
    Scheme(String),
    /// The URL contains more than an origin.
    #[error("expected only a scheme, a host and an optional port, such as https://steward.example")]
    Origin,
    /// The value is neither an IP address nor a network.
    #[error("expected an IP address or a network, such as 127.0.0.1 or 10.0.0.0/8")]
    Network,
    /// The prefix of an IPv4-mapped network is too short for IPv4.
    #[error("write a network of IPv4 addresses in IPv4 form, such as 10.0.0.0/8")]
    MappedNetwork,
    /// The name is empty or contains control characters.
    #[error("the product name must be one line of visible text")]
    ProductName,
    /// The value is not a whole number in this range.
    #[error("write a whole number{}", describe_range(*.0, *.1))]
    Number(u64, u64),
    /// The value is not a plain e-mail address.
    #[error("expected an e-mail address such as hello@steward.example")]
    ContactEmail,
}

/// Returns a parser of whole numbers in a range.
pub fn number<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl Fn(&str) -> Result<T, InvalidValue> + Clone {
    move |text: &str| {
        let number = text.trim().parse().ok().filter(|it| range.contains(it));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or(InvalidValue::Number(*range.start(), *range.end()))
    }
}

/// Describes a range of numbers. Nobody needs to know the largest number of 64 bits.
fn describe_range(min: u64, max: u64) -> String {
    match max {
        u64::MAX => String::new(),
        max => format!(" from {min} to {max}"),
    }
}

/// Parses an address to listen on. `localhost` is 127.0.0.1.
pub fn parse_addr(text: &str) -> Result<SocketAddr, InvalidValue> {
    let text = text.trim().replacen("localhost:", "127.0.0.1:", 1);
    text.parse().map_err(|_| InvalidValue::Addr)
}

/// Returns whether a host is `localhost` or a loopback address. An unencrypted connection to it does not leave this machine.
pub(super) fn is_loopback<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost",
        Host::Ipv4(ip) => ip.is_loopback(),
        Host::Ipv6(ip) => ip.is_loopback(),
    }
}

fn parse_web_url(text: &str) -> Result<Url, InvalidValue> {
    let url = Url::parse(text)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(InvalidValue::Scheme(other.to_owned())),
    }
}

/// Parses a network or a single address. IPv4-mapped IPv6 (`::ffff:127.0.0.1`) becomes IPv4, as in the addresses
/// of clients.
pub(super) fn parse_network(text: &str) -> Result<IpNet, InvalidValue> {
    let text = text.trim();
    let network = match text.parse::<IpAddr>() {
        Ok(address) => address.into(),
        Err(_) => text.parse().map_err(|_| InvalidValue::Network)?,
    };
    let IpNet::V6(v6) = network else {
        return Ok(network);
    };
    let Some(v4) = v6.addr().to_ipv4_mapped() else {
        return Ok(network);
    };
    let prefix = v6.prefix_len().checked_sub(96);
    let v4 = prefix.and_then(|prefix| Ipv4Net::new(v4, prefix).ok());
    v4.map(IpNet::from).ok_or(InvalidValue::MappedNetwork)
}

/// Parses the name of the product: one line of visible text.
///
/// # Errors
/// [`InvalidValue::ProductName`].
pub fn parse_product_name(text: &str) -> Result<String, InvalidValue> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(InvalidValue::ProductName);
    }
    Ok(name.to_owned())
}

/// Parses an address that a mailto link can contain without escaping. Catches typing errors at startup. The
/// waitlist's rules for addresses do not apply, because nothing is stored under this one.
pub(super) fn parse_contact_email(text: &str) -> Result<String, InvalidValue> {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".+-_".contains(c))
    };
    match text.split_once('@') {
        Some((local, domain)) if is_plain(local) && is_plain(domain) => Ok(text.to_owned()),
        _ => Err(InvalidValue::ContactEmail),
    }
}

/// Describes an error of the URL parser, whose text for a missing scheme is hard to understand.
fn describe_url_error(error: url::ParseError) -> String {
    match error {
        url::ParseError::RelativeUrlWithoutBase => "the scheme is missing".to_owned(),
        error => error.to_string(),
    }
}
