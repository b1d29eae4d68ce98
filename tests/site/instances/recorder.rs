//! Clients that sign up and an owner who erases, and the history of what they did.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rand::{RngExt, seq::IndexedRandom};
use tokio::{
    runtime::Runtime,
    sync::{RwLock, RwLockWriteGuard},
    task::JoinSet,
    time::sleep,
};

use super::{
    history::{Operation, Outcome},
    landing,
};
use crate::process::wait_until;

/// The origin that sends a request again if an instance does not respond.
pub(super) const BALANCER: &str = "balancer";

/// Clients, of all origins together.
const CLIENTS: usize = 16;
/// Sign-ups that must succeed before the next step of a test.
const SIGN_UPS_PER_STEP: usize = 100;
/// Pause of a client between two sign-ups, so that the list of many rounds stays short.
const THINK_TIME: Duration = Duration::from_millis(80);
/// Pause of the owner between two erasures.
const ERASURE_INTERVAL: Duration = Duration::from_millis(200);
/// How often a client repeats a sign-up that failed.
const RETRIES: usize = 2;
/// Number of sign-ups with an address that several clients use. After these, they share a new address.
const SIGN_UPS_PER_SHARED_ADDRESS: usize = 40;
/// The owner erases one of this number of newest shared addresses.
const SHARED_ADDRESSES_TO_ERASE: usize = 2;
/// Longer than HAProxy waits for an instance.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);

/// The clients and the owner, who work in the background.
pub(super) struct Recorder {
    runtime: Runtime,
    tasks: JoinSet<()>,
    owner: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// What the clients and the owner share.
struct Shared {
    start: Instant,
    /// The sites, each with a name.
    origins: Vec<(&'static str, String)>,
    /// The URL of the database, for the owner.
    database: String,
    history: Mutex<History>,
    /// Every operation holds it for reading. Locking it for writing waits until no operation is in progress.
    operations: RwLock<()>,
    /// Sign-ups with shared addresses so far.
    shared_sign_ups: AtomicUsize,
    is_over: AtomicBool,
}

#[derive(Default)]
struct History {
    operations: Vec<Operation>,
    /// Addresses of one client that got 201.
    acknowledged: Vec<String>,
    /// The number of responses with each status. 0 means no response.
    statuses: BTreeMap<u16, u64>,
    /// When each origin responded with 201: the times of the request and of the response.
    successes: BTreeMap<&'static str, Vec<(Duration, Duration)>>,
    erased: usize,
}

impl Recorder {
    /// Starts clients of these sites, and an owner who erases from the database.
    pub(super) fn start(origins: Vec<(&'static str, String)>, database: &str) -> Self {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            origins,
            database: database.to_owned(),
            history: Mutex::default(),
            operations: RwLock::new(()),
            shared_sign_ups: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let runtime = Runtime::new().expect("a runtime");
        let mut tasks = JoinSet::new();
        for client in 0..CLIENTS {
            let shared = Arc::clone(&shared);
            tasks.spawn_on(
                async move { shared.sign_up(client).await },
                runtime.handle(),
            );
        }
        let owner = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.erase()
        });
        Self {
            runtime,
            tasks,
            owner: Some(owner),
            shared,
        }
    }

    /// Returns the time since the beginning of the history.
    pub(super) fn now(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// Returns when each origin first acknowledged a sign-up that was sent after `since`, if all have done so.
    pub(super) fn successes_since(
        &self,
        since: Duration,
    ) -> Option<BTreeMap<&'static str, Duration>> {
        let history = self.shared.history.lock().expect("no panic");
        let origins = self.shared.origins.iter().map(|(name, _)| {
            let successes = history.successes.get(name)?;
            let newest = successes.iter().rev();
            let newest = newest.take_while(|(_, returned)| *returned > since);
            let later = newest.filter(|(invoked, _)| *invoked > since);
            Some((*name, later.map(|(_, returned)| *returned).min()?))
        });
        origins.collect()
    }

    /// Waits until [`SIGN_UPS_PER_STEP`] more sign-ups have got 201.
    pub(super) fn wait_for_sign_ups(&self, step: &str) {
        let acknowledged = || -> usize {
            let history = self.shared.history.lock().expect("no panic");
            history.successes.values().map(Vec::len).sum()
        };
        let target = acknowledged() + SIGN_UPS_PER_STEP;
        wait_until(&format!("sign-ups succeed: {step}"), || {
            thread::sleep(Duration::from_millis(10));
            acknowledged() >= target
        });
    }

