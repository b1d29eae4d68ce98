//! Parses the URL of a database as libpq does (PostgreSQL's manual, 34.1.1.2 and 34.1.2), with several hosts and TLS
//! options. docs/instances.md lists them.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use percent_encoding::percent_decode_str;
use thiserror::Error;
use tokio_postgres::config::{Config, Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};

use super::tls::{TlsOptions, Trust};

/// Default of `connect_timeout`. It applies to each host, from the lookup to the first response of a statement.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Idle time before TCP probes the other machine, and pause between probes.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 2;
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// A URL such as `postgres://…`. Neither `Debug` nor `Display` shows the user or the password.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// The driver's settings, without a host.
    pub(super) login: Config,
    pub(super) targets: Vec<Target>,
    /// Whether the targets are tried in the order of the URL.
    pub(super) is_ordered: bool,
    /// The timeout for each host, see [`CONNECT_TIMEOUT`].
    pub(super) connect_timeout: Duration,
    pub(super) tls: TlsOptions,
}

/// A host in the URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Target {
    pub(super) host: Host,
    /// The address of the host, which replaces the lookup.
    pub(super) address: Option<IpAddr>,
    pub(super) port: u16,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Tcp(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            Host::Tcp(name) => write!(f, "{name}:{}", self.port),
            Host::Unix(directory) => write!(f, "{}:{}", directory.display(), self.port),
        }
    }
}

