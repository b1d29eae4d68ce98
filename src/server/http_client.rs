//! A client for requests to other servers.

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore, crypto::ring};

/// How long a connection waits for the next request. A firewall on the way may forget one that is idle for minutes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the head of a response, in bytes.
const HEAD_MAX_BYTES: usize = 1 << 16;

/// A client for HTTP/1.1, with or without TLS. It follows no redirects.
pub(super) type HttpClient = Client<HttpsConnector<HttpConnector>, Body>;

/// Creates a client that trusts the authorities of the system. A machine without any, such as a small container, can still
/// send requests without TLS.
///
/// # Errors
/// If rustls has no cipher that works.
pub fn http_client() -> Result<HttpClient, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions()?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(config);
    let connector = connector.https_or_http().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .http1_max_buf_size(HEAD_MAX_BYTES)
        .build(connector))
}
