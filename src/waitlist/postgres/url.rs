//! Parses the URL of a database as libpq does (PostgreSQL's manual, 34.1.1.2 and 34.1.2), with several hosts and TLS
//! options. docs/instances.md lists them.

use std::{fmt, path::PathBuf, str::FromStr};

use percent_encoding::percent_decode_str;
use thiserror::Error;
use tokio_postgres::config::{Config, Host, SslMode};

use super::tls::{TlsOptions, Trust};

/// The driver's options that the URL may replace.
///
/// All times are in seconds. `connect_timeout` applies to each host, from the lookup to the first response of a statement.
/// Keepalives detect within half a minute, instead of two hours, that a machine has vanished. `tcp_user_timeout` detects
/// the same for a machine that owes an acknowledgement. The hosts are tried in a random order: otherwise the first one
/// would get all connections, and if it hangs, it would delay each of them.
const DEFAULTS: &str = concat!(
    "connect_timeout=2&keepalives_idle=10&keepalives_interval=10&keepalives_retries=2&tcp_user_timeout=30",
    "&load_balance_hosts=random&target_session_attrs=read-write&application_name=",
    env!("CARGO_PKG_NAME")
);

/// A URL such as `postgres://…`. Neither `Debug` nor `Display` shows the user or the password.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// The driver's settings for each host. There is at least one.
    pub(super) hosts: Vec<Config>,
    pub(super) tls: TlsOptions,
}

impl DatabaseUrl {
    /// Returns whether a text has the scheme of a database URL.
    pub fn has_scheme(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
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
        let (mode, tls) = options.tls()?;
        let (hosts, database) = location.split_at(location.find('/').unwrap_or(location.len()));
        let parse = |host| {
            let driver_options = &options.driver;
            let url = format!("{credentials}{host}{database}?{DEFAULTS}{driver_options}");
            parse_host(&url, mode)
        };
        let hosts: Vec<_> = hosts.split(',').map(parse).collect::<Result<_, _>>()?;
        if hosts.len() > 1 && hosts.iter().any(|it| !it.get_hostaddrs().is_empty()) {
            return Err(InvalidDatabaseUrl::SeveralHosts);
        }
        Ok(Self { hosts, tls })
    }
}

/// Parses a URL with one host.
fn parse_host(url: &str, mode: SslMode) -> Result<Config, InvalidDatabaseUrl> {
    let mut config: Config = url.parse().map_err(|error| driver_error(&error))?;
    match (
        config.get_hosts(),
        config.get_hostaddrs(),
        config.get_ports(),
    ) {
        ([], [], _) => return Err(InvalidDatabaseUrl::NoHost),
        // As in libpq, sslmode does not apply to sockets of this machine.
        ([Host::Unix(_)], [], [] | [_]) => config.ssl_mode(SslMode::Disable),
        ([_], [] | [_], [] | [_]) => config.ssl_mode(mode),
        // Without a name, TLS verifies the address, as in libpq.
        ([], [ip], [] | [_]) => config.host(ip.to_string()).ssl_mode(mode),
        _ => return Err(InvalidDatabaseUrl::SeveralHosts),
    };
    Ok(config)
}

/// Returns the host and the port of a URL with one host, without its user and password.
pub(super) fn display_host(config: &Config) -> String {
    let port = config.get_ports().first().unwrap_or(&5432);
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) if name.contains(':') => format!("[{name}]:{port}"),
        Some(Host::Tcp(name)) => format!("{name}:{port}"),
        Some(Host::Unix(directory)) => format!("{}:{port}", directory.display()),
        None => String::new(),
    }
}

/// The options of a URL.
#[derive(Default)]
struct UrlOptions {
    /// The options that the driver parses, encoded, each after an `&`.
    driver: String,
    mode: Option<String>,
    /// Which servers `sslrootcert` trusts.
    root_trust: Trust,
    tls: TlsOptions,
}

impl UrlOptions {
    fn parse(query: &str) -> Result<Self, InvalidDatabaseUrl> {
        let mut options = Self::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, encoded) = option.split_once('=').unwrap_or((option, ""));
            let key = percent_decode_str(key).decode_utf8_lossy();
            let value = percent_decode_str(encoded).decode_utf8_lossy();
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
                // As in libpq it is in milliseconds.
                "tcp_user_timeout" => {
                    let millis = value.parse::<u64>();
                    let reason = "invalid tcp_user_timeout";
                    let millis = millis.map_err(|_| InvalidDatabaseUrl::Driver(reason.into()))?;
                    options.add(&key, &millis.div_ceil(1000).to_string());
                }
                // A pooler may drop them, and would lead to another list: `sql::SETTINGS` asks the session.
                "options" => options.add(&key, &format!("{encoded}%20-clanding.options%3Don")),
                // The driver has another name for this option.
                "keepalives_count" => options.add("keepalives_retries", encoded),
                name => options.add(name, encoded),
            }
        }
        Ok(options)
    }

    /// Passes an option to the driver, which would treat an @ as the end of the credentials.
    fn add(&mut self, name: &str, encoded: &str) {
        let value = encoded.replace('@', "%40");
        self.driver += &format!("&{name}={value}");
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
        let hosts: Vec<_> = self.hosts.iter().map(display_host).collect();
        let database = self.hosts[0].get_dbname().unwrap_or_default();
        write!(f, "postgres://{}/{database}", hosts.join(","))
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
    /// The value of `sslmode` is invalid.
    #[error("invalid sslmode; write disable, prefer, require, verify-ca or verify-full")]
    SslMode,
    /// The URL has `sslrootcert=system` with a weaker `sslmode`.
    #[error("sslrootcert=system requires sslmode=verify-full")]
    SystemRoots,
    /// The URL has no host.
    #[error("the URL has no host; write postgres://USER@HOST/DATABASE")]
    NoHost,
    /// Options name several hosts, addresses or ports, or one besides the hosts before the database.
    #[error(
        "the options host, hostaddr and port describe a single host; write several as \
         postgres://USER@HOST:PORT,HOST:PORT/DATABASE"
    )]
    SeveralHosts,
    /// The driver rejects the URL. Its text names options, but no values.
    #[error("cannot read the URL: {0}; write postgres://USER:PASSWORD@HOST:5432/DATABASE")]
    Driver(String),
    /// The driver does not know an option.
    #[error("{0}; remove the option, or correct its name")]
    UnknownOption(String),
}
