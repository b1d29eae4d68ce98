//! Connects to a mail server. Each step has a time limit.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures_util::future::select_ok;
use mail_send::{Credentials, Error, smtp::AssertReply};
use smtp_proto::{AUTH_LOGIN, AUTH_PLAIN, EXT_START_TLS, EhloResponse};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{
    ClientConfig, ProtocolVersion, RootCertStore, crypto::ring, pki_types::ServerName,
};

use super::{
    connection::{ConnectionInfo, SmtpConnection},
    error::{ConnectError, ConnectStep},
    raw_client::{RawClient, raw_client},
    reply::HiddenWords,
    timeouts::SmtpTimeouts,
};
use crate::{
    config::{SmtpEncryption, SmtpUrl},
    mail::setup_error::MailSetupError,
    waitlist::ServerReply,
};

/// Maximum number of addresses of a mail server that are tried.
const ADDRESSES_MAX: usize = 8;
/// How long an address is tried alone before the next one is tried too (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);

/// Opens connections to a mail server.
#[derive(Clone)]
pub struct SmtpClient {
    url: SmtpUrl,
    /// The name by which it introduces itself.
    hello_name: String,
    tls: TlsConnector,
    timeouts: SmtpTimeouts,
    /// What no reply may show.
    hidden: HiddenWords,
    /// Used instead of looking up the host.
    addresses: Option<Vec<SocketAddr>>,
}

