//! The URL of a database, as libpq reads it (PostgreSQL's manual, 34.1.1.2 and 34.1.2), with several hosts and
//! the settings of TLS. README.md lists the options.

use std::{fmt, net::IpAddr, path::PathBuf, str::FromStr, time::Duration};

use percent_encoding::percent_decode_str;
use rustls::{SupportedProtocolVersion, version};
use tokio_postgres::config::{Config, Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};

use super::tls::{TlsOptions, Trust};

/// Default of `connect_timeout`: for each address, from the connection to the first response of a statement.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// Idle time after which TCP asks whether the other machine is there.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_RETRIES: u32 = 2;
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);

/// `postgres://…`. Neither `Debug` nor `Display` shows who logs in, or the password.
#[derive(Clone)]
pub struct DatabaseUrl {
    /// How to log in, without a host.
    pub(super) login: Config,
    pub(super) targets: Vec<Target>,
    /// Whether the targets are tried in the order given.
    pub(super) is_ordered: bool,
    /// See [`CONNECT_TIMEOUT`].
    pub(super) connect_timeout: Duration,
    pub(super) tls: TlsOptions,
}

/// A host of the URL.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Target {
    pub(super) host: Host,
    /// Instead of looking up the host.
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
    /// Whether a text is meant to be one.
    pub fn has_scheme(text: &str) -> bool {
        ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for DatabaseUrl {
    /// Never has the text in it: there may be a password.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !Self::has_scheme(text) {
            return Err("a database's URL begins with postgres://".into());
        }
        let (credentials, location, query) = split_url(text);
        if location.contains('@') {
            return Err("its user or password has an @ or a /: write them as %40 and %2F".into());
        }
        let options = UrlOptions::parse(query)?;
        let parse = |url: String| {
            url.parse::<Config>()
                .map_err(|error| describe_parse_error(&error))
        };
        let whole = parse(format!("{credentials}{location}?{}", options.all.join("&")))?;
        let database = location
            .split_once('/')
            .map_or("", |(_, database)| database);
        let mut login = parse(format!(
            "{credentials}/{database}?{}",
            options.without_hosts.join("&")
        ))?;
        // Of a URL without a path, or with one in its options.
        if let Some(database) = whole.get_dbname() {
            login.dbname(database);
        }
        login.target_session_attrs(TargetSessionAttrs::ReadWrite);
        // That a machine has vanished is found in half a minute, instead of two hours.
        if !options.has("keepalives_idle") {
            login.keepalives_idle(KEEPALIVE_INTERVAL);
        }
        if !options.has("keepalives_interval") {
            login.keepalives_interval(KEEPALIVE_INTERVAL);
        }
        if !options.has("keepalives_count") && !options.has("keepalives_retries") {
            login.keepalives_retries(KEEPALIVE_RETRIES);
        }
        // The same for a machine that owes an acknowledgement, which keepalives are not for.
        login.tcp_user_timeout(options.tcp_user_timeout.unwrap_or(TCP_USER_TIMEOUT));
        if login.get_application_name().is_none() {
            login.application_name(env!("CARGO_PKG_NAME"));
        }
        let (mode, tls) = options.tls()?;
        login.ssl_mode(mode);
        let targets = parse_targets(&whole)?;
        Ok(Self {
            // In the order given, the first would get all connections, and one that hangs would delay each.
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

/// The hosts of a URL.
fn parse_targets(whole: &Config) -> Result<Vec<Target>, String> {
    let (hosts, addresses) = (whole.get_hosts(), whole.get_hostaddrs());
    let ports = whole.get_ports();
    let count = hosts.len().max(addresses.len());
    if count == 0 {
        return Err("it names no host: write postgres://user@host/database".into());
    }
    if !hosts.is_empty() && !addresses.is_empty() && hosts.len() != addresses.len() {
        return Err("it has as many hostaddr as hosts, or none".into());
    }
    if ports.len() > 1 && ports.len() != count {
        return Err("it has one port, or as many as hosts".into());
    }
    let target = |at: usize| {
        let address = addresses.get(at).copied();
        let host = hosts.get(at).cloned();
        Target {
            // TLS verifies the address where there is no name, like libpq.
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
    /// What the driver reads, encoded.
    all: Vec<String>,
    /// Without the options that name hosts.
    without_hosts: Vec<String>,
    names: Vec<String>,
    mode: Option<String>,
    /// In milliseconds in the URL, as in libpq; the driver has seconds.
    tcp_user_timeout: Option<Duration>,
    /// Whom `sslrootcert` trusts.
    root_trust: Trust,
    tls: TlsOptions,
}

impl UrlOptions {
    fn parse(query: &str) -> Result<Self, String> {
        let mut options = Self::default();
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            let value = percent_decode_str(value).decode_utf8_lossy();
            if !key
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '_')
            {
                return Err(
                    "it has an invalid option: if the user or the password has a /, @ or ?, write it \
                            as %2F, %40 or %3F"
                        .into(),
                );
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
                "ssl_min_protocol_version" => {
                    options.tls.min_version = Some(tls_version(&key, &value)?)
                }
                "ssl_max_protocol_version" => {
                    options.tls.max_version = Some(tls_version(&key, &value)?)
                }
                // All three mean the server that sign-ups can be written to.
                "target_session_attrs" => {
                    if !["any", "primary", "read-write"].contains(&&*value) {
                        return Err(
                            "its target_session_attrs must be any, primary or read-write: \
                                    sign-ups need a server that can be written to"
                                .into(),
                        );
                    }
                }
                // There is no GSSAPI here.
                "gssencmode" if ["disable", "prefer"].contains(&&*value) => {}
                "client_encoding"
                    if ["utf8", "utf-8", "auto"].contains(&&*value.to_lowercase()) => {}
                "tcp_user_timeout" => {
                    let millis = value.parse().map_err(|_| {
                        "its tcp_user_timeout must be a number of milliseconds".to_owned()
                    })?;
                    options.tcp_user_timeout = Some(Duration::from_millis(millis));
                }
                // The driver's name for it.
                "keepalives_count" => options.add("keepalives_retries", option, &value),
                name => options.add(name, option, &value),
            }
            options.names.push(key);
        }
        Ok(options)
    }

    /// Leaves an option to the driver.
    fn add(&mut self, name: &str, option: &str, value: &str) {
        let value_as_written = option.split_once('=').map_or(value, |(_, value)| value);
        // The driver would take an @ for the end of the credentials.
        let option = format!("{name}={}", value_as_written.replace('@', "%40"));
        if !["host", "hostaddr", "port"].contains(&name) {
            self.without_hosts.push(option.clone());
        }
        self.all.push(option);
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|it| it == name)
    }

    /// As in libpq's manual (34.19.1), where `require` trusts anybody unless it is told whom to trust, and to
    /// trust the system's authorities is to ask for the host's name too.
    fn tls(&self) -> Result<(SslMode, TlsOptions), String> {
        let default = match self.root_trust {
            Trust::Host => "verify-full",
            _ => "prefer",
        };
        let mode = self.mode.as_deref().unwrap_or(default);
        if self.root_trust == Trust::Host && mode != "verify-full" {
            return Err("sslrootcert=system takes sslmode=verify-full alone".into());
        }
        let (ssl, trust) = match mode {
            "disable" => (SslMode::Disable, Trust::Any),
            "allow" | "prefer" => (SslMode::Prefer, Trust::Any),
            "require" => (SslMode::Require, self.root_trust),
            "verify-ca" => (SslMode::Require, Trust::Authority),
            "verify-full" => (SslMode::Require, Trust::Host),
            _ => {
                return Err(
                    "its sslmode is invalid: write disable, allow, prefer, require, verify-ca or \
                     verify-full"
                        .into(),
                );
            }
        };
        let tls = TlsOptions {
            trust,
            ..self.tls.clone()
        };
        if tls.versions().is_empty() {
            return Err(
                "its ssl_max_protocol_version is below ssl_min_protocol_version, or below TLSv1.2, \
                 the oldest version that this program supports"
                    .into(),
            );
        }
        Ok((ssl, tls))
    }
}

/// The position of a version of TLS among those there are. Older ones than TLSv1.2 are not supported; a minimum
/// may name them.
fn tls_version(name: &str, value: &str) -> Result<u16, String> {
    match value {
        "TLSv1" | "TLSv1.1" => Ok(0),
        "TLSv1.2" => Ok(version::TLS12.version.into()),
        "TLSv1.3" => Ok(version::TLS13.version.into()),
        _ => Err(format!(
            "its {name} is invalid: write TLSv1, TLSv1.1, TLSv1.2 or TLSv1.3"
        )),
    }
}

impl TlsOptions {
    /// The supported versions that the URL allows.
    pub(super) fn versions(&self) -> Vec<&'static SupportedProtocolVersion> {
        let is_allowed = |it: &&&SupportedProtocolVersion| {
            let number = u16::from(it.version);
            self.min_version.is_none_or(|min| number >= min)
                && self.max_version.is_none_or(|max| number <= max)
        };
        let all = [&version::TLS13, &version::TLS12];
        all.iter().filter(is_allowed).copied().collect()
    }
}

/// The scheme with the credentials and their `@`, the hosts with the database, and the options. As libpq
/// does it, credentials end at the first `@` before any `/`. They may have a `?`, which begins no options.
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

/// The driver's words, which name options and no values.
fn describe_parse_error(error: &tokio_postgres::Error) -> String {
    let reason = std::error::Error::source(error).map(ToString::to_string);
    format!(
        "it can't be read: {}; write postgres://user:password@host:5432/database",
        reason.as_deref().unwrap_or("something is wrong with it")
    )
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
