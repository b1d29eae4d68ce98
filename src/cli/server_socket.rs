//! The socket of the server: bound to `--addr`, or inherited from the service manager.
//!
//! systemd can keep the socket open while the program restarts (`LISTEN_FDS`, sd_listen_fds(3)). New connections then
//! wait in the kernel's queue, and no visitor notices the restart.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    os::fd::OwnedFd,
};

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};

use crate::server::{bind, listen, take_address};

/// A socket that does not accept connections yet.
pub(super) struct ServerSocket {
    socket: TcpSocket,
    is_inherited: bool,
    addr: SocketAddr,
}

/// Why there is no socket.
#[derive(Debug, Error)]
pub(super) enum SocketError {
    #[error("cannot listen on {addr}: {error}; {advice}", advice = advice(.error))]
    Unavailable { addr: SocketAddr, error: io::Error },
    #[error(
        "cannot use the socket of the service manager: {0}; check the .socket unit, or start the program without \
         LISTEN_FDS"
    )]
    Inherited(io::Error),
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
        matches!(self, Self::Unavailable { error, .. } if error.kind() == io::ErrorKind::AddrInUse)
    }
}

impl ServerSocket {
    /// Takes over the socket of the service manager, if it passes one to this process. Call it before any thread
    /// starts, because it changes the environment.
    ///
    /// # Errors
    /// [`SocketError`].
    pub(super) fn inherit() -> Result<Option<Self>, SocketError> {
        Self::take_inherited().map_err(SocketError::Inherited)
    }

    fn take_inherited() -> io::Result<Option<Self>> {
        // listenfd ignores malformed variables, so they are checked here.
        let count = sd_notify::listen_fds()?.len();
        if count == 0 {
            return Ok(None);
        }
        if count > 1 {
            let error = format!("it passes {count} sockets; keep one ListenStream=");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let Some(listener) = ListenFd::from_env().take_tcp_listener(0)? else {
            return Ok(None);
        };
        // `Accept=yes` in the .socket unit passes connections.
        if !socket_acceptconn(&listener)? {
            let error = "fd 3 does not listen";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
        }
        let addr = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        // As a stream, because tokio offers no other conversion. It listens already; `listen` sets the length of its
        // queue.
        let socket = TcpSocket::from_std_stream(TcpStream::from(OwnedFd::from(listener)));
        Ok(Some(Self {
            socket,
            is_inherited: true,
            addr,
        }))
    }

    /// Reserves an address.
    ///
    /// # Errors
    /// [`SocketError`].
    pub(super) fn bind(addr: SocketAddr) -> Result<Self, SocketError> {
        let socket = bind(addr).map_err(|error| SocketError::Unavailable { addr, error })?;
        Ok(Self {
            socket,
            is_inherited: false,
            addr,
        })
    }

    pub(super) fn is_inherited(&self) -> bool {
        self.is_inherited
    }

    /// Takes the address, before [`listen`](Self::listen) accepts connections, which wait until then. Two processes
    /// can reserve an address, for the sake of restarts, but only one can take it.
    ///
    /// # Errors
    /// [`SocketError`], if another process has taken the address.
    pub(super) fn take_address(&self) -> Result<(), SocketError> {
        if self.is_inherited {
            // The service manager has taken it, and has set the length of the queue.
            return Ok(());
        }
        let addr = self.addr;
        take_address(&self.socket).map_err(|error| SocketError::Unavailable { addr, error })
    }

    /// Starts to accept connections. Needs a runtime.
    ///
    /// # Errors
    /// [`SocketError`], for example if another process listens on the address by now.
    pub(super) fn listen(self) -> Result<TcpListener, SocketError> {
        let Self {
            socket,
            is_inherited,
            addr,
        } = self;
        listen(socket).map_err(|error| match is_inherited {
            true => SocketError::Inherited(error),
            false => SocketError::Unavailable { addr, error },
        })
    }
}
