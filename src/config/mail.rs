//! The options for sending mail.

use std::{fmt, path::PathBuf, str::FromStr};

use lettre::{Address, message::Mailbox};
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::values::{Secret, is_loopback};

/// The options for sending mail, of every command that does.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Mail")]
pub struct MailOptions {
    /// Mail server: smtps://USER:PASSWORD@HOST, or smtp://USER:PASSWORD@HOST:587 with STARTTLS. On a shared machine,
    /// set LANDING_SMTP instead, because other users can see the command line
    // Parsed by `settings` and not by clap, whose error message would show the password.
    #[arg(long, env = "LANDING_SMTP", hide_env_values = true, value_name = "URL")]
    smtp: Option<Secret>,

    /// Sender of messages, such as "Steward <hello@steward.example>"
    #[arg(long, env = "LANDING_MAIL_FROM", value_name = "SENDER")]
    mail_from: Option<String>,

    /// Address for messages that cannot be delivered [default: that of --mail-from]
    #[arg(long, env = "LANDING_BOUNCE_ADDRESS", value_name = "EMAIL")]
    bounce_address: Option<String>,

    /// Your postal address, for the footer of every message. Some laws require it
    #[arg(long, env = "LANDING_POSTAL_ADDRESS", value_name = "ADDRESS")]
    postal_address: Option<String>,

    /// File with the private RSA key that signs messages (DKIM), in PEM [default: the mail server signs]
    #[arg(long, env = "LANDING_DKIM_KEY", value_name = "FILE")]
    dkim_key: Option<PathBuf>,

    /// Name of that key in the DNS: the part before ._domainkey
    #[arg(long, env = "LANDING_DKIM_SELECTOR", value_name = "NAME")]
    dkim_selector: Option<String>,
}

/// The settings for sending mail.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// The mail server.
    pub smtp: SmtpUrl,
    /// The sender.
    pub from: MailFrom,
    /// The address for messages that cannot be delivered.
    pub bounce_address: String,
    /// The owner's postal address.
    pub postal_address: Option<String>,
    /// The key that signs messages, if the mail server does not.
    pub dkim: Option<DkimSettings>,
}

/// The key that signs messages (DKIM).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DkimSettings {
    /// The file with the private key.
    pub key: PathBuf,
    /// The name of the key in the DNS.
    pub selector: String,
}

/// The sender of messages: an address, and perhaps a name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MailFrom(Mailbox);

/// How the connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SmtpEncryption {
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// The connection must become encrypted before anything else is sent (RFC 3207).
    StartTls,
    /// The server is on this machine. The connection becomes encrypted if the login needs it.
    Optional,
}

/// The URL of a mail server. Neither `Debug` nor `Display` shows the user or the password.
#[derive(Clone)]
pub struct SmtpUrl {
    /// The encryption.
    pub encryption: SmtpEncryption,
    /// The host: a name, or an IP address. One of IPv6 has brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user and the password.
    pub credentials: Option<(String, String)>,
}

