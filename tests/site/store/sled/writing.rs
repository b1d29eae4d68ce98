//! The queue and the thread that writes.

use std::{
    fs,
    task::{Context, Poll, Waker},
};

use landing::waitlist::{JoinOutcome, StoreError, Waitlist};
use tempfile::TempDir;

use super::open;
use crate::store::{entries, entry, join};

/// Sends more sign-ups than the queue holds.
#[tokio::test]
async fn full_queue_returns_busy_and_loses_no_sign_up() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    let people: Vec<_> = (0..400_000)
        .map(|number| entry(&format!("{number}@example.com"), number))
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let (mut pending, mut done) = (Vec::new(), 0);
    let rejected = people.into_iter().find_map(|person| {
        let mut joining = list.join(person);
        match joining.as_mut().poll(&mut context) {
            Poll::Ready(Err(error)) => return Some(error),
            // The committer was faster than this thread.
            Poll::Ready(Ok(joined)) => {
                assert_eq!(joined, JoinOutcome::New);
                done += 1;
            }
            Poll::Pending => pending.push(joining),
        }
        None
    });
    assert_eq!(rejected, Some(StoreError::Busy));
    let accepted = done + pending.len() as u64;
    for joining in pending {
        assert_eq!(joining.await, Ok(JoinOutcome::New));
    }
    assert_eq!(
        (list.count(), entries(&list).len() as u64),
        (accepted, accepted)
    );
}

#[tokio::test]
async fn abandoned_sign_up_can_be_repeated() {
    let directory = TempDir::new().expect("a directory");
    let list = open(directory.path());
    for number in 0..500 {
        drop(list.join(entry(&format!("{number}@example.com"), number)));
    }
    let mut listed = 0;
    for number in 0..500 {
        let again = join(&list, &format!("{number}@example.com")).await;
        listed += u64::from(again == JoinOutcome::AlreadyListed);
    }
    assert!(
        listed < 500,
        "the store skips abandoned sign-ups that it has not started"
    );
    assert_eq!((list.count(), entries(&list).len()), (500, 500));
}

/// An erasure searches the whole list, which takes some time.
/// sled writes values above 128 KiB to separate files (blobs), and never syncs those.
#[tokio::test(flavor = "multi_thread")]
async fn writes_no_blob_files() {
    let directory = TempDir::new().expect("a directory");
    let list = std::sync::Arc::new(open(directory.path()));
    let longest = format!("@{0}.{0}.{1}", "y".repeat(63), "z".repeat(61));
    let mut joins = tokio::task::JoinSet::new();
    for number in 0..2_000 {
        let (list, address) = (list.clone(), format!("{number:064}{longest}"));
        joins.spawn(async move { join(&*list, &address).await });
    }
    joins.join_all().await;
    let blobs = fs::read_dir(directory.path().join("waitlist/blobs")).expect("readable");
    assert_eq!((list.count(), blobs.count()), (2_000, 0));
}
