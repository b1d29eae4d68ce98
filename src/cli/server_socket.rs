//! The socket of the server.

use std::{io, net::SocketAddr};

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};

use crate::server::{bind, listen};

/// A socket that does not accept connections yet.
pub(super) struct ServerSocket {
    socket: TcpSocket,
    addr: SocketAddr,
}

/// Why there is no socket.
#[derive(Debug, Error)]
pub(super) enum SocketError {
    #[error("cannot listen on {addr}: {error}; {advice}", advice = advice(.error))]
    Unavailable { addr: SocketAddr, error: io::Error },
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "stop the process that uses it, or choose another address with --addr"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have this address; choose another one with --addr"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 need a privilege; choose another port with --addr, and let a reverse proxy listen on \
             port 443"
        }
        _ => "choose another address with --addr",
    }
}

impl SocketError {
    pub(super) fn is_address_in_use(&self) -> bool {
        let Self::Unavailable { error, .. } = self;
        error.kind() == io::ErrorKind::AddrInUse
    }
}

impl ServerSocket {
    /// Reserves an address.
    ///
    /// # Errors
    /// [`SocketError`].
    pub(super) fn bind(addr: SocketAddr) -> Result<Self, SocketError> {
        let socket = bind(addr).map_err(|error| SocketError::Unavailable { addr, error })?;
        Ok(Self { socket, addr })
    }

    /// Starts to accept connections. Needs a runtime.
    ///
    /// # Errors
    /// [`SocketError`], for example if another process listens on the address by now.
    pub(super) fn listen(self) -> Result<TcpListener, SocketError> {
        let Self { socket, addr } = self;
        listen(socket).map_err(|error| SocketError::Unavailable { addr, error })
    }
}
