//! `/readyz` while many ask.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use landing::waitlist::{StoreError, StoreFuture};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::overload::hanging_store;
use crate::{
    fixtures::{immediate, stub_store},
    test_site::TestSite,
};

const CLIENTS: usize = 50;

/// Asks once; the status of the response.
fn get_readiness(site: &TestSite) -> JoinHandle<u16> {
    let asked = site.get("/readyz").send();
    tokio::spawn(async move { asked.await.expect("a response").status().as_u16() })
}

/// Waits until the server has read what was sent before.
async fn has_read(site: &TestSite) {
    for _ in 0..CLIENTS {
        site.count().await;
    }
}

#[tokio::test]
async fn concurrent_requests_share_one_store_check() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (release, released) = watch::channel(false);
    let counted = Arc::clone(&asked);
    let ready = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut released = released.clone();
        Box::pin(async move {
            let released = released.wait_for(|released| *released).await;
            released.map(drop).map_err(|_| StoreError::Stopped)
        }) as StoreFuture<'static, ()>
    };
    let site = TestSite::with_store(stub_store(|_| immediate(Err(StoreError::Busy)), ready)).await;
    let clients: Vec<_> = (0..CLIENTS).map(|_| get_readiness(&site)).collect();
    has_read(&site).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1, "all share it");
    release.send_replace(true);
    for client in clients {
        assert_eq!(client.await.expect("no panic"), 200);
    }
    // Later requests do not get an old response.
    assert_eq!(get_readiness(&site).await.expect("no panic"), 200);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn hanging_store_returns_503_in_time() {
    let (list, mut was_asked) = hanging_store();
    let site = TestSite::with_store(list).await;
    for _ in 0..2 {
        let begun = Instant::now();
        let clients: Vec<_> = (0..CLIENTS).map(|_| get_readiness(&site)).collect();
        for client in clients {
            let status = timeout(Duration::from_secs(60), client).await;
            assert_eq!(status.expect("in time").expect("no panic"), 503);
        }
        // In turns they would wait for minutes.
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(was_asked.try_recv().is_ok(), "it was asked");
        assert!(was_asked.try_recv().is_err(), "once");
    }
}

#[tokio::test]
async fn store_check_continues_when_its_client_disconnects() {
    let (list, mut was_asked) = hanging_store();
    let site = TestSite::with_store(list).await;
    let first = get_readiness(&site);
    was_asked.recv().await.expect("it is asked");
    first.abort();
    let second = timeout(Duration::from_secs(60), get_readiness(&site)).await;
    assert_eq!(second.expect("in time").expect("no panic"), 503);
}

#[tokio::test]
async fn panicking_store_is_503_and_checked_again() {
    let ready = || -> StoreFuture<'static, ()> { Box::pin(async { panic!("a fault") }) };
    let site = TestSite::with_store(stub_store(|_| immediate(Err(StoreError::Busy)), ready)).await;
    for _ in 0..2 {
        let status = timeout(Duration::from_secs(60), get_readiness(&site)).await;
        assert_eq!(status.expect("in time").expect("no panic"), 503);
    }
}
