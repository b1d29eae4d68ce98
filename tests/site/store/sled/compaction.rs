//! Compaction of a data directory.

use std::fs;

use landing::waitlist::OwnerList;
use tempfile::TempDir;

use super::open;
use crate::store::{addresses, copy_directory, join};

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