impl DatabaseUrl {
    /// Returns whether a text has the scheme of a database URL.
    pub fn has_scheme(text: &str) -> bool {
        ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for DatabaseUrl {
    type Err = InvalidDatabaseUrl;

    fn from_str(text: &str) -> Result<Self, InvalidDatabaseUrl> {
        if !Self::has_scheme(text) {
            return Err(InvalidDatabaseUrl::Scheme);
        }
        let (credentials, location, query) = split_url(text);
        if location.contains('@') {
            return Err(InvalidDatabaseUrl::UnencodedCredentials);
        }
        let options = UrlOptions::parse(query)?;
        let parse = |url: String| url.parse::<Config>().map_err(|error| driver_error(&error));
        let whole = parse(format!("{credentials}{location}?{}", options.all.join("&")))?;
        let database = location
            .split_once('/')
            .map_or("", |(_, database)| database);
        let mut login = parse(format!(
            "{credentials}/{database}?{}",
            options.without_hosts.join("&")
        ))?;
        // The path does not name the database if it is missing, or if an option names the database.
        if let Some(database) = whole.get_dbname() {
            login.dbname(database);
        }
        login.target_session_attrs(TargetSessionAttrs::ReadWrite);
        // Keepalives detect within half a minute, instead of two hours, that a machine has vanished.
        if !options.has("keepalives_idle") {
            login.keepalives_idle(KEEPALIVE_INTERVAL);
        }
        if !options.has("keepalives_interval") {
            login.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if !options.has("keepalives_count") && !options.has("keepalives_retries") {
            login.keepalives_retries(KEEPALIVE_RETRIES);
        }
        // The same for a machine that owes an acknowledgement, which keepalives do not cover.
        login.tcp_user_timeout(options.tcp_user_timeout.unwrap_or(TCP_USER_TIMEOUT));
        if login.get_application_name().is_none() {
            login.application_name(env!("CARGO_PKG_NAME"));
        }
        let (mode, tls) = options.tls()?;
        login.ssl_mode(mode);
        let targets = parse_targets(&whole)?;
        Ok(Self {
            // By default the order is random. In the order of the URL, the first host would get all connections, and
            // a host that hangs would delay each of them.
            is_ordered: options.has("load_balance_hosts")
                && whole.get_load_balance_hosts() == LoadBalanceHosts::Disable,
            connect_timeout: login
                .get_connect_timeout()
                .copied()
                .unwrap_or(CONNECT_TIMEOUT),
            login,
            targets,
            tls,
        })
    }
}

/// Returns the hosts of a URL.
fn parse_targets(whole: &Config) -> Result<Vec<Target>, InvalidDatabaseUrl> {
    let (hosts, addresses) = (whole.get_hosts(), whole.get_hostaddrs());
    let ports = whole.get_ports();
    let count = hosts.len().max(addresses.len());
    if count == 0 {
        return Err(InvalidDatabaseUrl::NoHost);
    }
    if !hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len() {
        return Err(InvalidDatabaseUrl::HostaddrCount);
    }
    if ports.len() > 1 && ports.len() != count {
        return Err(InvalidDatabaseUrl::PortCount);
    }
    let target = |at: usize| {
        let address = addresses.get(at).copied();
        let host = hosts.get(at).cloned();
        Target {
            // Without a name, TLS verifies the address, as in libpq.
            host: host
                .or_else(|| address.map(|ip| Host::Tcp(ip.to_string())))
                .unwrap_or_else(|| Host::Tcp(String::new())),
            address,
            port: *ports.get(at).or(ports.first()).unwrap_or(&5432),
        }
    };
    Ok((0..count).map(target).collect())
}

/// The options of a URL.
#[derive(Default)]
struct UrlOptions {
    /// The options that the driver parses, encoded.
    all: Vec<String>,
    /// The same without those that name hosts.
    without_hosts: Vec<String>,
    names: Vec<String>,
    mode: Option<String>,
    /// `tcp_user_timeout`, which is in milliseconds in the URL, as in libpq. The driver takes seconds.
    tcp_user_timeout: Option<Duration>,
    /// Which servers `sslrootcert` trusts.
    root_trust: Trust,
    tls: TlsOptions,
}

impl UrlOptions {
    fn parse(query: &str) -> Result<Self, InvalidDatabaseUrl> {
        let mut options = Self::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            let value = percent_decode_str(value).decode_utf8_lossy();
            if !key
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '_')
            {
                return Err(InvalidDatabaseUrl::InvalidOption);
            }
            match &*key {
                "sslmode" => options.mode = Some(value.into_owned()),
                "sslrootcert" if value == "system" => options.root_trust = Trust::Host,
                "sslrootcert" => {
                    options.root_trust = Trust::Authority;
                    options.tls.root_certificate = Some(PathBuf::from(&*value));
                }
                "sslcert" => options.tls.certificate = Some(PathBuf::from(&*value)),
                "sslkey" => options.tls.key = Some(PathBuf::from(&*value)),
                // All three select a server that can be written to.
                "target_session_attrs" => {
                    if !["any", "primary", "read-write"].contains(&&*value) {
                        return Err(InvalidDatabaseUrl::TargetSessionAttrs);
                    }
                }
                // The driver does not support GSSAPI, so these values change nothing.
                "gssencmode" if ["disable", "prefer"].contains(&&*value) => {}
                "client_encoding"
                    if ["utf8", "utf-8", "auto"].contains(&&*value.to_lowercase()) => {}
                "tcp_user_timeout" => {
                    let millis = value.parse();
                    let millis = millis.map_err(|_| InvalidDatabaseUrl::TcpUserTimeout)?;
                    options.tcp_user_timeout = Some(Duration::from_millis(millis));
                }
                // The driver has another name for this option.
                "keepalives_count" => options.add("keepalives_retries", option, &value),
                name => options.add(name, option, &value),
            }
            options.names.push(key);
        }
        Ok(options)
    }

    /// Passes an option to the driver.
    fn add(&mut self, name: &str, option: &str, value: &str) {
        let value_as_written = option.split_once('=').map_or(value, |(_, value)| value);
        // The driver would treat an @ as the end of the credentials.
        let option = format!("{name}={}", value_as_written.replace('@', "%40"));
        if !["host", "hostaddr", "port"].contains(&name) {
            self.without_hosts.push(option.clone());
        }
        self.all.push(option);
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    /// Returns the TLS options, as libpq's manual (34.19.1) defines them. `require` trusts any server unless
    /// `sslrootcert` is set. `sslrootcert=system` verifies the name of the host too.
    fn tls(&self) -> Result<(SslMode, TlsOptions), InvalidDatabaseUrl> {
        let default = match self.root_trust {
            Trust::Host => "verify-full",
            _ => "prefer",
        };
        let mode = self.mode.as_deref().unwrap_or(default);
        if self.root_trust == Trust::Host && mode != "verify-full" {
            return Err(InvalidDatabaseUrl::SystemRoots);
        }
        let (ssl, trust) = match mode {
            "disable" => (SslMode::Disable, Trust::Any),
            "prefer" => (SslMode::Prefer, Trust::Any),
            "require" => (SslMode::Require, self.root_trust),
            "verify-ca" => (SslMode::Require, Trust::Authority),
            "verify-full" => (SslMode::Require, Trust::Host),
            _ => return Err(InvalidDatabaseUrl::SslMode),
        };
        let tls = TlsOptions {
            trust,
            ..self.tls.clone()
        };
        Ok((ssl, tls))
    }
}

/// Splits a URL into the scheme with the credentials and their `@`, the hosts with the database, and the options.
///
/// As in libpq, the credentials end at the first `@` before any `/`. A `?` in the credentials does not begin the
/// options.
fn split_url(url: &str) -> (&str, &str, &str) {
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[scheme..].find(['@', '/']);
    let end = end.map_or(scheme, |at| scheme + at);
    let end = if url[end..].starts_with('@') {
        end + 1
    } else {
        scheme
    };
    let (credentials, rest) = url.split_at(end);
    let (location, query) = rest.split_once('?').unwrap_or((rest, ""));
    (credentials, location, query)
}

/// Converts an error of the driver. Its text names options, but no values.
fn driver_error(error: &tokio_postgres::Error) -> InvalidDatabaseUrl {
    let reason = std::error::Error::source(error).map(ToString::to_string);
    match reason {
        Some(reason) if reason.starts_with("unknown option") => {
            InvalidDatabaseUrl::UnknownOption(reason)
        }
        Some(reason) => InvalidDatabaseUrl::Driver(reason),
        None => InvalidDatabaseUrl::Driver("it is malformed".to_owned()),
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let targets: Vec<_> = self.targets.iter().map(ToString::to_string).collect();
        let database = self.login.get_dbname().unwrap_or_default();
        write!(f, "postgres://{}/{database}", targets.join(","))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An error in the URL of a database. Its text never contains the URL, which may have a password.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum InvalidDatabaseUrl {
    /// The scheme is not that of a database.
    #[error("not a database URL; write postgres://USER:PASSWORD@HOST/DATABASE")]
    Scheme,
    /// The user or the password has a character that must be encoded.
    #[error("the user or the password has an @ or a /; write them as %40 and %2F")]
    UnencodedCredentials,
    /// The name of an option has an invalid character.
    #[error(
        "invalid option; if the user or the password has a /, @ or ?, write it as %2F, %40 or %3F"
    )]
    InvalidOption,
    /// The value of `target_session_attrs` is not supported.
    #[error(
        "invalid target_session_attrs; write any, primary or read-write, because sign-ups need a server that allows \
         writes"
    )]
    TargetSessionAttrs,
    /// The value of `tcp_user_timeout` is not a number.
    #[error("invalid tcp_user_timeout; write a number of milliseconds")]
    TcpUserTimeout,
    /// The value of `sslmode` is invalid.
    #[error("invalid sslmode; write disable, prefer, require, verify-ca or verify-full")]
    SslMode,
    /// The URL has `sslrootcert=system` with a weaker `sslmode`.
    #[error("sslrootcert=system requires sslmode=verify-full")]
    SystemRoots,
    /// The URL has no host.
    #[error("the URL has no host; write postgres://USER@HOST/DATABASE")]
    NoHost,
    /// The URL has another number of `hostaddr` than of hosts.
    #[error("the URL must have one hostaddr for each host, or none")]
    HostaddrCount,
    /// The URL has several ports, and another number of hosts.
    #[error("the URL must have one port for each host, or one for all")]
    PortCount,
    /// The driver rejects the URL. Its text names options, but no values.
    #[error("cannot read the URL: {0}; write postgres://USER:PASSWORD@HOST:5432/DATABASE")]
    Driver(String),
    /// The driver does not know an option.
    #[error("{0}; remove the option, or correct its name")]
    UnknownOption(String),
}
