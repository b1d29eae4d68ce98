//! Connects to a mail server, step by step. Each step has a time limit.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD as BASE64};
use futures_util::future::select_ok;
use mail_send::{Credentials, Error};
use smtp_proto::{AUTH_LOGIN, AUTH_PLAIN, EXT_START_TLS, EhloResponse};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{sleep, timeout},
};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, ProtocolVersion, RootCertStore, crypto::ring};

use super::{
    connection::SmtpConnection,
    error::{ConnectError, ConnectStep, TlsSetupError},
    raw_client::{RawClient, Stream, boxed},
    reply::SmtpReply,
    timeouts::SmtpTimeouts,
};
use crate::config::{SmtpEncryption, SmtpUrl};

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
    /// Used instead of looking up the host.
    addresses: Option<Vec<SocketAddr>>,
}

/// What a step has found.
#[derive(Clone, Debug)]
pub enum ConnectProgress {
    /// The TCP connection is open.
    Connected(SocketAddr),
    /// The connection is encrypted, with this version of TLS.
    Encrypted(Option<ProtocolVersion>),
    /// The server has greeted.
    Greeted(SmtpReply),
    /// The login has succeeded.
    LoggedIn,
}

impl SmtpClient {
    /// Prepares connections.
    ///
    /// # Errors
    /// [`TlsSetupError`].
    pub fn new(
        url: &SmtpUrl,
        hello_name: &str,
        timeouts: SmtpTimeouts,
    ) -> Result<Self, TlsSetupError> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() && url.encryption != SmtpEncryption::Optional {
            return Err(TlsSetupError::NoAuthority);
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
        self.connect_with_progress(&mut |_| {}).await
    }

