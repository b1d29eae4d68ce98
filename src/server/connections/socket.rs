//! The socket that accepts connections.

use std::{io, net::SocketAddr};

use tokio::net::{TcpListener, TcpSocket};

use super::super::limits::{LISTEN_BACKLOG, SEND_BUFFER_BYTES};

/// Reserves an address, without accepting connections yet.
///
/// # Errors
/// If the address is not available, for example because another process listens on it.
pub fn bind(addr: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match addr {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // After a restart, the old connections must not block the address.
    socket.set_reuseaddr(true)?;
    socket.bind(addr)?;
    Ok(socket)
}

/// Takes a reserved address, before [`listen`] accepts the connections, which wait in the kernel's queue until then.
///
/// # Errors
/// If another process listens on the address since it was bound.
pub fn take_address(socket: &TcpSocket) -> io::Result<()> {
    Ok(rustix::net::listen(socket, LISTEN_BACKLOG as i32)?)
}

/// Accepts connections on a socket, for [`super::super::serve`]. Needs a runtime.
///
/// # Errors
/// If another process listens on the address since it was bound.
pub fn listen(socket: TcpSocket) -> io::Result<TcpListener> {
    // Each connection has it from here.
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
    socket.listen(LISTEN_BACKLOG)
}
