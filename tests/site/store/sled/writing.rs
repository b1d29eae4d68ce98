//! The queue and the thread that writes.

use std::task::{Context, Poll, Waker};

use landing::waitlist::{JoinOutcome, StoreError, Waitlist};
use tempfile::TempDir;

use super::open;
use crate::store::{entries, entry};

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
