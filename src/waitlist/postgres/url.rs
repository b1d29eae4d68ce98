//! Where a database is, and how it is spoken to: a URL as libpq takes it (PostgreSQL's manual, 34.1.1.2),
//! with several hosts and the settings of TLS.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Config, Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};

use super::tls::{Tls, Trust};

/// How long one host may take to be connected to, unless the URL says `connect_timeout`.
const CONNECT_PATIENCE: Duration = Duration::from_secs(2);

/// After so long a silence the other machine is asked whether it is there.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// `postgres://…`. Neither `Debug` nor `Display` shows who logs in, or the password.
#[derive(Clone)]
pub struct DatabaseUrl {
    pub(super) config: Config,
    pub(super) tls: Tls,
}

impl DatabaseUrl {
    /// Whether a text is meant to be one.
    pub fn is_one(text: &str) -> bool {
        ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme))
    }
}

impl FromStr for DatabaseUrl {
    /// Never has the text in it: there may be a password.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !Self::is_one(text) {
            return Err("a database's URL begins with postgres://".into());
        }
        let (credentials, place, query) = parts(text);
        if place.contains('@') {
            return Err("its user or password has an @ or a /: write them as %40 and %2F".into());
        }
        let mut tls = Tls::default();
        let (mut mode, mut others, mut by_root) = (None, Vec::new(), Trust::Anybody);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            let key = percent_decode_str(key).decode_utf8_lossy();
            let value = percent_decode_str(value).decode_utf8_lossy();
            // What the driver does not know. The rest is its business.
            match &*key {
                "sslmode" => mode = Some(value.into_owned()),
                "sslrootcert" if value == "system" => by_root = Trust::Host,
                "sslrootcert" => {
                    by_root = Trust::Authority;
                    tls.root = Some(PathBuf::from(&*value));
                }
                "sslcert" => tls.certificate = Some(PathBuf::from(&*value)),
                "sslkey" => tls.key = Some(PathBuf::from(&*value)),
                // The driver would take an @ for the end of the credentials.
                _ => others.push(option.replace('@', "%40")),
            }
        }
        let url = format!("{credentials}{place}?{}", others.join("&"));
        let mut config: Config = url.parse().map_err(|error| told(&error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err("it names no host: write postgres://user@host/database".into());
        }

        // As in libpq's manual (34.19.1), where `require` trusts anybody unless it is told whom to trust,
        // and to trust the system's authorities is to ask for the host's name too.
        let default = match by_root {
            Trust::Host => "verify-full",
            _ => "prefer",
        };
        if by_root == Trust::Host && mode.as_deref().is_some_and(|mode| mode != "verify-full") {
            return Err("sslrootcert=system takes sslmode=verify-full alone".into());
        }
        let (ssl, trust) = match mode.as_deref().unwrap_or(default) {
            "disable" => (SslMode::Disable, Trust::Anybody),
            "allow" | "prefer" => (SslMode::Prefer, Trust::Anybody),
            "require" => (SslMode::Require, by_root),
            "verify-ca" => (SslMode::Require, Trust::Authority),
            "verify-full" => (SslMode::Require, Trust::Host),
            _ => {
                return Err(
                    "its sslmode is none: write disable, prefer, require, verify-ca or \
                            verify-full"
                        .into(),
                );
            }
        };
        config.ssl_mode(ssl);
        tls.trust = trust;

        // A standby can keep nobody.
        config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        if config.get_hosts().len() > 1 && !query.contains("load_balance_hosts=") {
            // In the order given, one that hangs would keep all from the next.
            config.load_balance_hosts(LoadBalanceHosts::Random);
        }
        if !query.contains("keepalives") {
            // That a machine has vanished is found in half a minute. Without this it takes two hours.
            config.keepalives_idle(KEEPALIVE);
            config.keepalives_interval(KEEPALIVE);
            config.keepalives_retries(2);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_PATIENCE);
        }
        if config.get_application_name().is_none() {
            config.application_name(env!("CARGO_PKG_NAME"));
        }
        Ok(Self { config, tls })
    }
}

/// The scheme with the credentials and their `@`, the hosts with the database, and the options. As libpq
/// does it, credentials end at the first `@` before any `/`. They may have a `?`, which begins no options.
fn parts(url: &str) -> (&str, &str, &str) {
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[scheme..].find(['@', '/']);
    let end = end.map_or(scheme, |at| scheme + at);
    let end = if url[end..].starts_with('@') {
        end + 1
    } else {
        scheme
    };
    let (credentials, rest) = url.split_at(end);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    (credentials, place, query)
}

/// The driver's words, which name options and no values.
fn told(error: &tokio_postgres::Error) -> String {
    let why = std::error::Error::source(error).map(ToString::to_string);
    format!(
        "it can't be read: {}; write postgres://user:password@host:5432/database",
        why.as_deref().unwrap_or("something is wrong with it")
    )
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports = self.config.get_ports();
        let port = |at: usize| *ports.get(at).or(ports.first()).unwrap_or(&5432);
        let hosts: Vec<_> = if self.config.get_hosts().is_empty() {
            let hosts = self.config.get_hostaddrs().iter().enumerate();
            hosts.map(|(at, ip)| format!("{ip}:{}", port(at))).collect()
        } else {
            let hosts = self.config.get_hosts().iter().enumerate();
            let name = |(at, host): (usize, &Host)| match host {
                Host::Tcp(name) => format!("{name}:{}", port(at)),
                Host::Unix(folder) => format!("{}:{}", folder.display(), port(at)),
            };
            hosts.map(name).collect()
        };
        let database = self.config.get_dbname().unwrap_or_default();
        write!(f, "postgres://{}/{database}", hosts.join(","))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
