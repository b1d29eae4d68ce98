//! A TCP proxy in front of PostgreSQL that closes, holds back or delays what it forwards.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::sleep,
};

/// What happens to a statement and its connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// The connection is closed before the database receives the statement.
    BeforeStatement,
    /// The connection is closed when the database has executed the statement, and the response is lost.
    AfterStatement,
    /// The connection is closed, and the database receives the statement when the test releases it.
    DeliverLate,
    /// Like [`Fault::DeliverLate`], but the client's connection stays open.
    HoldOpen,
    /// The database executes the statement. The connection stays open, and the client gets no response.
    NoResponse,
}

const FAULT_KINDS: usize = 5;

/// A running proxy. Its faults apply to statements that contain its pattern.
pub(crate) struct FaultProxy {
    pub(crate) port: u16,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The port of the database.
    server_port: u16,
    /// An empty pattern matches every statement.
    pattern: &'static str,
    /// The faults of the next matching statement.
    is_armed: [AtomicBool; FAULT_KINDS],
    /// The number of the matching statement, from 1, that arms each fault. 0 stands for none.
    armed_by: [AtomicU64; FAULT_KINDS],
    /// Matching statements so far.
    statements: AtomicU64,
    /// Faults so far.
    faults: AtomicU64,
    release: Notify,
    was_delivered: Notify,
    drops_responses: AtomicBool,
    is_paused: AtomicBool,
    /// Whether matching statements wait in the proxy.
    holds_matching: AtomicBool,
    /// Statements that have waited so far.
    held: AtomicU64,
    /// Delay of each response, in milliseconds.
    delay: AtomicU64,
}

impl FaultProxy {
    /// Starts a proxy on a free port, in front of a port of this machine.
    pub(crate) async fn start(server_port: u16, pattern: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let state = Arc::new(State {
            server_port,
            pattern,
            ..State::default()
        });
        let proxy = Self {
            port: listener.local_addr().expect("the listener is bound").port(),
            state: Arc::clone(&state),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&state)));
            }
        });
        proxy
    }

    /// Makes the next matching statement fail.
    pub(crate) fn fail_next(&self, fault: Fault) {
        self.state.is_armed[fault as usize].store(true, Ordering::SeqCst);
    }

    /// Makes one matching statement fail, after this many others.
    pub(crate) fn fail_after(&self, fault: Fault, others: u64) {
        let so_far = self.state.statements.load(Ordering::SeqCst);
        self.state.armed_by[fault as usize].store(so_far + others + 1, Ordering::SeqCst);
    }

    /// Drops the responses to all matching statements from now on.
    pub(crate) fn drop_all_responses(&self) {
        self.state.drops_responses.store(true, Ordering::SeqCst);
    }

    /// Delays each response from now on.
    pub(crate) fn delay(&self, delay: Duration) {
        let millis = delay.as_millis().try_into().expect("a short delay");
        self.state.delay.store(millis, Ordering::SeqCst);
    }

    /// Holds back all bytes until the proxy is no longer paused.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        self.state.is_paused.store(is_paused, Ordering::SeqCst);
    }

    /// Holds back matching statements until it no longer does.
    pub(crate) fn set_holding(&self, is_holding: bool) {
        self.state
            .holds_matching
            .store(is_holding, Ordering::SeqCst);
    }

    /// Returns the number of statements that were held back so far.
    pub(crate) fn held(&self) -> u64 {
        self.state.held.load(Ordering::SeqCst)
    }

    /// Returns the number of faults so far.
    pub(crate) fn faults(&self) -> u64 {
        self.state.faults.load(Ordering::SeqCst)
    }

    /// Delivers the statement that is held back, and waits until the database has executed it.
    pub(crate) async fn release(&self) {
        self.state.release.notify_one();
        self.state.was_delivered.notified().await;
    }
}

impl State {
    fn matches(&self, bytes: &[u8]) -> bool {
        let mut windows = bytes.windows(self.pattern.len().max(1));
        self.pattern.is_empty() || windows.any(|window| window == self.pattern.as_bytes())
    }

    /// Counts a matching statement, and arms the faults that it is due for.
    fn register_statement(&self) {
        let number = self.statements.fetch_add(1, Ordering::SeqCst) + 1;
        for (is_armed, armed_by) in self.is_armed.iter().zip(&self.armed_by) {
            is_armed.fetch_or(number == armed_by.load(Ordering::SeqCst), Ordering::SeqCst);
        }
    }

    /// Disarms a fault. Returns whether it was armed, and counts it if so.
    fn take_fault(&self, fault: Fault) -> bool {
        let was_armed = self.is_armed[fault as usize].swap(false, Ordering::SeqCst);
        if was_armed {
            self.faults.fetch_add(1, Ordering::SeqCst);
        }
        was_armed
    }

    async fn wait_while_holding(&self) {
        if self.holds_matching.load(Ordering::SeqCst) {
            self.held.fetch_add(1, Ordering::SeqCst);
        }
        while self.holds_matching.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn wait_while_paused(&self) {
        while self.is_paused.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Forwards bytes both ways. Neither end uses TLS, so the proxy can read the statements.
async fn forward(mut client: TcpStream, state: Arc<State>) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", state.server_port)).await else {
        return;
    };
    let (mut request, mut response) = ([0; 1 << 16], [0; 1 << 16]);
    // Whether a matching statement waits for its response. Another one may follow it before.
    let mut is_waiting = false;
    loop {
        tokio::select! {
            read = client.read(&mut request) => {
                let Ok(length @ 1..) = read else { return };
                state.wait_while_paused().await;
                // Each connection prepares a statement once, and then sends only its parameters: addresses.
                let bytes = &request[..length];
                let is_matching = state.matches(bytes);
                is_waiting |= is_matching;
                if is_matching {
                    state.wait_while_holding().await;
                    state.register_statement();
                }
                if is_matching && state.take_fault(Fault::BeforeStatement) {
                    return;
                }
                let is_late = is_matching && state.take_fault(Fault::DeliverLate);
                if is_late || is_matching && state.take_fault(Fault::HoldOpen) {
                    let _held_open = (!is_late).then_some(client);
                    state.release.notified().await;
                    // The database closes a connection that has not logged in after a minute. Then nothing arrives any more.
                    if server.write_all(bytes).await.is_ok() && server.shutdown().await.is_ok() {
                        // It executes everything that it got, also a whole transaction, before it sees the end.
                        while let Ok(1..) = server.read(&mut response).await {}
                    }
                    return state.was_delivered.notify_one();
                }
                if server.write_all(bytes).await.is_err() { return }
            }
            read = server.read(&mut response) => {
                let Ok(length @ 1..) = read else { return };
                state.wait_while_paused().await;
                if is_waiting && state.take_fault(Fault::AfterStatement) {
                    return;
                }
                if is_waiting && state.drops_responses.load(Ordering::SeqCst) {
                    state.is_armed[Fault::NoResponse as usize].store(true, Ordering::SeqCst);
                }
                if is_waiting && state.take_fault(Fault::NoResponse) {
                    return std::future::pending().await;
                }
                is_waiting = false;
                sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst))).await;
                if client.write_all(&response[..length]).await.is_err() { return }
            }
        }
    }
}
