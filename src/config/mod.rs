//! The server's command-line options. Every `--some-flag` can also be set as `LANDING_SOME_FLAG` in the
//! environment. The option takes precedence.
//!
//! `mail` has the options for sending mail, `confirmation` those for confirming addresses, and `webhook` those of the
//! webhook. `values` parses the values of the options.

mod confirmation;
mod mail;
mod values;
mod webhook;

use std::net::SocketAddr;

use clap::builder::BoolishValueParser;
use ipnet::IpNet;

use crate::copy;
use values::{parse_contact_email, parse_network};

pub use confirmation::{ConfirmOptions, ConfirmSettings, ConfirmSwitch};
pub use mail::{
    DkimSettings, InvalidMailSetting, MailFrom, MailOptions, MailSettings, SmtpEncryption, SmtpUrl,
};
pub use values::{InvalidValue, LinkUrl, Origin, number, parse_addr, parse_product_name};
pub use webhook::{InvalidWebhookSetting, WebhookOptions, WebhookSettings};

/// The address and port on which the server listens by default.
pub const DEFAULT_ADDR: &str = "127.0.0.1:3000";

/// The configuration of the server.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// Address and port to listen on
    #[arg(
        long,
        env = "LANDING_ADDR",
        value_name = "IP:PORT",
        default_value = DEFAULT_ADDR,
        value_parser = parse_addr
    )]
    pub addr: SocketAddr,

    /// The public URL, or `None` for the default: only an owner who left it unset is warned.
    #[arg(long, env = "LANDING_ORIGIN", value_name = "URL", help = format!(
        "Public URL of the site, for link previews and the sitemap [default: {}]", copy::ORIGIN
    ))]
    pub origin: Option<Origin>,

    /// Hosts that browsers must reach by https for two years, if the origin is https: the origin's host, or its
    /// sub-domains too
    #[arg(
        long,
        env = "LANDING_HSTS",
        value_name = "HOSTS",
        value_enum,
        default_value_t
    )]
    pub hsts: Hsts,

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
        default_value_t = 0,
        value_parser = number::<u64>(0..=u64::MAX)
    )]
    pub count_from: u64,

    /// Show each person who joins a link to invite others, and the place in line: people who have invited more come first
    #[arg(long, env = "LANDING_INVITES", value_parser = BoolishValueParser::new())]
    pub invites: bool,

    /// URL of the Privacy link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_PRIVACY_URL", value_name = "URL")]
    pub privacy_url: Option<LinkUrl>,

    /// URL of the Terms link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_TERMS_URL", value_name = "URL")]
    pub terms_url: Option<LinkUrl>,

    /// URL of the Support link [default: none; the link is a placeholder]
    #[arg(long, env = "LANDING_SUPPORT_URL", value_name = "URL")]
    pub support_url: Option<LinkUrl>,

    /// Sign-up attempts per IPv4 address and minute, and the largest burst; a twelfth of it per IPv6 /64; 0 removes the
    /// limit
    #[arg(
        long,
        env = "LANDING_SIGNUPS_PER_MINUTE",
        value_name = "N",
        // 300 people behind one address, such as a conference's, can sign up within two minutes, also if two thirds of
        // them do in the first one: 120 at once, and 120 in each minute.
        default_value_t = 120,
        value_parser = number::<u32>(0..=u32::MAX.into())
    )]
    pub signups_per_minute: u32,

    /// Addresses and networks of reverse proxies that are trusted to report the client's address in X-Forwarded-For, such as
    /// 127.0.0.1,10.0.0.0/8 [default: none]
    #[arg(
        long,
        env = "LANDING_TRUSTED_PROXIES",
        value_name = "CIDR,…",
        value_delimiter = ',',
        value_parser = parse_network
    )]
    pub trusted_proxies: Vec<IpNet>,

    /// Maximum number of connections that are served at a time; further ones wait
    #[arg(
        long,
        env = "LANDING_MAX_CONNECTIONS",
        value_name = "N",
        default_value_t = 4096,
        value_parser = number::<u32>(1..=1_000_000)
    )]
    pub max_connections: u32,

    /// Seconds that open requests and messages may take to finish after SIGTERM or Ctrl-C
    #[arg(
        long,
        env = "LANDING_SHUTDOWN_GRACE",
        value_name = "SECONDS",
        default_value_t = 10,
        value_parser = number::<u64>(0..=u64::MAX)
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

    /// Least severe lines of the log; debug adds the requests of health checks
    #[arg(
        long,
        env = "LANDING_LOG_LEVEL",
        value_name = "LEVEL",
        value_enum,
        default_value_t
    )]
    pub log_level: LogLevel,

    /// The options for confirming addresses.
    #[command(flatten)]
    pub confirm: ConfirmOptions,

    /// The options of the webhook.
    #[command(flatten)]
    pub webhook: WebhookOptions,

    /// The options for sending mail.
    #[command(flatten)]
    pub mail: MailOptions,
}

impl Config {
    /// Returns the public URL of the site, without a trailing slash. If it is not set, it is that of the examples.
    pub fn origin_or_default(&self) -> &str {
        self.origin.as_ref().map_or(copy::ORIGIN, Origin::as_str)
    }
}

/// The hosts that `Strict-Transport-Security` covers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum Hsts {
    /// None: the header is not sent.
    Off,
    /// The host of the origin.
    #[default]
    Host,
    /// The host of the origin, and all its sub-domains.
    Subdomains,
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

/// The least severe lines that the log has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, clap::ValueEnum)]
pub enum LogLevel {
    /// Only errors.
    Error,
    /// Also warnings.
    Warn,
    /// Also requests, and what the server does.
    #[default]
    Info,
    /// Also the successful requests of health checks.
    Debug,
}
