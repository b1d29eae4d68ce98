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

use crate::postgres_server::SHARED;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Cut {
    /// Before the database gets the statement.
    Before,
    /// When the database has done it, and before anybody is told.
    After,
    /// Before the database gets the statement; but it gets it in the end, when it is let go.
    Late,
    /// The same, but whoever has sent it is not told that the connection is cut.
    Held,
    /// When the database has done it, and nobody is ever told anything.
    Mute,
}

const CUTS: usize = 5;

/// Listens in front of the shared server.
pub(super) struct Wire {
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
    is_armed: [AtomicBool; CUTS],
    /// Which one is to be cut off then.
    later: [AtomicU64; CUTS],
    /// Of every so many such statements one is cut off; of none when it is 0.
    every: AtomicU64,
    statements: AtomicU64,
    cuts: AtomicU64,
    let_go: Notify,
    has_come: Notify,
    is_mute: AtomicBool,
    /// How long each response takes, in milliseconds.
    delay: AtomicU64,
}

impl Wire {
    /// To a new database, for statements that have `pattern` in them.
    pub(super) async fn to_new_database(pattern: &'static str) -> Self {
        let direct = SHARED.database();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let url = direct.replace(&format!(":{}/", SHARED.port), &format!(":{port}/"));
        let state = Arc::new(State {
            pattern,
            is_armed: Default::default(),
            later: [const { AtomicU64::new(u64::MAX) }; CUTS],
            every: AtomicU64::new(0),
            statements: AtomicU64::new(0),
            cuts: AtomicU64::new(0),
            let_go: Notify::new(),
            has_come: Notify::new(),
            is_mute: AtomicBool::new(false),
            delay: AtomicU64::new(0),
        });
        let wire = Self {
            url: url.parse().expect("a URL"),
            both: direct.replace(&format!("127.0.0.1:{}", SHARED.port), "HOSTS"),
            direct: direct.parse().expect("a URL"),
            port,
            name: direct.rsplit('/').next().expect("a name").to_owned(),
            state: Arc::clone(&state),
        };
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, Arc::clone(&state)));
            }
        });
        wire
    }

    /// Has the next such statement cut off.
    pub(super) fn cut(&self, cut: Cut) {
        self.state.is_armed[cut as usize].store(true, Ordering::SeqCst);
    }

    /// From now on, none of such statements is answered.
    pub(super) fn mute_all(&self) {
        self.state.is_mute.store(true, Ordering::SeqCst);
    }

    /// Has the second of such statements from now cut off.
    pub(super) fn cut_the_second(&self, cut: Cut) {
        self.cut_later(cut, 1);
    }

    /// Has one of such statements cut off, after so many others.
    pub(super) fn cut_later(&self, cut: Cut, others: u64) {
        let next = self.state.statements.load(Ordering::SeqCst);
        self.state.later[cut as usize].store(next + others, Ordering::SeqCst);
    }

    /// Has one in so many cut off, now before it is done and now after it.
    pub(super) fn cut_one_in(&self, every: u64) {
        self.state.every.store(every, Ordering::SeqCst);
    }

    /// From now on, each response takes so long.
    pub(super) fn delay(&self, delay: Duration) {
        let millis = delay.as_millis().try_into().expect("not for ages");
        self.state.delay.store(millis, Ordering::SeqCst);
    }

    pub(super) fn cuts(&self) -> u64 {
        self.state.cuts.load(Ordering::SeqCst)
    }

    /// Lets go of what is late, and waits until the database has done it.
    pub(super) async fn let_go(&self) {
        self.state.let_go.notify_one();
        self.state.has_come.notified().await;
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
                Cut::Before
            } else {
                Cut::After
            };
            self.is_armed[cut as usize].store(true, Ordering::SeqCst);
        }
    }

    fn is_to_be_cut(&self, cut: Cut) -> bool {
        let is_to_be = self.is_armed[cut as usize].swap(false, Ordering::SeqCst);
        if is_to_be {
            self.cuts.fetch_add(1, Ordering::SeqCst);
        }
        is_to_be
    }
}

/// Carries bytes both ways. TLS is off on both ends, so they can be looked at.
async fn carry(mut client: TcpStream, state: Arc<State>) {
    let server = TcpStream::connect(("127.0.0.1", SHARED.port)).await;
    let mut server = server.expect("it listens");
    let (mut asked, mut answered) = ([0; 1 << 16], [0; 1 << 16]);
    let mut is_ours = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                // A statement is prepared once on each connection, and then carries addresses.
                let bytes = &asked[..length];
                is_ours = state.pattern.is_empty()
                    || bytes.windows(state.pattern.len()).any(|at| at == state.pattern.as_bytes());
                if is_ours {
                    state.count();
                }
                if is_ours && state.is_to_be_cut(Cut::Before) {
                    return;
                }
                let is_late = is_ours && state.is_to_be_cut(Cut::Late);
                if is_late || is_ours && state.is_to_be_cut(Cut::Held) {
                    let _held = (!is_late).then_some(client);
                    state.let_go.notified().await;
                    server.write_all(bytes).await.expect("it reads");
                    assert!(server.read(&mut answered).await.expect("it answers") > 0);
                    return state.has_come.notify_one();
                }
                if server.write_all(bytes).await.is_err() { return }
            }
            read = server.read(&mut answered) => {
                let Ok(length @ 1..) = read else { return };
                if is_ours && state.is_to_be_cut(Cut::After) {
                    return;
                }
                if is_ours && state.is_mute.load(Ordering::SeqCst) {
                    state.is_armed[Cut::Mute as usize].store(true, Ordering::SeqCst);
                }
                if is_ours && state.is_to_be_cut(Cut::Mute) {
                    return std::future::pending().await;
                }
                sleep(Duration::from_millis(state.delay.load(Ordering::SeqCst))).await;
                if client.write_all(&answered[..length]).await.is_err() { return }
            }
        }
    }
}