    /// Like [`connect`](Self::connect), and reports each step.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect_with_progress(
        &self,
        report: &mut (dyn FnMut(ConnectProgress) + Send),
    ) -> Result<SmtpConnection, ConnectError> {
        let stream = self.connect_tcp().await?;
        if let Ok(address) = stream.peer_addr() {
            report(ConnectProgress::Connected(address));
        }
        let (mut client, hello) = match self.url.encryption {
            SmtpEncryption::Tls => {
                let mut client = self.encrypt(stream, report).await?;
                self.greet(&mut client, report).await?;
                let hello = self.hello(&mut client).await?;
                (client, hello)
            }
            SmtpEncryption::StartTls | SmtpEncryption::Optional => {
                self.greet_and_start_tls(stream, report).await?
            }
        };
        let mut secrets = Vec::new();
        if let Some((user, password)) = &self.url.credentials {
            secrets = login_secrets(user, password);
            let log_in = log_in(&mut client, (user, password), &hello, &secrets);
            log_in.await?;
            report(ConnectProgress::LoggedIn);
        }
        Ok(SmtpConnection::new(client, self.timeouts, secrets))
    }

    /// Connects to the first address that responds. Each has its own time limit and begins while the one before is still
    /// tried, so an address that swallows packets delays the others by a moment.
    async fn connect_tcp(&self) -> Result<TcpStream, ConnectError> {
        let (step, limit) = (ConnectStep::Connect, self.timeouts.connect);
        let is_late = |_| ConnectError::Timeout { step, limit };
        let addresses = match &self.addresses {
            Some(addresses) => addresses.clone(),
            None => {
                let found = lookup_host((self.url.host.as_str(), self.url.port));
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

    /// Greets the server without encryption, and encrypts the connection.
    async fn greet_and_start_tls(
        &self,
        stream: TcpStream,
        report: &mut (dyn FnMut(ConnectProgress) + Send),
    ) -> Result<(RawClient, EhloResponse<String>), ConnectError> {
        let mut plain = mail_send::SmtpClient {
            stream,
            timeout: self.timeouts.step,
        };
        self.greet(&mut plain, report).await?;
        let hello = self.hello(&mut plain).await?;
        let is_required = self.url.encryption == SmtpEncryption::StartTls;
        let is_offered = hello.has_capability(EXT_START_TLS);
        // Nobody listens on this machine, and servers on it often have a certificate that no authority has signed. But
        // some offer a login only over TLS.
        let needs_it = self.url.credentials.is_some() && hello.auth_mechanisms == 0;
        match is_offered {
            true if is_required || needs_it => {}
            false if is_required => return Err(ConnectError::NoStartTls),
            _ => return Ok((boxed(plain), hello)),
        }
        // mail-send discards what the server has sent after its response. An attacker may have added it, and it must
        // not pass for the response to a later command (CVE-2011-0411).
        let response = plain.cmd(b"STARTTLS\r\n").await;
        let response = response.map_err(|error| self.step_error(ConnectStep::StartTls, error))?;
        if response.code() != 220 {
            return Err(ConnectError::Rejected {
                step: ConnectStep::StartTls,
                reply: SmtpReply::new(&response),
            });
        }
        let mut client = self.encrypt(plain.stream, report).await?;
        let hello = self.hello(&mut client).await?;
        Ok((client, hello))
    }

    async fn encrypt(
        &self,
        stream: TcpStream,
        report: &mut (dyn FnMut(ConnectProgress) + Send),
    ) -> Result<RawClient, ConnectError> {
        let plain = mail_send::SmtpClient {
            stream,
            timeout: self.timeouts.step,
        };
        let encrypted = plain.into_tls(&self.tls, &self.url.host).await;
        let client = encrypted.map_err(|error| self.step_error(ConnectStep::Tls, error))?;
        let version = client.tls_connection().protocol_version();
        report(ConnectProgress::Encrypted(version));
        Ok(boxed(client))
    }

    async fn greet<T: Stream>(
        &self,
        client: &mut mail_send::SmtpClient<T>,
        report: &mut (dyn FnMut(ConnectProgress) + Send),
    ) -> Result<(), ConnectError> {
        let (step, limit) = (ConnectStep::Greeting, self.timeouts.step);
        let greeting = timeout(limit, client.read()).await;
        let greeting = greeting.map_err(|_| ConnectError::Timeout { step, limit })?;
        let greeting = greeting.map_err(|error| self.step_error(step, error))?;
        let reply = SmtpReply::new(&greeting);
        if greeting.code() != 220 {
            return Err(ConnectError::Rejected { step, reply });
        }
        report(ConnectProgress::Greeted(reply));
        Ok(())
    }

    async fn hello<T: Stream>(
        &self,
        client: &mut mail_send::SmtpClient<T>,
    ) -> Result<EhloResponse<String>, ConnectError> {
        let hello = client.ehlo(&self.hello_name).await;
        hello.map_err(|error| self.step_error(ConnectStep::Hello, error))
    }

    fn step_error(&self, step: ConnectStep, error: Error) -> ConnectError {
        step_error(step, error, self.timeouts.step)
    }
}

/// Returns what no reply may show. Some servers repeat what they did not understand.
fn login_secrets(user: &str, password: &str) -> Vec<String> {
    vec![
        password.to_owned(),
        BASE64.encode(password),
        BASE64.encode(format!("\0{user}\0{password}")),
    ]
}

async fn log_in(
    client: &mut RawClient,
    (user, password): (&str, &str),
    hello: &EhloResponse<String>,
    secrets: &[String],
) -> Result<(), ConnectError> {
    let credentials = Credentials::new(user, password);
    // One way to log in. mail-send would try the others after a rejection, with which the server may have closed the
    // connection.
    let offered = hello.auth_mechanisms;
    let ways = [AUTH_PLAIN, AUTH_LOGIN];
    let way = ways.into_iter().find(|way| offered & way != 0);
    let mut hello = hello.clone();
    hello.auth_mechanisms = way.ok_or(ConnectError::NoLogIn)?;
    let quote = |reply| SmtpReply::new(reply).without(secrets);
    let limit = client.timeout;
    match client.authenticate(&credentials, &hello).await {
        Ok(_) => Ok(()),
        Err(Error::UnsupportedAuthMechanism) => Err(ConnectError::NoLogIn),
        // 421 and 454 say that the server has a problem.
        Err(Error::AuthenticationFailed(reply)) if reply.code() >= 500 => {
            Err(ConnectError::LogInRejected(quote(&reply)))
        }
        Err(Error::AuthenticationFailed(reply)) => Err(ConnectError::Rejected {
            step: ConnectStep::LogIn,
            reply: quote(&reply),
        }),
        Err(error) => Err(step_error(ConnectStep::LogIn, error, limit)),
    }
}

fn step_error(step: ConnectStep, error: Error, limit: Duration) -> ConnectError {
    match error {
        Error::Timeout => ConnectError::Timeout { step, limit },
        Error::Io(error) => ConnectError::Broken { step, error },
        Error::Tls(error) => ConnectError::Tls(*error),
        Error::InvalidTLSName => {
            let error = io::Error::other("the host is not a valid name for TLS");
            ConnectError::Broken { step, error }
        }
        Error::UnexpectedReply(reply) => ConnectError::Rejected {
            step,
            reply: SmtpReply::new(&reply),
        },
        _ => ConnectError::Protocol(step),
    }
}
