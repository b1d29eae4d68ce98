//! Files that a list finds when it opens: older ones, and large ones.

use std::{
    fs::{self, File},
    path::Path,
};

use landing::waitlist::{SledWaitlist, Waitlist};
use tempfile::TempDir;

use super::{copy_directory, directory_contents, erase, join};

fn open(data: &Path) -> SledWaitlist {
    SledWaitlist::open(data).expect("the list opens")
}

fn open_error(data: &Path) -> String {
    let error = SledWaitlist::open(data)
        .err()
        .expect("the list must not open");
    error.to_string()
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
    assert_eq!(names, 2, "the temporary copy is removed");
}
