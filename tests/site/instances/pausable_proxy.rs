//! A line to the database that a test can turn into a hole.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// A line to a port of this machine that can swallow what it carries.
pub(super) struct PausableProxy {
    pub(super) port: u16,
    is_paused: Arc<AtomicBool>,
}

impl PausableProxy {
    pub(super) fn to(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let proxy = Self {
            port: listener.local_addr().expect("it is bound").port(),
            is_paused: Arc::default(),
        };
        let is_paused = Arc::clone(&proxy.is_paused);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else {
                    continue;
                };
                let back = (server.try_clone(), client.try_clone());
                let (Ok(from), Ok(into)) = back else { continue };
                forward(client, server, Arc::clone(&is_paused));
                forward(from, into, Arc::clone(&is_paused));
            }
        });
        proxy
    }

    /// Whether what comes from now on stays where it is.
    pub(super) fn set_paused(&self, is_paused: bool) {
        self.is_paused.store(is_paused, Ordering::SeqCst);
    }
}

/// Carries bytes until an end closes. What comes while it is a hole stays where it is.
fn forward(mut from: TcpStream, mut into: TcpStream, is_paused: Arc<AtomicBool>) {
    thread::spawn(move || {
        let mut bytes = [0; 1 << 14];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            while is_paused.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(10));
            }
            if into.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = into.shutdown(Shutdown::Both);
    });
}
