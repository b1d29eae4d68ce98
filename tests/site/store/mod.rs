//! The stores: the tests that all of them pass, and those of the sled and the PostgreSQL store.

/// Runs tests with every store.
macro_rules! conformance_tests {
    ($($test:ident,)*) => {
        mod sled {
            $(#[test]
            fn $test() {
                crate::store::run(crate::store::SledFixture::default(), super::$test);
            })*
        }
        mod postgres {
            $(#[test]
            fn $test() {
                crate::store::run(crate::store::TestDatabase::default(), super::$test);
            })*
        }
        mod memory {
            $(#[test]
            fn $test() {
                crate::store::run(crate::store::MemoryFixture::default(), super::$test);
            })*
        }
    };
}

mod calls;
mod changes;
mod confirmation;
mod confirmation_erasure;
mod confirmation_fairness;
mod confirmation_faults;
pub(crate) mod confirmation_fixtures;
mod confirmation_instances;
mod confirmation_limits;
mod conformance;
mod corruption;
pub(crate) mod events;
mod ledger;
mod many_items;
mod model_events;
mod postgres;
mod random_histories;
mod reference_model;
mod repeated_calls;
mod sled;
mod standings;
mod values;
mod webhook;
pub(crate) mod webhook_endpoint;

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{
    Email, Erasure, Fact, JoinOutcome, Selection, SledWaitlist, StoreError, Waitlist, WaitlistEntry,
};
use reference_model::{ModelState, ReferenceModel};
use tempfile::TempDir;

use tokio::time::{sleep, timeout};

use crate::postgres_server::TestDatabase;
use crate::process::{TEST_TIMEOUT, write_locked};

/// Compacts a list. A database compacts its tables itself, and says so.
async fn compact(list: &dyn Waitlist) {
    match list.compact().await {
        Ok(_) => {}
        Err(StoreError::NotCompacted(reason)) if reason.contains("run VACUUM (FULL)") => {}
        Err(error) => panic!("{error}"),
    }
}

/// Records a fact about the sign-up of an address. Returns whether it is on the list.
pub(crate) async fn add_fact(
    list: &dyn Waitlist,
    typed: &str,
    fact: Fact,
) -> Result<bool, StoreError> {
    let person = list.person(&email(typed)).await?;
    let joined_at = person.map_or(UNIX_EPOCH, |it| it.joined_at);
    list.add_fact(&email(typed), joined_at, fact).await
}

/// The storage of a list, which can be opened several times.
trait StoreFixture {
    fn open(&self) -> Arc<dyn Waitlist>;

    /// Opens the list as another process does. Without a database, it is the one that is open.
    fn open_again(&self, first: &Arc<dyn Waitlist>) -> Arc<dyn Waitlist> {
        match self.is_shared() {
            true => self.open(),
            false => Arc::clone(first),
        }
    }

    /// Returns whether the list can be opened several times at once.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the storage as a process leaves it that is killed now. `None` means that the fixture itself is that
    /// storage.
    fn after_kill(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

impl<F: StoreFixture> StoreFixture for Arc<F> {
    fn open(&self) -> Arc<dyn Waitlist> {
        (**self).open()
    }

    fn is_shared(&self) -> bool {
        (**self).is_shared()
    }

    fn after_kill(&self) -> Option<Self> {
        (**self).after_kill().map(Self::new)
    }
}

/// Runs a test with a store. The storage outlives the tasks of the test, which may still write to it when the test is
/// done: a store whose files disappear ends the process.
fn run<F: StoreFixture, T: Future>(fixture: F, test: impl FnOnce(Arc<F>) -> T) {
    let fixture = Arc::new(fixture);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(test(Arc::clone(&fixture)));
    drop(runtime);
    drop(fixture);
}

/// A data directory.
struct SledFixture(TempDir);

impl Default for SledFixture {
    fn default() -> Self {
        Self(TempDir::new().expect("a directory"))
    }
}

impl StoreFixture for SledFixture {
    fn open(&self) -> Arc<dyn Waitlist> {
        Arc::new(SledWaitlist::open(self.0.path()).expect("the list opens"))
    }

    fn after_kill(&self) -> Option<Self> {
        let copy = Self::default();
        copy_directory(self.0.path(), copy.0.path());
        Some(copy)
    }
}

impl Default for TestDatabase {
    fn default() -> Self {
        crate::postgres_server::test_database()
    }
}

impl StoreFixture for TestDatabase {
    fn is_shared(&self) -> bool {
        true
    }

    fn open(&self) -> Arc<dyn Waitlist> {
        Arc::new(postgres::open(self))
    }
}

/// A list in memory.
#[derive(Default)]
struct MemoryFixture(Arc<Mutex<ModelState>>);

impl StoreFixture for MemoryFixture {
    fn open(&self) -> Arc<dyn Waitlist> {
        Arc::new(ReferenceModel::over(Arc::clone(&self.0)))
    }
}

fn email(typed: &str) -> Email {
    Email::parse(typed).expect("an address")
}

/// Returns an entry with a time in milliseconds since 1970.
fn entry(typed: &str, millis: u64) -> WaitlistEntry {
    WaitlistEntry::new(email(typed), UNIX_EPOCH + Duration::from_millis(millis))
}

/// Waits until a condition holds, and returns whether it did in time.
async fn eventually(mut holds: impl AsyncFnMut() -> bool) -> bool {
    let waiting = async {
        while !holds().await {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, waiting).await.is_ok()
}

/// Signs up with the current time.
async fn join(list: &dyn Waitlist, typed: &str) -> JoinOutcome {
    let entry = WaitlistEntry::new(email(typed), SystemTime::now());
    list.join(entry).await.expect("a response")
}

/// Erases an address, and returns whether it was listed.
async fn erase(list: &dyn Waitlist, typed: &str) -> bool {
    let erased = list.erase(&[email(typed)], Erasure::Complete).await;
    erased.expect("a response") == [true]
}

/// Returns all entries of a list.
fn entries(list: &dyn Waitlist) -> Vec<WaitlistEntry> {
    selected(list, Selection::default())
}

fn selected(list: &dyn Waitlist, selection: Selection) -> Vec<WaitlistEntry> {
    read_on_thread(|| {
        let entries = list.entries(selection).expect("readable");
        entries.map(|entry| entry.expect("readable")).collect()
    })
}

/// Reads a list on a thread that may block.
fn read_on_thread<T: Send>(read: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(read).join().expect("no panic"))
}

/// Returns the addresses of a list as people typed them.
fn addresses(list: &dyn Waitlist) -> Vec<String> {
    let typed = |entry: WaitlistEntry| entry.email.as_typed().to_owned();
    entries(list).into_iter().map(typed).collect()
}

/// Copies the content of a directory.
fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("writable");
            copy_directory(&entry.path(), &to);
        } else {
            write_locked(&to, &fs::read(entry.path()).expect("readable"));
        }
    }
}

/// Returns the path and the content of every file in a directory.
fn directory_contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files.extend(directory_contents(&path));
        } else {
            files.push((
                path.display().to_string(),
                fs::read(&path).expect("readable"),
            ));
        }
    }
    files.sort();
    files
}
