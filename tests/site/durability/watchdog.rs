//! Keep-alives for the watchdog of the service manager. They stop only while the store hangs.

use std::{
    os::unix::net::UnixDatagram,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;

use super::strace::with_fault;
use crate::{
    fault_proxy::FaultProxy,
    postgres_server::SHARED_SERVER,
    process::{Sandbox, ServerProcess, TEST_TIMEOUT},
};

/// For a store on the disk, which responds at once.
const WATCHDOG_TIMEOUT: Duration = Duration::from_secs(1);
/// For a database: longer than the deadlines of its statements, after which the store reports an outage.
const DATABASE_WATCHDOG_TIMEOUT: Duration = Duration::from_secs(10);

/// A service manager that only receives notifications.
pub(crate) struct ServiceManager(UnixDatagram);

impl ServiceManager {
    /// Starts to listen, and gives the command the environment of a service with a watchdog.
    pub(crate) fn supervise(sandbox: &Sandbox, command: &mut Command, timeout: Duration) -> Self {
        let path = sandbox.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("the directory is writable");
        command
            .env("NOTIFY_SOCKET", path)
            .env("WATCHDOG_USEC", timeout.as_micros().to_string());
        Self(socket)
    }

    /// Returns whether a keep-alive arrives in this time.
    fn receives_keep_alive(&self, timeout: Duration) -> bool {
        self.receives("WATCHDOG=1", timeout)
    }

    /// Returns whether a notification arrives in this time. It drops others.
    pub(crate) fn receives(&self, wanted: &str, timeout: Duration) -> bool {
        let start = Instant::now();
        let mut notification = [0; 1024];
        loop {
            let rest = timeout.saturating_sub(start.elapsed());
            if rest.is_zero() {
                return false;
            }
            self.0
                .set_read_timeout(Some(rest))
                .expect("a valid timeout");
            match self.0.recv(&mut notification) {
                Ok(length) if notification[..length].starts_with(wanted.as_bytes()) => return true,
                _ => {}
            }
        }
    }
}

#[test]
fn keep_alives_stop_while_the_disk_hangs() {
    let sandbox = Sandbox::new();
    // Creates the list, so that the fault applies to the first sign-up.
    sandbox.serve().signal("-TERM");
    let mut command = with_fault(&sandbox, "fdatasync:delay_enter=12000000:when=1");
    let manager = ServiceManager::supervise(&sandbox, &mut command, WATCHDOG_TIMEOUT);
    let server = ServerProcess::start(command);
    for _ in 0..4 {
        assert!(manager.receives_keep_alive(WATCHDOG_TIMEOUT));
    }
    thread::scope(|scope| {
        scope.spawn(|| server.join("ann@example.com"));
        let start = Instant::now();
        while manager.receives_keep_alive(3 * WATCHDOG_TIMEOUT) {
            assert!(start.elapsed() < 6 * WATCHDOG_TIMEOUT, "they continue");
        }
        // The store responds again.
        assert!(manager.receives_keep_alive(TEST_TIMEOUT));
    });
}

#[test]
fn keep_alives_continue_during_an_outage_of_the_database() {
    let runtime = Runtime::new().expect("a runtime");
    let proxy = runtime.block_on(FaultProxy::start(SHARED_SERVER.port, ""));
    let url = SHARED_SERVER.create_database();
    let url = url.replace(
        &format!(":{}/", SHARED_SERVER.port),
        &format!(":{}/", proxy.port),
    );
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("DATABASE_URL", url);
    let manager = ServiceManager::supervise(&sandbox, &mut command, DATABASE_WATCHDOG_TIMEOUT);
    let server = ServerProcess::start(command);
    assert!(manager.receives_keep_alive(DATABASE_WATCHDOG_TIMEOUT));

    proxy.set_paused(true);
    assert_eq!(server.join("ann@example.com"), "503");
    // Discards the earlier ones.
    while manager.receives_keep_alive(Duration::from_millis(1)) {}
    for _ in 0..3 {
        assert!(manager.receives_keep_alive(DATABASE_WATCHDOG_TIMEOUT));
    }
}
