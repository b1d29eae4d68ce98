//! A wire to the database that a test can cut.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use landing::waitlist::DatabaseUrl;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
    time::sleep,
};

use crate::postgres_server::SHARED_SERVER;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// Before the database gets the statement.
    BeforeStatement,
    /// When the database has done it, and before anybody is told.
    AfterStatement,
    /// Before the database gets the statement; but it gets it in the end, when it is let go.
    DeliverLate,
    /// The same, but whoever has sent it is not told that the connection is cut.
    HoldOpen,
    /// When the database has done it, and nobody is ever told anything.
    NoResponse,
}

const FAULT_KINDS: usize = 5;

/// Listens in front of the shared server.
pub(super) struct FaultProxy {
    pub(super) url: DatabaseUrl,
    /// Past the wire.
    pub(super) direct: DatabaseUrl,
    pub(super) port: u16,
    /// Of the database.
    pub(super) name: String,
    /// The URL with `HOSTS` for what can be named there.
    pub(super) both: String,
    state: Arc<State>,
}

struct State {
    /// Cut the next connection that carries these bytes to the database.
    pattern: &'static str,
    is_armed: [AtomicBool; FAULT_KINDS],
    /// Which one is to be cut off then.
    later: [AtomicU64; FAULT_KINDS],
    /// Of every so many such statements one is cut off; of none when it is 0.
    every: AtomicU64,
    statements: AtomicU64,
    faults: AtomicU64,
    release: Notify,
    has_arrived: Notify,
    drops_responses: AtomicBool,
    /// How long each response takes, in milliseconds.
    delay: AtomicU64,
}

impl FaultProxy {
    /// To a new database, for statements that have `pattern` in them.
    pub(super) async fn to_new_database(pattern: &'static str) -> Self {
        let direct = SHARED_SERVER.create_database();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let url = direct.replace(&format!(":{}/", SHARED_SERVER.port), &format!(":{port}/"));
        let state = Arc::new(State {
            pattern,
            is_armed: Default::default(),
            later: [const { AtomicU64::new(u64::MAX) }; FAULT_KINDS],
            every: AtomicU64::new(0),
            statements: AtomicU64::new(0),
            faults: AtomicU64::new(0),
            release: Notify::new(),
            has_arrived: Notify::new(),
            drops_responses: AtomicBool::new(false),
            delay: AtomicU64::new(0),
        });
        let proxy = Self {
            url: url.parse().expect("a URL"),
            both: direct.replace(&format!("127.0.0.1:{}", SHARED_SERVER.port), "HOSTS"),
            direct: direct.parse().expect("a URL"),
            port,
            name: direct.rsplit('/').next().expect("a name").to_owned(),
            state: Arc::clone(&state),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, Arc::clone(&state)));
            }
        });
        proxy
    }

    /// Has the next such statement cut off.
    pub(super) fn fail_next(&self, cut: Fault) {
        self.state.is_armed[cut as usize].store(true, Ordering::SeqCst);
    }

    /// From now on, none of such statements is answered.
    pub(super) fn drop_all_responses(&self) {
        self.state.drops_responses.store(true, Ordering::SeqCst);
    }

    /// Has the second of such statements from now cut off.
    pub(super) fn fail_second(&self, cut: Fault) {
        self.fail_after(cut, 1);
    }

    /// Has one of such statements cut off, after so many others.
    pub(super) fn fail_after(&self, cut: Fault, others: u64) {
        let next = self.state.statements.load(Ordering::SeqCst);
        self.state.later[cut as usize].store(next + others, Ordering::SeqCst);
    }

    /// Has one in so many cut off, now before it is done and now after it.
    pub(super) fn fail_one_in(&self, every: u64) {
        self.state.every.store(every, Ordering::SeqCst);
    }

    /// From now on, each response takes so long.
    pub(super) fn delay(&self, delay: Duration) {
        let millis = delay.as_millis().try_into().expect("not for ages");
        self.state.delay.store(millis, Ordering::SeqCst);
    }

    pub(super) fn faults(&self) -> u64 {
        self.state.faults.load(Ordering::SeqCst)
    }

    /// Lets go of what is late, and waits until the database has done it.
    pub(super) async fn release(&self) {
        self.state.release.notify_one();
        self.state.has_arrived.notified().await;
    }
}

impl State {
    /// Another of those statements is on its way.
    fn count(&self) {
        let number = self.statements.fetch_add(1, Ordering::SeqCst);
        for (is_armed, later) in self.is_armed.iter().zip(&self.later) {
            is_armed.fetch_or(number == later.load(Ordering::SeqCst), Ordering::SeqCst);
        }
        let every = self.every.load(Ordering::SeqCst);
        if every > 0 && number.is_multiple_of(every) {
            let cut = if number.is_multiple_of(3) {
                Fault::BeforeStatement
            } else {
                Fault::AfterStatement
            };
            self.is_armed[cut as usize].store(true, Ordering::SeqCst);
        }
    }

    fn takes_fault(&self, cut: Fault) -> bool {
        let is_to_be = self.is_armed[cut as usize].swap(false, Ordering::SeqCst);
        if is_to_be {
            self.faults.fetch_add(1, Ordering::SeqCst);
        }
        is_to_be
    }
}

/// Carries bytes both ways. TLS is off on both ends, so they can be looked at.
async fn forward(mut client: TcpStream, state: Arc<State>) {
    let server = TcpStream::connect(("127.0.0.1", SHARED_SERVER.port)).await;
    let mut server = server.expect("it listens");
    let (mut asked, mut answered) = ([0; 1 << 16], [0; 1 << 16]);
    let mut matches_pattern = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                // A statement is prepared once on each connection, and then carries addresses.
                let bytes = &asked[..length];
                matches_pattern = state.pattern.is_empty()
                    || bytes.windows(state.pattern.len()).any(|at| at == state.pattern.as_bytes());
                if matches_pattern {
                    state.count();
                }
                if matches_pattern && state.takes_fault(Fault::BeforeStatement) {
                    return;
                }
                let is_late = matches_pattern && state.takes_fault(Fault::DeliverLate);
                if is_late || matches_pattern && state.takes_fault(Fault::HoldOpen) {
                    let _held = (!is_late).then_some(client);
                    state.release.notified().await;
                    server.write_all(bytes).await.expect("it reads");
                    assert!(server.read(&mut answered).await.expect("it answers") > 0);
                    return state.has_arrived.notify_one();
                }
                if server.write_all(bytes).await.is_err() { return }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if matches_pattern && state.takes_fault(Fault::AfterStatement) {
                    return;
                }
                if matches_pattern && state.drops_responses.load(Ordering::SeqCst) {
                    state.is_armed[Fault::NoResponse as usize].store(true, Ordering::SeqCst);
                }
                if matches_pattern && state.takes_fault(Fault::NoResponse) {
                    return std::future::pending().await;
                }
                sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst))).await;
                if client.write_all(&answered[..length]).await.is_err() { return }
            }
        }
    }
}