impl SmtpClient {
    /// Prepares connections.
    ///
    /// # Errors
    /// [`MailSetupError`].
    pub fn new(
        url: &SmtpUrl,
        hello_name: &str,
        timeouts: SmtpTimeouts,
    ) -> Result<Self, MailSetupError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() && url.encryption != SmtpEncryption::Optional {
            return Err(MailSetupError::NoAuthority);
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self {
            url: url.clone(),
            hello_name: hello_name.to_owned(),
            tls: TlsConnector::from(Arc::new(config)),
            timeouts,
            hidden: HiddenWords::of_login(url.credentials.as_ref()),
            addresses: None,
        })
    }

    /// Connects to these addresses, instead of looking up the host.
    #[must_use]
    pub fn with_addresses(mut self, addresses: Vec<SocketAddr>) -> Self {
        self.addresses = Some(addresses);
        self
    }

    /// Connects and logs in.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self) -> Result<SmtpConnection, ConnectError> {
        let stream = self.connect_tcp().await?;
        let address = stream.peer_addr().map_err(ConnectError::Connect)?;
        let mut client = raw_client(stream, self.timeouts.step);
        let mut encryption = None;
        if self.url.encryption == SmtpEncryption::Tls {
            (client, encryption) = self.encrypt(client).await?;
        }
        let greeting = self.greet(&mut client).await?;
        let mut hello = self.hello(&mut client).await?;
        if self.needs_start_tls(&hello)? {
            self.start_tls(&mut client).await?;
            (client, encryption) = self.encrypt(client).await?;
            hello = self.hello(&mut client).await?;
        }
        if let Some((user, password)) = &self.url.credentials {
            let credentials = Credentials::new(user, password);
            self.log_in(&mut client, &credentials, hello).await?;
        }
        let info = ConnectionInfo {
            address,
            encryption,
            greeting,
        };
        Ok(SmtpConnection {
            client,
            info,
            timeouts: self.timeouts,
            secrets: self.hidden.secrets.clone(),
            is_usable: true,
            needs_reset: false,
        })
    }

    /// Connects to the first address that responds. Each has its own time limit and begins while the one before is still
    /// tried, so an address that swallows packets delays the others by a moment.
    async fn connect_tcp(&self) -> Result<TcpStream, ConnectError> {
        let (step, limit) = (ConnectStep::Connect, self.timeouts.connect);
        let is_late = |_| ConnectError::Timeout { step, limit };
        let addresses = match &self.addresses {
            Some(addresses) => addresses.clone(),
            None => {
                let found = lookup_host(format!("{}:{}", self.url.host, self.url.port));
                let found = timeout(limit, found).await.map_err(is_late)?;
                found.map_err(ConnectError::Connect)?.collect()
            }
        };
        let attempts = (0..).zip(addresses.into_iter().take(ADDRESSES_MAX));
        let attempts: Vec<_> = attempts
            .map(|(at, address)| {
                Box::pin(async move {
                    sleep(HEAD_START * at).await;
                    let connected = timeout(limit, TcpStream::connect(address)).await;
                    connected.map_err(is_late)?.map_err(ConnectError::Connect)
                })
            })
            .collect();
        if attempts.is_empty() {
            let error = io::Error::other("the host has no address");
            return Err(ConnectError::Connect(error));
        }
        let (stream, _) = select_ok(attempts).await?;
        // Commands wait for responses.
        stream.set_nodelay(true).map_err(ConnectError::Connect)?;
        Ok(stream)
    }

    async fn greet(&self, client: &mut RawClient) -> Result<ServerReply, ConnectError> {
        let (step, limit) = (ConnectStep::Greeting, self.timeouts.step);
        let greeting = timeout(limit, client.read()).await;
        let greeting = greeting.map_err(|_| ConnectError::Timeout { step, limit })?;
        let greeting = greeting.map_err(|error| self.step_error(step, error))?;
        let reply = self.hidden.reply(&greeting);
        let accepted = greeting.assert_code(220);
        accepted.map_err(|error| self.step_error(step, error))?;
        Ok(reply)
    }

    async fn hello(&self, client: &mut RawClient) -> Result<EhloResponse<String>, ConnectError> {
        let hello = client.ehlo(&self.hello_name).await;
        hello.map_err(|error| self.step_error(ConnectStep::Hello, error))
    }

    /// Returns whether the connection must be encrypted now.
    fn needs_start_tls(&self, hello: &EhloResponse<String>) -> Result<bool, ConnectError> {
        // Nobody listens on this machine, and servers on it often have a certificate that no authority has signed. But
        // some offer a login only over TLS, which Optional must use then.
        let is_login_hidden = self.url.credentials.is_some() && hello.auth_mechanisms == 0;
        let is_offered = hello.has_capability(EXT_START_TLS);
        match self.url.encryption {
            SmtpEncryption::Tls => Ok(false),
            SmtpEncryption::StartTls if !is_offered => Err(ConnectError::NoStartTls),
            SmtpEncryption::StartTls => Ok(true),
            SmtpEncryption::Optional => Ok(is_offered && is_login_hidden),
        }
    }

    async fn start_tls(&self, client: &mut RawClient) -> Result<(), ConnectError> {
        // mail-send discards what the server has sent after its response. An attacker may have added it, and it must
        // not pass for the response to a later command (CVE-2011-0411).
        let response = client.cmd(b"STARTTLS\r\n").await;
        let accepted = response.and_then(|it| it.assert_code(220));
        accepted.map_err(|error| self.step_error(ConnectStep::StartTls, error))
    }

    async fn encrypt(
        &self,
        client: RawClient,
    ) -> Result<(RawClient, Option<ProtocolVersion>), ConnectError> {
        let (step, limit) = (ConnectStep::Tls, self.timeouts.step);
        let broken = |error| ConnectError::Broken { step, error };
        let name = self.url.host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(name);
        let name = name.map_err(|error| broken(io::Error::other(error)))?;
        let encrypted = timeout(limit, self.tls.connect(name, client.stream)).await;
        let encrypted = encrypted.map_err(|_| ConnectError::Timeout { step, limit })?;
        let stream = encrypted.map_err(|error| match error.downcast() {
            Ok(error) => ConnectError::Tls(error),
            Err(error) => broken(error),
        })?;
        let version = stream.get_ref().1.protocol_version();
        Ok((raw_client(stream, limit), version))
    }

    async fn log_in(
        &self,
        client: &mut RawClient,
        credentials: &Credentials<&String>,
        mut hello: EhloResponse<String>,
    ) -> Result<(), ConnectError> {
        // One way to log in. mail-send would try the others after a rejection, with which the server may have closed the
        // connection.
        let ways = [AUTH_PLAIN, AUTH_LOGIN];
        let way = ways
            .into_iter()
            .find(|way| hello.auth_mechanisms & way != 0);
        hello.auth_mechanisms = way.ok_or(ConnectError::NoLogIn)?;
        let step = ConnectStep::LogIn;
        match client.authenticate(credentials, &hello).await {
            Ok(_) => Ok(()),
            Err(Error::AuthenticationFailed(reply)) => {
                let (code, reply) = (reply.code(), self.hidden.reply(&reply));
                // 421 and 454 say that the server has a problem.
                Err(match code >= 500 {
                    true => ConnectError::LogInRejected(reply),
                    false => ConnectError::Rejected { step, reply },
                })
            }
            Err(error) => Err(self.step_error(step, error)),
        }
    }

    fn step_error(&self, step: ConnectStep, error: Error) -> ConnectError {
        let limit = self.timeouts.step;
        match error {
            Error::Timeout => ConnectError::Timeout { step, limit },
            Error::Io(error) => ConnectError::Broken { step, error },
            Error::UnexpectedReply(reply) => ConnectError::Rejected {
                step,
                reply: self.hidden.reply(&reply),
            },
            _ => {
                let error = "the server closed it or does not speak SMTP";
                let error = io::Error::other(error);
                ConnectError::Broken { step, error }
            }
        }
    }
}
