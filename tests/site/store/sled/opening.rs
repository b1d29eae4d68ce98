//! Opening a data directory: the databases that are rejected. `locations.txt` of the commands has the modes of its files, and
//! what else is rejected.

use std::{
    fs::{self, File},
    path::Path,
    time::UNIX_EPOCH,
};

use landing::waitlist::{Fact, JoinOutcome, SledWaitlist, Waitlist};
use tempfile::TempDir;

use super::open;
use crate::{
    raw_store::open_database,
    store::{add_fact, addresses, copy_directory, directory_contents, erase, join},
};

/// Returns the message of the error that opening a list ends with.
fn open_error(data: &Path) -> String {
    let error = SledWaitlist::open(data)
        .err()
        .expect("the list must not open");
    error.to_string()
}

/// Opens the database in a data directory with sled. Retries, because the lock of the previous owner may linger.
fn database(data: &Path) -> ::sled::Db {
    open_database(&data.join("waitlist"))
}

#[tokio::test]
async fn rejects_an_unrelated_sled_database() {
    let directory = TempDir::new().expect("a directory");
    fs::create_dir(directory.path().join("waitlist")).expect("writable");
    let other = database(directory.path());
    other.insert("key", "value").expect("writable");
    drop(other);
    let message = open_error(directory.path());
    assert!(message.contains("it is not a waitlist"), "{message}");
    let value = database(directory.path()).get("key").expect("readable");
    assert_eq!(value.expect("the value is kept"), "value");
}

#[tokio::test]
async fn rejects_another_format_by_its_number() {
    let directory = TempDir::new().expect("a directory");
    drop(open(directory.path()));
    for (found, named) in [
        (&7u64.to_be_bytes()[..], "it has format 7"),
        (b"1", "it has an unknown format"),
    ] {
        let database = database(directory.path());
        database.insert("format", found).expect("writable");
        drop(database);
        let message = open_error(directory.path());
        assert!(
            message.contains(named) && message.contains("this program reads format 6"),
            "{message}"
        );
        assert!(
            message.ends_with("restore the backup into a new data directory; nothing was changed"),
            "{message}"
        );
    }
}

/// Format 4 rewrote records, and left empty items. Its mark had a second number.
#[tokio::test]
async fn opens_format_4() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for name in ["ann", "bob"] {
        join(&list, &format!("{name}@example.com")).await;
    }
    drop(list);
    let old = database(directory.path());
    old.insert("format", &4u64.to_be_bytes()).expect("writable");
    let records = old.open_tree("entries").expect("the tree opens");
    // An erased entry, and an erased fact about it.
    let record = records.get([0; 8]).expect("readable").expect("a record");
    let record = [&record[..], &[0, 255, 0]].concat();
    records.insert([0; 8], record).expect("writable");
    drop((records, old));
    let mark = [4u64, !4, 2, !2].map(u64::to_be_bytes);
    let path = directory.path().join("waitlist/mark");
    fs::write(path, mark.as_flattened()).expect("writable");
    let list = open(directory.path());
    assert!(erase(&list, "ann@example.com").await);
    assert_eq!(join(&list, "cyd@example.com").await, JoinOutcome::New);
    let confirmed = add_fact(&list, "bob@example.com", Fact::ConfirmedAt(UNIX_EPOCH)).await;
    assert_eq!(confirmed, Ok(true));
    drop(list);
    let list = open(directory.path());
    assert_eq!(addresses(&list), ["bob@example.com", "cyd@example.com"]);
    drop(list);
    let format = database(directory.path()).get("format").expect("readable");
    assert_eq!(format.expect("a format"), &5u64.to_be_bytes());
}

/// Appends an item to the first record.
fn append(records: &::sled::Tree, item: &[u8]) {
    let (key, record) = records.first().expect("readable").expect("a record");
    let record = [&record[..], item].concat();
    records.insert(key, record).expect("writable");
}

#[tokio::test]
async fn reports_damaged_records_by_number() {
    type Change = fn(&::sled::Tree);
    let changes: [(Change, &str); 6] = [
        (
            |records| {
                let second = records.iter().keys().nth(1).expect("a second record");
                records.remove(second.expect("readable")).expect("writable");
            },
            "the items 34 to 67 of its log are missing",
        ),
        (
            |records| {
                let (key, record) = records.first().expect("readable").expect("a record");
                let cut = &record[..record.len() - 1];
                records.insert(key, cut).expect("writable");
            },
            "the items of its log from number 0 on are damaged",
        ),
        // Of two entries with an address, an erasure would leave one.
        (
            |records| {
                let (key, record) = records.last().expect("readable").expect("a record");
                let entry_bytes = 10 + usize::from(record[0]);
                let record = [&record[..], &record[..entry_bytes]].concat();
                records.insert(key, record).expect("writable");
            },
            "number 100 on are damaged",
        ),
        (
            |records| drop(records.insert("other", "value").expect("writable")),
            "damaged",
        ),
        // A recipient and a result of a message that does not exist.
        (
            |records| append(records, &[&[255, 6, 0, 9][..], &[7; 16]].concat()),
            "damaged",
        ),
        (
            |records| append(records, &[255, 7, 0, 9, 0, 0, 0, 0, 1]),
            "damaged",
        ),
    ];
    for (change, part) in changes {
        let directory = TempDir::new().expect("a directory");
        let list = open(directory.path());
        for number in 0..100 {
            join(&list, &format!("person{number}@example.com")).await;
        }
        drop(list);
        let database = database(directory.path());
        change(&database.open_tree("entries").expect("the tree opens"));
        drop(database);
        let message = open_error(directory.path());
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// Returns a directory with a list of 50 people.
async fn list_of_50() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..50 {
        join(&list, &format!("person{number}@example.com")).await;
    }
    directory
}

/// Copies the list to another name in the data directory.
fn copy_beside(data: &Path, name: &str) {
    let to = data.join(name);
    fs::create_dir(&to).expect("writable");
    copy_directory(&data.join("waitlist"), &to);
}

/// All files except `mark` come from an older backup.
#[tokio::test(flavor = "multi_thread")]
async fn rejects_a_log_from_before_an_erasure() {
    let directory = list_of_50().await;
    let data = directory.path();
    copy_beside(data, "backup");
    assert!(erase(&open(data), "person7@example.com").await);
    fs::copy(data.join("waitlist/mark"), data.join("backup/mark")).expect("writable");
    fs::remove_dir_all(data.join("waitlist")).expect("writable");
    fs::rename(data.join("backup"), data.join("waitlist")).expect("writable");
    let before = directory_contents(&data.join("waitlist"));
    let message = open_error(data);
    assert!(
        message.contains("the items 50 to 50 of its log are missing"),
        "{message}"
    );
    assert_eq!(directory_contents(&data.join("waitlist")), before);
}

/// The log ends with a hole, as sled may leave it.
#[tokio::test(flavor = "multi_thread")]
async fn list_opens_with_a_hole_at_the_end_of_its_log() {
    let directory = list_of_50().await;
    let data = directory.path();
    let log = File::options().write(true).open(data.join("waitlist/db"));
    log.expect("writable").set_len(160 << 20).expect("writable");
    assert_eq!(open(data).count(), 50);
    let names = fs::read_dir(data).expect("readable").count();
    assert_eq!(names, 3, "the temporary copy is removed");
}
