//! Command-line flags and environment, one documented struct. Every `--some-flag` is also
//! `LANDING_SOME_FLAG`; the flag wins.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    str::FromStr,
};

use ipnet::{IpNet, Ipv4Net};
use url::Url;

use crate::copy;

/// How the site is served.
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

    /// Directory of the site's files [default: `site` beside the program]
    #[arg(long, env = "LANDING_SITE_ROOT", value_name = "DIR")]
    pub site_root: Option<PathBuf>,

    /// Public origin of the site, with which links, previews and the sitemap begin
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL", default_value = copy::ORIGIN)]
    pub origin: Origin,

    /// The product's name
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

    /// Where Privacy leads [default: a placeholder without address]
    #[arg(long, env = "LANDING_PRIVACY_URL", value_name = "URL")]
    pub privacy_url: Option<LinkUrl>,

    /// Where Terms leads [default: a placeholder without address]
    #[arg(long, env = "LANDING_TERMS_URL", value_name = "URL")]
    pub terms_url: Option<LinkUrl>,

    /// Where Support leads [default: a placeholder without address]
    #[arg(long, env = "LANDING_SUPPORT_URL", value_name = "URL")]
    pub support_url: Option<LinkUrl>,

    /// Sign-ups that one client may try in a minute, and as many at once; 0 lifts the limit
    #[arg(
        long,
        env = "LANDING_SIGNUPS_PER_MINUTE",
        value_name = "N",
        default_value_t = 10
    )]
    pub signups_per_minute: u32,

    /// Addresses and networks of the proxies in front, which are believed when they say who the
    /// client is: 127.0.0.1,10.0.0.0/8 [default: none]
    #[arg(
        long,
        env = "LANDING_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        value_delimiter = ',',
        value_parser = parse_network
    )]
    pub trusted_proxies: Vec<IpNet>,

    /// The header in which these proxies say it
    #[arg(
        long,
        env = "LANDING_PROXY_HEADER",
        value_name = "HEADER",
        value_enum,
        default_value_t
    )]
    pub proxy_header: ProxyHeader,

    /// Connections at a time; who comes then waits
    #[arg(
        long,
        env = "LANDING_MAX_CONNECTIONS",
        value_name = "N",
        default_value_t = 4096,
        value_parser = clap::value_parser!(u32).range(1..=1_000_000)
    )]
    pub max_connections: u32,

    /// Seconds that requests under way have to finish after SIGTERM or Ctrl-C
    #[arg(
        long,
        env = "LANDING_SHUTDOWN_GRACE",
        value_name = "SECONDS",
        default_value_t = 10
    )]
    pub shutdown_grace: u64,

    /// How the log is written
    #[arg(
        long,
        env = "LANDING_LOG",
        value_name = "FORMAT",
        value_enum,
        default_value_t
    )]
    pub log: LogFormat,
}

/// Where a proxy writes whom it speaks for. One of the two, because it leaves the other as the
/// client sent it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum ProxyHeader {
    /// `X-Forwarded-For`, of nearly every proxy.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Human,
    /// An object a line, for programs.
    Json,
}

/// Scheme, host and port of an http or https URL, without a slash at the end.
#[derive(Clone, Debug)]
pub struct Origin(String);

impl Origin {
    /// The origin as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let url = parse_web_url(text)?;
        let is_bare = url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !is_bare {
            return Err(
                "an origin is a scheme, a host and perhaps a port, and nothing after \
                        them: https://steward.example"
                    .into(),
            );
        }
        Ok(Self(url.origin().ascii_serialization()))
    }
}

/// The address of a link: an absolute http or https URL.
#[derive(Clone, Debug)]
pub struct LinkUrl(Url);

impl LinkUrl {
    /// The address, for `href`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host part.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }
}

impl FromStr for LinkUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_web_url(text).map(Self)
    }
}

fn parse_web_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("{error}; write it as https://…"))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!(
            "it starts with {other}:, but must start with https: or http:"
        )),
    }
}

/// A network or a single address. IPv4-mapped IPv6 (`::ffff:127.0.0.1`) becomes IPv4, like the addresses of
/// clients.
fn parse_network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let network = match text.parse::<IpAddr>() {
        Ok(address) => address.into(),
        Err(_) => text
            .parse()
            .map_err(|_| "write an address or a network, such as 127.0.0.1 or 10.0.0.0/8")?,
    };
    let IpNet::V6(v6) = network else {
        return Ok(network);
    };
    let Some(v4) = v6.addr().to_ipv4_mapped() else {
        return Ok(network);
    };
    let prefix = v6.prefix_len().checked_sub(96);
    let v4 = prefix.and_then(|prefix| Ipv4Net::new(v4, prefix).ok());
    v4.map(IpNet::from)
        .ok_or_else(|| "write a network of IPv4 addresses as 10.0.0.0/8".into())
}

fn parse_product_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err("a product's name is one line of visible text".into());
    }
    Ok(name.to_owned())
}

/// What may stand in a mailto link as it is. Not the waitlist's rule: an owner's typing error must
/// be told at start, but nothing is stored under this address.
fn parse_contact_email(text: &str) -> Result<String, String> {
    let is_plain = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || ".+-_".contains(c))
    };
    match text.split_once('@') {
        Some((local, domain)) if is_plain(local) && is_plain(domain) => Ok(text.to_owned()),
        _ => Err("write an address such as hello@steward.example".into()),
    }
}
