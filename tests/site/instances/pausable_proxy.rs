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
pub(super) struct Line {
    pub(super) port: u16,
    is_hole: Arc<AtomicBool>,
}

impl Line {
    pub(super) fn to(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let line = Self {
            port: listener.local_addr().expect("it is bound").port(),
            is_hole: Arc::default(),
        };
        let is_hole = Arc::clone(&line.is_hole);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", to)) else {
                    continue;
                };
                let back = (server.try_clone(), client.try_clone());
                let (Ok(from), Ok(into)) = back else { continue };
                carry(client, server, Arc::clone(&is_hole));
                carry(from, into, Arc::clone(&is_hole));
            }
        });
        line
    }

    /// Whether what comes from now on stays where it is.
    pub(super) fn swallow(&self, is_hole: bool) {
        self.is_hole.store(is_hole, Ordering::SeqCst);
    }
}

/// Carries bytes until an end closes. What comes while it is a hole stays where it is.
fn carry(mut from: TcpStream, mut into: TcpStream, is_hole: Arc<AtomicBool>) {
    thread::spawn(move || {
        let mut bytes = [0; 1 << 14];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            while is_hole.load(Ordering::SeqCst) {
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