    /// Waits until no operation is in progress, and returns the history. The next operations begin when the guard is
    /// dropped.
    pub(super) fn pause(&self) -> (Vec<Operation>, RwLockWriteGuard<'_, ()>) {
        let guard = self.shared.operations.blocking_write();
        let history = self.shared.history.lock().expect("no panic");
        (history.operations.clone(), guard)
    }

    /// Ends all operations. Checks that no response had an unexpected status, and that some people were erased. Returns the
    /// number of responses with each status.
    pub(super) fn finish(mut self) -> BTreeMap<u16, u64> {
        self.shared.is_over.store(true, Ordering::SeqCst);
        let tasks = std::mem::take(&mut self.tasks);
        self.runtime.block_on(tasks.join_all());
        let owner = self.owner.take().expect("it was not finished yet");
        owner.join().expect("no panic");
        let history = self.shared.history.lock().expect("no panic");
        let is_expected = |status: &u16| [201, 409, 503].contains(status);
        let statuses = history.statuses.clone();
        assert!(statuses.keys().all(is_expected), "{statuses:?}");
        assert!(history.erased > 0, "no erasure succeeded");
        statuses
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Signs up one person after another. Every third address is one that other clients use too.
    async fn sign_up(&self, client: usize) {
        let http = reqwest::Client::builder().timeout(RESPONSE_TIMEOUT);
        let http = http.build().expect("a client");
        let (origin, site) = &self.origins[client % self.origins.len()];
        for number in 0.. {
            let is_shared = number % 3 == 0;
            let address = if is_shared {
                let count = self.shared_sign_ups.fetch_add(1, Ordering::SeqCst);
                shared_address(count / SIGN_UPS_PER_SHARED_ADDRESS)
            } else {
                format!("person{number}@client{client}.example")
            };
            for _ in 0..=RETRIES {
                let operation = self.operations.read().await;
                if self.is_over() {
                    return;
                }
                let invoked = self.start.elapsed();
                let body = serde_json::json!({ "email": address });
                let response = http.post(format!("{site}/api/waitlist")).json(&body);
                let response = response.send().await;
                let returned = self.start.elapsed();
                let status = response.map_or(0, |response| response.status().as_u16());
                let outcome = match status {
                    201 => Outcome::Added,
                    409 if *origin == BALANCER => Outcome::AddedOrListed,
                    409 => Outcome::AlreadyListed,
                    _ => Outcome::MaybeAdded,
                };
                {
                    let mut history = self.history.lock().expect("no panic");
                    *history.statuses.entry(status).or_default() += 1;
                    if outcome == Outcome::Added {
                        let successes = history.successes.entry(origin).or_default();
                        successes.push((invoked, returned));
                        if !is_shared {
                            history.acknowledged.push(address.clone());
                        }
                    }
                    history.operations.push(Operation {
                        address: address.clone(),
                        invoked,
                        returned,
                        outcome,
                    });
                }
                drop(operation);
                sleep(THINK_TIME).await;
                if is_shared || outcome != Outcome::MaybeAdded {
                    break;
                }
            }
        }
    }

    /// Erases addresses, most of them shared ones.
    fn erase(&self) {
        loop {
            {
                let _operation = self.operations.blocking_read();
                if self.is_over() {
                    return;
                }
                if let Some(address) = self.address_to_erase() {
                    self.erase_address(address);
                }
            }
            thread::sleep(ERASURE_INTERVAL);
        }
    }

    fn address_to_erase(&self) -> Option<String> {
        let mut random = rand::rng();
        if random.random_range(0..4) == 0 {
            let history = self.history.lock().expect("no panic");
            return history.acknowledged.choose(&mut random).cloned();
        }
        let newest = self.shared_sign_ups.load(Ordering::SeqCst) / SIGN_UPS_PER_SHARED_ADDRESS;
        let oldest = newest.saturating_sub(SHARED_ADDRESSES_TO_ERASE - 1);
        Some(shared_address(random.random_range(oldest..=newest)))
    }

    fn erase_address(&self, address: String) {
        let invoked = self.start.elapsed();
        let output = landing(&self.database, &["erase", &address]).output();
        let output = output.expect("the program runs");
        let returned = self.start.elapsed();
        let errors = String::from_utf8_lossy(&output.stderr);
        let outcome = if output.status.success() {
            Outcome::Erased
        } else if errors.contains("not on the list in") {
            Outcome::NotListed
        } else {
            Outcome::MaybeErased
        };
        let mut history = self.history.lock().expect("no panic");
        history.erased += usize::from(outcome == Outcome::Erased);
        history.operations.push(Operation {
            address,
            invoked,
            returned,
            outcome,
        });
    }
}

fn shared_address(number: usize) -> String {
    format!("shared{number}@clients.example")
}
