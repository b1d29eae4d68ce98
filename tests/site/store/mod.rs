//! The list's stores: what each promises, and what only the one on this machine does.

mod conformance;
mod corruption;
mod opening;
mod postgres;
mod random_histories;
mod reference_model;
mod sled;

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use landing::waitlist::{Email, Entry, Joined, Selection, SledWaitlist, Waitlist};
use reference_model::Model;
use tempfile::TempDir;

use crate::postgres_server::Database;

/// Where a list is kept, so that it can be opened again.
trait Place {
    fn open(&self) -> Box<dyn Waitlist>;

    /// What a process leaves that is killed at this moment, if that is not the place itself.
    fn as_killed(&self) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }
}

/// A data directory.
struct Directory(TempDir);

impl Default for Directory {
    fn default() -> Self {
        Self(TempDir::new().expect("a directory"))
    }
}

impl Place for Directory {
    fn open(&self) -> Box<dyn Waitlist> {
        Box::new(SledWaitlist::open(self.0.path()).expect("the list opens"))
    }

    fn as_killed(&self) -> Option<Self> {
        let left = Self::default();
        copy(self.0.path(), left.0.path());
        Some(left)
    }
}

impl Default for Database {
    fn default() -> Self {
        crate::postgres_server::database()
    }
}

impl Place for Database {
    fn open(&self) -> Box<dyn Waitlist> {
        Box::new(postgres::open(self))
    }
}

/// The memory of the test.
#[derive(Default)]
struct Memory(Arc<Mutex<Vec<Entry>>>);

impl Place for Memory {
    fn open(&self) -> Box<dyn Waitlist> {
        Box::new(Model::over(Arc::clone(&self.0)))
    }
}

fn email(typed: &str) -> Email {
    Email::parse(typed).expect("an address")
}

/// Somebody who joined so many milliseconds after 1970.
fn entry(typed: &str, millis: u64) -> Entry {
    Entry {
        email: email(typed),
        joined_at: UNIX_EPOCH + Duration::from_millis(millis),
    }
}

/// Signs up now.
async fn join(list: &dyn Waitlist, typed: &str) -> Joined {
    let entry = Entry {
        email: email(typed),
        joined_at: SystemTime::now(),
    };
    list.join(entry).await.expect("an answer")
}

/// Takes somebody off the list, and says whether they were on it.
async fn erase(list: &dyn Waitlist, typed: &str) -> bool {
    let erased = list.erase(&[email(typed)]).await;
    erased.expect("an answer") == [true]
}

/// What is on a list.
fn entries(list: &dyn Waitlist) -> Vec<Entry> {
    selected(list, Selection::default())
}

fn selected(list: &dyn Waitlist, selection: Selection) -> Vec<Entry> {
    read(|| {
        let entries = list.entries(selection).expect("readable");
        entries.map(|entry| entry.expect("readable")).collect()
    })
}

/// Reads a list on a thread that may wait.
fn read<T: Send>(read: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(read).join().expect("no panic"))
}

/// The addresses on a list.
fn addresses(list: &dyn Waitlist) -> Vec<String> {
    let typed = |entry: Entry| entry.email.as_typed().to_owned();
    entries(list).into_iter().map(typed).collect()
}

/// Copies what is in a directory.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("readable");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir(&to).expect("writable");
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("writable");
        }
    }
}

/// The bytes of every file in a directory.
fn contents(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((
                path.display().to_string(),
                fs::read(&path).expect("readable"),
            ));
        }
    }
    found.sort();
    found
}
