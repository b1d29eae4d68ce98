//! The answer to what is no request.
//!
//! hyper gives it by itself, with a status and nothing else: none of the site's headers, no word of
//! what to do, no line in the log. So what hyper says is kept back, and the site answers.

use std::{convert::Infallible, future::ready};

use axum::http::StatusCode;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{io::join, net::TcpStream, time::timeout};

use super::super::{ApiError, AppState, edge, limits::LINGER};

/// Where hyper's own answer begins in what it is about to write, and what is wrong. It is the last that
/// hyper writes to a connection.
pub(super) fn of_hyper(bytes: &[u8]) -> Option<(usize, ApiError)> {
    let (rest, tail) = bytes.split_at_checked(bytes.len().checked_sub(TAIL.len())?)?;
    if !tail.starts_with(FIELDS) {
        return None;
    }
    // Ours have other fields in between.
    let rest = rest.strip_suffix(b"\r\n")?;
    let start = rest
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let status = rest[start..].strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    let error = match StatusCode::from_bytes(status).ok()? {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => ApiError::HeadTooLarge,
        StatusCode::URI_TOO_LONG => ApiError::UrlTooLong,
        _ => ApiError::BadRequest,
    };
    Some((start, error))
}

const FIELDS: &[u8] = b"connection: close\r\ncontent-length: 0\r\ndate: ";
const TAIL: &[u8] =
    b"connection: close\r\ncontent-length: 0\r\ndate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n";

/// Answers on a connection that hyper has given up. What HTTP has of an answer besides is hyper's to
/// write: it is given a request that it understands.
pub(super) async fn answer(state: &AppState, error: ApiError, stream: &mut TcpStream) {
    let request = &b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n"[..];
    let service = service_fn(|_| {
        let refused = edge::refuse(state, error.clone());
        ready(Ok::<_, Infallible>(refused))
    });
    let mut http = http1::Builder::new();
    let answered = http
        .half_close(true)
        .serve_connection(TokioIo::new(join(request, stream)), service);
    // Who does not read it has been told nothing.
    let _ = timeout(LINGER.0, answered).await;
}