/// A setting for sending mail that is missing or invalid. The message never quotes the password.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidMailSetting {
    /// No mail server is set.
    #[error(
        "no mail server is set; set it with --smtp smtps://USER:PASSWORD@HOST, or LANDING_SMTP"
    )]
    NoServer,
    /// No sender is set.
    #[error(
        "no sender is set; set it with --mail-from \"Steward <hello@steward.example>\", or LANDING_MAIL_FROM"
    )]
    NoSender,
    /// The URL of the mail server is invalid.
    #[error("--smtp (LANDING_SMTP): {0}")]
    Smtp(InvalidSmtpUrl),
    /// The public URL of the site is not set.
    #[error(
        "the public URL of the site is not set; set it with --origin or LANDING_ORIGIN: the links in messages need it"
    )]
    NoOrigin,
    /// People would be welcomed who have not confirmed their address.
    #[error(
        "--welcome (LANDING_WELCOME) needs --confirm-signups: without it, the message would go to every address that \
         somebody types in; remove it if you switch confirmations off"
    )]
    WelcomeUnconfirmed,
    /// The sender is invalid.
    #[error(
        "--mail-from (LANDING_MAIL_FROM): expected a name and an address, such as \"Steward <hello@steward.example>\""
    )]
    From,
    /// The address for messages that cannot be delivered is invalid.
    #[error(
        "--bounce-address (LANDING_BOUNCE_ADDRESS): expected an e-mail address, such as bounces@steward.example"
    )]
    BounceAddress,
    /// Only one of the DKIM key and its name is set.
    #[error(
        "--dkim-key (LANDING_DKIM_KEY) and --dkim-selector (LANDING_DKIM_SELECTOR): set both or none"
    )]
    HalfDkim,
    /// The name of the DKIM key is invalid.
    #[error(
        "--dkim-selector (LANDING_DKIM_SELECTOR): expected letters, digits, hyphens and dots, such as mail2026"
    )]
    DkimSelector,
    /// The postal address has control characters.
    #[error("--postal-address (LANDING_POSTAL_ADDRESS): write the address in one line")]
    PostalAddress,
}

/// Why a text is not the URL of a mail server.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidSmtpUrl {
    /// The scheme is neither `smtps` nor `smtp`.
    #[error("the URL must start with smtps:// or smtp://")]
    Scheme,
    /// The URL cannot be parsed.
    #[error(
        "the URL is malformed; write special characters of the user and the password as %XX, such as %40 for @"
    )]
    Malformed,
    /// The URL has no host.
    #[error("the URL has no host")]
    NoHost,
    /// Only one of the user and the password is set.
    #[error("the URL has only one of user and password; set both or none")]
    HalfCredentials,
    /// The user or the password is not UTF-8.
    #[error("the user or the password is not UTF-8")]
    NotUtf8,
    /// The URL has a path, a query or a fragment.
    #[error("the URL must end after the host and the port")]
    Trailing,
}

impl MailOptions {
    /// Returns whether a mail server is set.
    pub fn is_set(&self) -> bool {
        self.smtp.is_some()
    }

    /// Checks the options.
    ///
    /// # Errors
    /// [`InvalidMailSetting`].
    pub fn settings(&self) -> Result<MailSettings, InvalidMailSetting> {
        let smtp = self.smtp.as_ref().ok_or(InvalidMailSetting::NoServer)?;
        let smtp = smtp
            .as_str()
            .trim()
            .parse()
            .map_err(InvalidMailSetting::Smtp)?;
        let from = self.mail_from.as_ref();
        let from: MailFrom = from.ok_or(InvalidMailSetting::NoSender)?.parse()?;
        let bounce_address = match &self.bounce_address {
            Some(address) => {
                let address = address.trim().parse::<Address>();
                let address = address.map_err(|_| InvalidMailSetting::BounceAddress)?;
                to_ascii(&address).ok_or(InvalidMailSetting::BounceAddress)?
            }
            None => from.address(),
        };
        let postal_address = self.postal_address.as_deref().map(str::trim);
        let postal_address = postal_address.filter(|address| !address.is_empty());
        if postal_address.is_some_and(|address| address.chars().any(char::is_control)) {
            return Err(InvalidMailSetting::PostalAddress);
        }
        let dkim = match (&self.dkim_key, &self.dkim_selector) {
            (None, None) => None,
            (Some(key), Some(selector)) => {
                let key = key.clone();
                let selector = selector.trim().to_owned();
                if !is_selector(&selector) {
                    return Err(InvalidMailSetting::DkimSelector);
                }
                Some(DkimSettings { key, selector })
            }
            _ => return Err(InvalidMailSetting::HalfDkim),
        };
        Ok(MailSettings {
            smtp,
            from,
            bounce_address,
            postal_address: postal_address.map(str::to_owned),
            dkim,
        })
    }
}

