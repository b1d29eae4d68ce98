//! A client for requests to other servers.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore, crypto::ring};

/// How long a connection waits for the next request. A firewall on the way may forget one that is idle for minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the head of a response, in bytes.
const HEAD_MAX_BYTES: usize = 1 << 16;

/// A client for HTTP/1.1, with or without TLS. It follows no redirects.
pub struct HttpClient(Client<HttpsConnector<HttpConnector>, Body>);

/// Why there is no response. The text has neither the URL nor anything else of the request.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The server cannot be reached.
    #[error("cannot connect: {0}")]
    Connect(String),
    /// The server does not speak HTTP.
    #[error("it sent no HTTP response: {0}")]
    Response(String),
    /// The server is too slow.
    #[error("no response within {} seconds", .0.as_secs())]
    TimedOut(Duration),
}

impl HttpClient {
    /// Creates a client that trusts the authorities of the system. A machine without any, such as a small container, can
    /// still send requests without TLS.
    ///
    /// # Errors
    /// If rustls has no cipher that works.
    pub fn new() -> Result<Self, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions()?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        let connector = HttpsConnectorBuilder::new().with_tls_config(config);
        let connector = connector.https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .http1_max_buf_size(HEAD_MAX_BYTES)
            .build(connector);
        Ok(Self(client))
    }

    /// Sends a request, and returns the response, whose body is not read yet. `limit` is the longest time until its head.
    ///
    /// # Errors
    /// [`HttpError`]. The server may have the request all the same.
    pub async fn send(
        &self,
        request: Request<Body>,
        limit: Duration,
    ) -> Result<Response<Body>, HttpError> {
        let response = timeout(limit, self.0.request(request)).await;
        let response = response.map_err(|_| HttpError::TimedOut(limit))?;
        // The causes around the innermost one only say which step has failed.
        let root_cause = |error| anyhow::Error::from(error).root_cause().to_string();
        let response = response.map_err(|error| match error.is_connect() {
            true => HttpError::Connect(root_cause(error)),
            false => HttpError::Response(root_cause(error)),
        });
        Ok(response?.map(Body::new))
    }
}
