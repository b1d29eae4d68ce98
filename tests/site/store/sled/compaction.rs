//! Compaction of a data directory.

use std::fs;

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
