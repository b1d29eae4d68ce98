//! Concurrent requests for `/readyz`.

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
    process::TEST_TIMEOUT,
    test_site::TestSite,
};

const CLIENTS: usize = 50;

/// Requests `/readyz` in a task that returns the status.
fn get_readiness(site: &TestSite) -> JoinHandle<u16> {
    let request = site.get("/readyz").send();
    tokio::spawn(async move { request.await.expect("a response").status().as_u16() })
}

/// Waits until the server has read the earlier requests.
async fn wait_until_read(site: &TestSite) {
    for _ in 0..CLIENTS {
        site.count().await;
    }
}

#[tokio::test]
async fn concurrent_requests_share_one_store_check() {
    let checks = Arc::new(AtomicUsize::new(0));
    let (release, released) = watch::channel(false);
    let counter = Arc::clone(&checks);
    let ready = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        let mut released = released.clone();
        Box::pin(async move {
            let released = released.wait_for(|released| *released).await;
            released.map(drop).map_err(|_| StoreError::Stopped)
        }) as StoreFuture<'static, ()>
    };
    let site = TestSite::with_store(stub_store(|_| immediate(Err(StoreError::Busy)), ready)).await;
    let clients: Vec<_> = (0..CLIENTS).map(|_| get_readiness(&site)).collect();
    wait_until_read(&site).await;
    assert_eq!(
        checks.load(Ordering::Relaxed),
        1,
        "all requests share one check"
    );
    release.send_replace(true);
    for client in clients {
        assert_eq!(client.await.expect("no panic"), 200);
    }
    // A later request starts a new check.
    assert_eq!(get_readiness(&site).await.expect("no panic"), 200);
    assert_eq!(checks.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn hanging_store_returns_503_in_time() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store(list).await;
    for _ in 0..2 {
        let started = Instant::now();
        let clients: Vec<_> = (0..CLIENTS).map(|_| get_readiness(&site)).collect();
        for client in clients {
            let status = timeout(TEST_TIMEOUT, client).await;
            assert_eq!(status.expect("no timeout").expect("no panic"), 503);
        }
        // 50 checks of 2 s, one after the other, would take 100 s.
        assert!(started.elapsed() < Duration::from_secs(30));
        assert!(calls.try_recv().is_ok(), "the site checks the store");
        assert!(calls.try_recv().is_err(), "the site checks the store once");
    }
}

#[tokio::test]
async fn store_check_continues_when_its_client_disconnects() {
    let (list, mut calls) = hanging_store();
    let site = TestSite::with_store(list).await;
    let first = get_readiness(&site);
    calls.recv().await.expect("the site checks the store");
    first.abort();
    let second = timeout(TEST_TIMEOUT, get_readiness(&site)).await;
    assert_eq!(second.expect("no timeout").expect("no panic"), 503);
    assert!(
        calls.try_recv().is_err(),
        "the second request began another"
    );
}

#[tokio::test]
async fn panicking_store_is_not_ready_and_checked_again() {
    let ready = || -> StoreFuture<'static, ()> { Box::pin(async { panic!("a fault") }) };
    let site = TestSite::with_store(stub_store(|_| immediate(Err(StoreError::Busy)), ready)).await;
    for _ in 0..2 {
        let status = timeout(TEST_TIMEOUT, get_readiness(&site)).await;
        assert_eq!(status.expect("no timeout").expect("no panic"), 503);
    }
}
