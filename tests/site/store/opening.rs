//! What is found when a list is opened: older files, other files, copies of former versions.

use std::{
    fs::{self, File},
    path::Path,
};

use landing::waitlist::{SledWaitlist, Waitlist};
use tempfile::TempDir;

use super::{contents, copy, erase, join};

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

fn refusal(data: &Path) -> String {
    let refused = SledWaitlist::open(data).expect_err("it must be refused");
    refused.to_string()
}

/// A directory with a list of 50.
async fn list_of_50() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..50 {
        join(&list, &format!("person{number}@example.com")).await;
    }
    directory
}

/// Copies the list beside itself.
fn copy_beside(data: &Path, name: &str) {
    let to = data.join(name);
    fs::create_dir(&to).expect("writable");
    copy(&data.join("waitlist"), &to);
}

/// Everything but the mark comes from an older backup.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_from_before_an_erasure_is_refused() {
    let directory = list_of_50().await;
    let data = directory.path();
    copy_beside(data, "backup");
    assert!(erase(&open(data), "person7@example.com").await);
    fs::copy(data.join("waitlist/mark"), data.join("backup/mark")).expect("writable");
    fs::remove_dir_all(data.join("waitlist")).expect("ours");
    fs::rename(data.join("backup"), data.join("waitlist")).expect("ours");
    let before = contents(&data.join("waitlist"));
    let told = refusal(data);
    assert!(told.contains("1 erasures are missing"), "{told}");
    assert_eq!(contents(&data.join("waitlist")), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_mark_of_an_earlier_version_is_read() {
    let directory = list_of_50().await;
    let data = directory.path();
    assert!(erase(&open(data), "person7@example.com").await);
    let mark = File::options()
        .write(true)
        .open(data.join("waitlist/mark"))
        .expect("writable");
    mark.set_len(16).expect("writable");
    assert_eq!(open(data).count(), 49);
    assert_eq!(mark.metadata().expect("readable").len(), 32);
}

/// As an earlier version left it when it was interrupted while it put its copy back.
#[tokio::test(flavor = "multi_thread")]
async fn the_copy_of_an_earlier_version_is_named_beside_a_store_it_destroyed() {
    let directory = list_of_50().await;
    let data = directory.path();
    copy_beside(data, "waitlist.copy");
    let log = File::options().write(true).open(data.join("waitlist/db"));
    log.expect("writable").set_len(0).expect("writable");
    let before = contents(data);
    let told = refusal(data);
    assert!(told.contains("waitlist.copy"), "{told}");
    assert_eq!(contents(data), before);
    // As it says.
    fs::rename(data.join("waitlist"), data.join("damaged")).expect("ours");
    fs::rename(data.join("waitlist.copy"), data.join("waitlist")).expect("ours");
    assert_eq!(open(data).count(), 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_a_list_that_is_in_order_a_copy_is_left_alone() {
    let directory = list_of_50().await;
    let data = directory.path();
    copy_beside(data, "waitlist.copy");
    let before = contents(&data.join("waitlist.copy"));
    assert_eq!(open(data).count(), 50);
    assert_eq!(contents(&data.join("waitlist.copy")), before);
}

/// Larger than what is copied to memory. The end of the log is a hole, as sled may leave it.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_list_is_copied_to_the_disk_and_opens() {
    let directory = list_of_50().await;
    let data = directory.path();
    let log = File::options().write(true).open(data.join("waitlist/db"));
    log.expect("writable").set_len(160 << 20).expect("writable");
    assert_eq!(open(data).count(), 50);
    let names = fs::read_dir(data).expect("readable").count();
    assert_eq!(names, 2, "the copy is removed");
}