impl MailFrom {
    /// Returns the sender for a header.
    pub fn mailbox(&self) -> &Mailbox {
        &self.0
    }

    /// Returns the address, with its domain in ASCII.
    pub fn address(&self) -> String {
        self.0.email.to_string()
    }

    /// Returns the domain of the address, in ASCII.
    pub fn domain(&self) -> &str {
        self.0.email.domain()
    }
}

impl FromStr for MailFrom {
    type Err = InvalidMailSetting;

    fn from_str(text: &str) -> Result<Self, InvalidMailSetting> {
        let mailbox: Mailbox = text.trim().parse().map_err(|_| InvalidMailSetting::From)?;
        let has_control = |name: &String| name.chars().any(char::is_control);
        let address = to_ascii(&mailbox.email).and_then(|address| address.parse().ok());
        match address {
            Some(address) if !mailbox.name.as_ref().is_some_and(has_control) => {
                Ok(Self(Mailbox::new(mailbox.name, address)))
            }
            _ => Err(InvalidMailSetting::From),
        }
    }
}

/// Returns whether a text is a name of a key (RFC 6376, section 3.1): labels of a domain.
fn is_selector(text: &str) -> bool {
    text.len() <= 63
        && text.split('.').all(|label| {
            let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !label.is_empty() && label.bytes().all(is_valid)
        })
}

/// Returns an address with its domain in ASCII. Its part before the @ must be ASCII.
fn to_ascii(address: &Address) -> Option<String> {
    let domain = idna::domain_to_ascii_strict(address.domain()).ok()?;
    let user = address.user();
    user.is_ascii().then(|| format!("{user}@{domain}"))
}

/// Port of SMTP over TLS (RFC 8314).
const TLS_PORT: u16 = 465;
/// Port for submitting mail (RFC 6409).
const SUBMISSION_PORT: u16 = 587;

impl FromStr for SmtpUrl {
    type Err = InvalidSmtpUrl;

    fn from_str(text: &str) -> Result<Self, InvalidSmtpUrl> {
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => InvalidSmtpUrl::NoHost,
            url::ParseError::RelativeUrlWithoutBase => InvalidSmtpUrl::Scheme,
            _ => InvalidSmtpUrl::Malformed,
        })?;
        let (is_tls, default_port) = match url.scheme() {
            "smtps" => (true, TLS_PORT),
            "smtp" => (false, SUBMISSION_PORT),
            _ => return Err(InvalidSmtpUrl::Scheme),
        };
        if !["", "/"].contains(&url.path()) || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidSmtpUrl::Trailing);
        }
        // `Url` parses the hosts only of schemes such as `http`.
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = Host::parse(host.ok_or(InvalidSmtpUrl::NoHost)?);
        let host = host.map_err(|_| InvalidSmtpUrl::Malformed)?;
        let decode = |text: &str| {
            let text = percent_decode_str(text).decode_utf8();
            text.map(String::from).map_err(|_| InvalidSmtpUrl::NotUtf8)
        };
        let (user, password) = (decode(url.username())?, url.password().map(decode));
        let credentials = match password.transpose()? {
            Some(password) if !user.is_empty() && !password.is_empty() => Some((user, password)),
            None if user.is_empty() => None,
            _ => return Err(InvalidSmtpUrl::HalfCredentials),
        };
        Ok(Self {
            encryption: match (is_tls, is_loopback(&host)) {
                (true, _) => SmtpEncryption::Tls,
                (false, false) => SmtpEncryption::StartTls,
                (false, true) => SmtpEncryption::Optional,
            },
            host: host.to_string(),
            port: url.port().unwrap_or(default_port),
            credentials,
        })
    }
}

impl fmt::Display for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.encryption {
            SmtpEncryption::Tls => "smtps",
            SmtpEncryption::StartTls | SmtpEncryption::Optional => "smtp",
        };
        write!(f, "{scheme}://{}:{}", self.host, self.port)
    }
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SmtpUrl({self})")
    }
}
