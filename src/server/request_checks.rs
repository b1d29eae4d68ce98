//! What every request must meet before its handler runs: its host and its method.

use std::net::Ipv6Addr;

use axum::{
    extract::Request,
    http::{Method, Version, header},
};

use super::RequestError;

/// Checks the host and the method. hyper limits the size of the head.
///
/// # Errors
/// [`RequestError::InvalidHost`] and [`RequestError::UnknownMethod`].
pub(super) fn check(request: &Request) -> Result<(), RequestError> {
    check_host(request)?;
    let method = method_name(request.method());
    method.map(drop).ok_or(RequestError::UnknownMethod)
}

/// Returns the name of a method that RFC 9110 or RFC 5789 has. Routes respond to those that they do not have with 405.
pub(super) fn method_name(method: &Method) -> Option<&'static str> {
    let methods = [
        "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT",
    ];
    methods.into_iter().find(|known| method == known)
}

/// Checks that a request names one host, and that it is valid (RFC 9112, 3.2; RFC 9113, 8.3.1). Otherwise a proxy could route
/// it by one host, and this server by another.
///
/// # Errors
/// [`RequestError::InvalidHost`].
fn check_host(request: &Request) -> Result<(), RequestError> {
    let authority = request.uri().authority().map(|it| it.as_str().as_bytes());
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().map(|it| it.as_bytes());
    let is_named = match request.version() {
        Version::HTTP_11 => host.is_some(),
        Version::HTTP_2 => match authority.zip(host) {
            Some((authority, host)) => authority.eq_ignore_ascii_case(host),
            None => authority.or(host).is_some(),
        },
        // HTTP/1.0 has no hosts.
        _ => true,
    };
    let are_valid = authority.into_iter().chain(host).all(is_valid);
    match is_named && are_valid && hosts.next().is_none() {
        true => Ok(()),
        false => Err(RequestError::InvalidHost),
    }
}

/// Returns whether this is a domain or an IP address, with or without a port. RFC 3986 would allow every name of
/// sub-delimiters, such as `a,b`, and no domain has one.
fn is_valid(host: &[u8]) -> bool {
    let Ok(host) = str::from_utf8(host) else {
        return false;
    };
    let ipv6 = host.strip_prefix('[').and_then(|it| it.split_once(']'));
    let (is_name, port) = match ipv6 {
        Some((address, port)) => (address.parse::<Ipv6Addr>().is_ok(), port),
        None => {
            let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
            let is_name_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (!name.is_empty() && name.bytes().all(is_name_byte), port)
        }
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let is_port = port.is_empty() || port.starts_with(':');
    is_name && is_port && digits.bytes().all(|byte| byte.is_ascii_digit())
}
