//! Compaction of a data directory.

use std::{fs, path::Path};

use landing::waitlist::{OwnerList, Waitlist, WaitlistEntry};
use tempfile::TempDir;

use super::open;
use crate::store::{addresses, copy_directory, directory_contents, email, entry, erase, join};

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
        source: "link-of-ann".parse().ok(),
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
    let compaction = list.compact().await.expect("compacted");
    assert!(
        compaction.bytes_after > 0 && compaction.bytes_before > 0,
        "{compaction:?}"
    );
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
    let error = list.compact().await.expect_err("a link");
    assert!(error.to_string().contains("is a link"), "{error}");
    join(&list, "bob@example.com").await;
    drop(list);
    let listed = addresses(&open(directory.path()));
    assert_eq!(listed, ["ann@example.com", "bob@example.com"]);
}
