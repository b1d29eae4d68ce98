//! Compaction of a data directory.

use std::{fs, path::Path, thread};

use landing::waitlist::{Erasure, OwnerList, Source, Waitlist, WaitlistEntry};
use tempfile::TempDir;
use tokio::task::block_in_place;

use super::open;
use crate::store::{
    addresses, copy_directory, directory_contents, email, entry, erase, join, many_items::ManyItems,
};

/// Returns whether a file of the store contains these bytes.
fn is_on_disk(data: &Path, bytes: &[u8]) -> bool {
    let files = directory_contents(data);
    let mut windows = files.iter().flat_map(|(_, file)| file.windows(bytes.len()));
    windows.any(|window| window == bytes)
}

/// What a compaction removes: of a person who was erased, and of one who was corrected.
const GONE: [&str; 3] = ["ann@example.com", "link-of-ann", "bob@exmaple.com"];

#[tokio::test(flavor = "multi_thread")]
async fn compaction_removes_erased_and_corrected_addresses_from_the_disk() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    let ann = WaitlistEntry {
        source: Source::parse("link-of-ann").ok(),
        ..entry("ann@example.com", 1)
    };
    list.join(ann).await.expect("a response");
    for typed in ["bob@exmaple.com", "cyd@example.com"] {
        join(&list, typed).await;
    }
    erase(&list, "ann@example.com").await;
    let corrected = list.correct(&email("bob@exmaple.com"), &email("bob@example.com"));
    corrected.await.expect("a response");
    for gone in GONE {
        assert!(is_on_disk(directory.path(), gone.as_bytes()), "{gone}");
    }
    let mut copied = Vec::new();
    let compaction = block_in_place(|| list.compact(&mut |entries| copied.push(entries)));
    let compaction = compaction.expect("compacted");
    assert!(
        compaction.bytes_after > 0 && compaction.bytes_before > 0,
        "{compaction:?}"
    );
    assert!(!copied.is_empty());
    for gone in GONE {
        assert!(!is_on_disk(directory.path(), gone.as_bytes()), "{gone}");
    }
    join(&list, "dan@example.com").await;
    drop(list);
    assert!(!directory.path().join("waitlist.compact").exists());
    let listed = addresses(&open(directory.path()));
    assert_eq!(
        listed,
        ["bob@example.com", "cyd@example.com", "dan@example.com"]
    );
}

/// A copy that an interrupted compaction left may have addresses that were erased since.
#[tokio::test(flavor = "multi_thread")]
async fn start_removes_the_copy_of_an_interrupted_compaction() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    join(&list, "ann@example.com").await;
    drop(list);
    let copy = directory.path().join("waitlist.compact");
    fs::create_dir(&copy).expect("writable");
    copy_directory(&directory.path().join("waitlist"), &copy);
    assert_eq!(addresses(&open(directory.path())), ["ann@example.com"]);
    assert!(!copy.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_rejects_a_store_behind_a_link_and_keeps_it() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    join(&list, "ann@example.com").await;
    drop(list);
    let (store, elsewhere) = (
        directory.path().join("waitlist"),
        directory.path().join("elsewhere"),
    );
    fs::rename(&store, &elsewhere).expect("renamed");
    std::os::unix::fs::symlink(&elsewhere, &store).expect("linked");
    let list = open(directory.path());
    let error = block_in_place(|| list.compact(&mut |_| {})).expect_err("a link");
    assert!(error.to_string().contains("is a link"), "{error}");
    join(&list, "bob@example.com").await;
    drop(list);
    let listed = addresses(&open(directory.path()));
    assert_eq!(listed, ["ann@example.com", "bob@example.com"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_removes_addresses_that_are_erased_while_it_runs() {
    let directory = TempDir::new().expect("a temporary directory");
    let list = open(directory.path());
    let people = (0..500).map(|number| entry(&format!("{number}@example.com"), number));
    list.join_many(people.collect()).await.expect("a response");
    let runtime = tokio::runtime::Handle::current();
    let mut is_erased = false;
    let compaction = block_in_place(|| {
        list.compact(&mut |_| {
            // After the first record was copied, and before the copy is used.
            let erase = list.erase(
                &[email("7@example.com"), email("499@example.com")],
                Erasure::Complete,
            );
            let erase = async { erase.await.expect("a response") };
            if !std::mem::replace(&mut is_erased, true) {
                thread::scope(|scope| {
                    scope
                        .spawn(|| runtime.block_on(erase))
                        .join()
                        .expect("no panic")
                });
            }
        })
    });
    compaction.expect("compacted");
    assert!(is_erased);
    assert!(!is_on_disk(directory.path(), b"499@example.com"));
    assert!(is_on_disk(directory.path(), b"498@example.com"));
    assert_eq!(list.count(), 498);
}

/// A file of somebody else is neither removed nor in the way of the list.
#[tokio::test(flavor = "multi_thread")]
async fn compaction_keeps_a_foreign_file_of_its_name() {
    for is_directory in [false, true] {
        let directory = TempDir::new().expect("a temporary directory");
        let foreign = directory.path().join("waitlist.compact");
        if is_directory {
            fs::create_dir(&foreign).expect("writable");
            fs::write(foreign.join("letter.txt"), "dear").expect("writable");
        } else {
            fs::write(&foreign, "dear").expect("writable");
        }
        let list = open(directory.path());
        join(&list, "ann@example.com").await;
        let error = block_in_place(|| list.compact(&mut |_| {})).expect_err("not our file");
        assert!(error.to_string().contains("waitlist.compact"), "{error}");
        drop(list);
        assert_eq!(addresses(&open(directory.path())), ["ann@example.com"]);
        let kept = if is_directory {
            foreign.join("letter.txt")
        } else {
            foreign
        };
        assert_eq!(fs::read_to_string(kept).expect("readable"), "dear");
    }
}
