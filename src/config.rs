//! The server's command-line options. Every `--some-flag` can also be set as `LANDING_SOME_FLAG` in the
//! environment. The option takes precedence.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net};
use url::Url;

use crate::copy;

/// The configuration of the server.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Address and port to listen on
    #[arg(
        long,
        env = "LANDING_ADDR",
        value_name = "IP:PORT",
        default_value = "127.0.0.1:3000"
    )]
    pub addr: SocketAddr,

    /// Directory with the site's files [default: `site` next to the program]
    #[arg(long, env = "LANDING_SITE_ROOT", value_name = "DIR")]
    pub site_root: Option<PathBuf>,

    /// Public URL of the site, for link previews and the sitemap
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL", default_value = copy::ORIGIN)]
    pub origin: Origin,

    /// Name of the product
    #[arg(long, env = "LANDING_PRODUCT", value_name = "NAME", default_value = copy::PRODUCT,
          value_parser = parse_product_name)]
    pub product: String,

    /// E-mail address of the contact link
    #[arg(long, env = "LANDING_CONTACT", value_name = "EMAIL", default_value = copy::CONTACT,
          value_parser = parse_contact_email)]
    pub contact: String,

    /// URL of the social profile
    #[arg(long, env = "LANDING_SOCIAL", value_name = "URL", default_value = copy::SOCIAL)]
    pub social: LinkUrl,

    /// Hide the count of people on the list while it is below this number
    #[arg(
        long,
        env = "LANDING_COUNT_FROM",
        value_name = "N",
        default_value_t = 0
    )]
    pub count_from: u64,

    /// URL of the Privacy link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_PRIVACY_URL", value_name = "URL")]
    pub privacy_url: Option<LinkUrl>,

    /// URL of the Terms link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_TERMS_URL", value_name = "URL")]
    pub terms_url: Option<LinkUrl>,

    /// URL of the Support link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_SUPPORT_URL", value_name = "URL")]
    pub support_url: Option<LinkUrl>,

    /// Sign-up attempts per client and minute, and the largest burst; 0 removes the limit
    #[arg(
        long,
        env = "LANDING_SIGNUPS_PER_MINUTE",
        value_name = "N",
        default_value_t = 10
    )]
    pub signups_per_minute: u32,

    /// Addresses and networks of reverse proxies that are trusted to report the client's address, such as
    /// 127.0.0.1,10.0.0.0/8 [default: none]
    #[arg(
        long,
        env = "LANDING_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        value_delimiter = ',',
        value_parser = parse_network
    )]
    pub trusted_proxies: Vec<IpNet>,

    /// Header in which trusted proxies report the client's address
    #[arg(
        long,
        env = "LANDING_PROXY_HEADER",
        value_name = "HEADER",
        value_enum,
        default_value_t
    )]
    pub proxy_header: ProxyHeader,

    /// Maximum number of open connections; further clients wait
    #[arg(
        long,
        env = "LANDING_MAX_CONNECTIONS",
        value_name = "N",
        default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub max_connections: u32,

    /// Seconds that open requests may take to finish after SIGTERM or Ctrl-C
    #[arg(
        long,
        env = "LANDING_SHUTDOWN_GRACE",
        value_name = "SECONDS",
        default_value_t = 10
    )]
    pub shutdown_grace: u64,

    /// Format of the log
    #[arg(
        long,
        env = "LANDING_LOG",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub log: LogFormat,
}

/// The header in which a proxy reports its client. Only one is read, because a proxy passes the other on as the
/// client sent it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum ProxyHeader {
    /// `X-Forwarded-For`, which nearly every proxy sets.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum LogFormat {
    /// Readable lines.
    #[default]
    Human,
    /// One JSON object per line.
    Json,
}

/// Scheme, host and port of an http or https URL, without a trailing slash.
#[derive(Clone, Debug)]
pub struct Origin(String);

impl Origin {
    /// Returns the origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
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
        if !is_bare {
            return Err(InvalidValue::Origin);
        }
        Ok(Self(url.origin().ascii_serialization()))
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

/// Why the value of an option or an environment variable is invalid.
#[derive(Debug, thiserror::Error)]
pub enum InvalidValue {
    /// The value is not an absolute URL.
    #[error("{0}; write a URL such as https://steward.example")]
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
    /// The value is not a plain e-mail address.
    #[error("expected an e-mail address such as hello@steward.example")]
    ContactEmail,
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
fn parse_network(text: &str) -> Result<IpNet, InvalidValue> {
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

fn parse_product_name(text: &str) -> Result<String, InvalidValue> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(InvalidValue::ProductName);
    }
    Ok(name.to_owned())
}

/// Parses an address that a mailto link can contain without escaping. Catches typing errors at startup. The
/// waitlist's rules for addresses do not apply, because nothing is stored under this one.
fn parse_contact_email(text: &str) -> Result<String, InvalidValue> {
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
