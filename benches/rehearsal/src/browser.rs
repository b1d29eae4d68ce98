//! A visitor's browser: opens connections as browsers do, keeps them for further requests, and sends a request again
//! if the server closes a connection that was idle.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::{
    net::{TcpSocket, TcpStream},
    sync::{Mutex as AsyncMutex, Semaphore},
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// Connections of a browser to a site over HTTP/1.1.
const HTTP1_CONNECTIONS: usize = 6;
/// How long a visitor waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 windows of a stream and of a connection in bytes, as Chrome's.
const STREAM_WINDOW: u32 = 6 << 20;
const CONNECTION_WINDOW: u32 = 15 << 20;

pub(crate) type Body = Full<Bytes>;

/// Where a browser connects to.
pub(crate) struct Target {
    pub(crate) addr: SocketAddr,
    /// The origin in the address bar, such as `https://localhost:8443`.
    pub(crate) origin: String,
    /// With it, the browser speaks HTTP/2 over TLS, otherwise HTTP/1.1.
    pub(crate) tls: Option<TlsConnector>,
}

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("{0}")]
    Http(hyper::Error),
    #[error("no response within {RESPONSE_TIMEOUT:?}")]
    Timeout,
}

/// A response that has arrived.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) body: Bytes,
}

/// A browser with its open connections.
pub(crate) struct Browser {
    target: Arc<Target>,
    /// The visitor's own address.
    address: Ipv4Addr,
    /// For each connection that may be open.
    connections: Semaphore,
    idle: Mutex<Vec<http1::SendRequest<Body>>>,
    http2: AsyncMutex<Option<http2::SendRequest<Body>>>,
}

impl Browser {
    pub(crate) fn new(target: Arc<Target>, address: Ipv4Addr) -> Self {
        Self {
            target,
            address,
            connections: Semaphore::new(HTTP1_CONNECTIONS),
            idle: Mutex::default(),
            http2: AsyncMutex::default(),
        }
    }

    pub(crate) fn origin(&self) -> &str {
        &self.target.origin
    }

    /// Sends a request, and returns the whole response.
    ///
    /// # Errors
    /// [`RequestError`].
    pub(crate) async fn send(&self, request: &Request<Body>) -> Result<Reply, RequestError> {
        let exchange = async {
            match self.target.tls {
                Some(_) => self.send_http2(request).await,
                None => self.send_http1(request).await,
            }
        };
        let result = timeout(RESPONSE_TIMEOUT, exchange).await;
        result.unwrap_or(Err(RequestError::Timeout))
    }

    async fn send_http1(&self, request: &Request<Body>) -> Result<Reply, RequestError> {
        let permit = self.connections.acquire().await;
        let _permit = permit.expect("the semaphore is never closed");
        loop {
            let idle = self.idle().pop();
            let is_new = idle.is_none();
            let mut connection = match idle {
                Some(connection) if connection.is_closed() => continue,
                Some(connection) => connection,
                None => self.open_http1().await?,
            };
            match connection.send_request(request.clone()).await {
                Ok(response) => {
                    let reply = read(response).await?;
                    if connection.ready().await.is_ok() {
                        self.idle().push(connection);
                    }
                    return Ok(reply);
                }
                Err(error) if !is_new && is_of_closed_connection(&error) => {}
                Err(error) => return Err(RequestError::Http(error)),
            }
        }
    }

    async fn send_http2(&self, request: &Request<Body>) -> Result<Reply, RequestError> {
        loop {
            let (mut connection, is_new) = {
                let mut http2 = self.http2.lock().await;
                match &*http2 {
                    Some(connection) if !connection.is_closed() => (connection.clone(), false),
                    _ => (http2.insert(self.open_http2().await?).clone(), true),
                }
            };
            match connection.send_request(request.clone()).await {
                Ok(response) => return read(response).await,
                Err(error) if !is_new && is_of_closed_connection(&error) => {}
                Err(error) => return Err(RequestError::Http(error)),
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<http1::SendRequest<Body>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> io::Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((self.address, 0).into())?;
        socket.set_nodelay(true)?;
        socket.connect(self.target.addr).await
    }

    async fn open_http1(&self) -> Result<http1::SendRequest<Body>, RequestError> {
        let stream = self.connect().await.map_err(RequestError::Connect)?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(RequestError::Http)?;
        // Its errors are those of the requests.
        tokio::spawn(connection);
        Ok(sender)
    }

    async fn open_http2(&self) -> Result<http2::SendRequest<Body>, RequestError> {
        let tls = self.target.tls.as_ref().expect("HTTP/2 is over TLS");
        let stream = self.connect().await.map_err(RequestError::Connect)?;
        let name = ServerName::try_from("localhost").expect("a valid name");
        let stream = tls.connect(name, stream).await;
        let stream = stream.map_err(RequestError::Connect)?;
        let handshake = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = handshake.map_err(RequestError::Http)?;
        tokio::spawn(connection);
        Ok(sender)
    }
}

/// Returns whether a browser sends a request again, on a new connection, if it got no head of a response: the server has closed
/// an idle one.
fn is_of_closed_connection(error: &hyper::Error) -> bool {
    let is_reset = |error: &dyn std::error::Error| {
        let io = error.source().and_then(|it| it.downcast_ref::<io::Error>());
        io.is_some_and(|it| {
            let kinds = [io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe];
            kinds.contains(&it.kind())
        })
    };
    error.is_canceled() || error.is_closed() || error.is_incomplete_message() || is_reset(error)
}

/// Reads the whole response. A browser does not ask again for one that is cut off.
async fn read(response: Response<Incoming>) -> Result<Reply, RequestError> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(RequestError::Http)?;
    let etag = head.headers.get("etag").and_then(|it| it.to_str().ok());
    Ok(Reply {
        status: head.status.as_u16(),
        etag: etag.map(str::to_owned),
        body: body.to_bytes(),
    })
}
