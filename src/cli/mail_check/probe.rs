//! Asks the site whether its unsubscribe links work as mail programs use them (RFC 8058).

use std::{sync::Arc, time::Duration};

use axum::body::Body;
use hyper::{Method, Request, Response, StatusCode, body::Incoming, client::conn::http1, header};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName};
use url::Url;

use super::Finding;
use crate::config::Origin;

/// Time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A token that was never made. The site must answer it without a redirect, so a GET and a POST show how it treats
/// links, and nobody is unsubscribed.
const TOKEN: &str = "mail-check";

/// The forms of the one-click request.
const BODIES: [(&str, &str); 2] = [
    (
        "application/x-www-form-urlencoded",
        "List-Unsubscribe=One-Click",
    ),
    (
        "multipart/form-data; boundary=landing",
        "--landing\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--landing--\r\n",
    ),
];

/// Sends requests to an unsubscribe link that belongs to nobody.
pub(super) async fn probe(origin: &Origin) -> Finding {
    let url = format!("{}/unsubscribe/{TOKEN}", origin.as_str());
    match try_link(&url).await {
        Ok(()) if url.starts_with("http:") => Finding::problem(format!(
            "the unsubscribe links of {} work, but mail programs only use https: links",
            origin.as_str()
        )),
        Ok(()) => Finding::ok(format!("the unsubscribe links of {} work", origin.as_str())),
        Err(problem) => Finding::problem(format!(
            "the unsubscribe link {url} does not work: {problem}"
        )),
    }
}

async fn try_link(url: &str) -> Result<(), String> {
    let requests = [(Method::GET, None), (Method::HEAD, None)];
    let posts = BODIES.map(|body| (Method::POST, Some(body)));
    for (method, body) in requests.into_iter().chain(posts) {
        let response = timeout(TIMEOUT, request(url, method.clone(), body)).await;
        let response = response.map_err(|_| "no response within 10 seconds".to_owned())??;
        check(&method, &response)?;
    }
    Ok(())
}

/// Checks a response to a link that belongs to nobody: a page of this program, without a redirect and a cookie.
fn check(method: &Method, response: &Response<Incoming>) -> Result<(), String> {
    let status = response.status();
    if status.is_redirection() {
        return Err(format!(
            "{method} is redirected; a proxy must pass it on as it is"
        ));
    }
    if response.headers().contains_key(header::SET_COOKIE) {
        return Err(format!("the response to {method} sets a cookie"));
    }
    let is_ours = response
        .headers()
        .get("x-robots-tag")
        .is_some_and(|it| it == "noindex");
    if !is_ours {
        return Err(format!(
            "the response to {method} is {status}, and not from this program; check --origin and the proxy"
        ));
    }
    if status != StatusCode::NOT_FOUND {
        return Err(format!(
            "the site responds to {method} with {status}; see the log of the server"
        ));
    }
    Ok(())
}

async fn request(
    url: &str,
    method: Method,
    body: Option<(&str, &'static str)>,
) -> Result<Response<Incoming>, String> {
    let url = Url::parse(url).map_err(|error| error.to_string())?;
    let host = url.host_str().unwrap_or_default().to_owned();
    let port = url.port_or_known_default().unwrap_or(443);
    let address = (host.trim_matches(['[', ']']).to_owned(), port);
    let stream = TcpStream::connect(address)
        .await
        .map_err(|error| error.to_string())?;
    let (content_type, body) = body.unwrap_or_default();
    let authority = url
        .port()
        .map_or(host.clone(), |port| format!("{host}:{port}"));
    let mut request = Request::builder().method(method).uri(url.path());
    request = request.header(header::HOST, authority);
    if !content_type.is_empty() {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let request = request
        .body(Body::from(body))
        .map_err(|error| error.to_string())?;
    if url.scheme() == "http" {
        return exchange(stream, request).await;
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host).map_err(|error| error.to_string())?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await;
    exchange(stream.map_err(|error| error.to_string())?, request).await
}

/// Sends a request over a connection.
async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    request: Request<Body>,
) -> Result<Response<Incoming>, String> {
    let handshake = http1::handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    sender
        .send_request(request)
        .await
        .map_err(|error| error.to_string())
}
