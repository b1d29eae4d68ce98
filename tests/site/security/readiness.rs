//! `/readyz` while many ask.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use landing::waitlist::{Answer, StoreError};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::overload::silent;
use crate::{
    fixtures::{at_once, stand_in},
    test_site::Site,
};

const ASKERS: usize = 50;

/// Asks once; the status of the answer.
fn ask(site: &Site) -> JoinHandle<u16> {
    let asked = site.get("/readyz").send();
    tokio::spawn(async move { asked.await.expect("an answer").status().as_u16() })
}

/// Waits until the server has read what was sent before.
async fn has_read(site: &Site) {
    for _ in 0..ASKERS {
        site.count().await;
    }
}

#[tokio::test]
async fn askers_share_one_question_to_the_store() {
    let asked = Arc::new(AtomicUsize::new(0));
    let (release, released) = watch::channel(false);
    let counted = Arc::clone(&asked);
    let ready = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut released = released.clone();
        Box::pin(async move {
            let released = released.wait_for(|released| *released).await;
            released.map(drop).map_err(|_| StoreError::Stopped)
        }) as Answer<'static, ()>
    };
    let site = Site::over(stand_in(|_| at_once(Err(StoreError::Busy)), ready)).await;
    let askers: Vec<_> = (0..ASKERS).map(|_| ask(&site)).collect();
    has_read(&site).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1, "all share it");
    release.send_replace(true);
    for asker in askers {
        assert_eq!(asker.await.expect("no panic"), 200);
    }
    // Later requests do not get an old answer.
    assert_eq!(ask(&site).await.expect("no panic"), 200);
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_store_that_never_answers_keeps_nobody_waiting() {
    let (list, mut was_asked) = silent();
    let site = Site::over(list).await;
    for _ in 0..2 {
        let begun = Instant::now();
        let askers: Vec<_> = (0..ASKERS).map(|_| ask(&site)).collect();
        for asker in askers {
            let status = timeout(Duration::from_secs(60), asker).await;
            assert_eq!(status.expect("in time").expect("no panic"), 503);
        }
        // In turns they would wait for minutes.
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(was_asked.try_recv().is_ok(), "it was asked");
        assert!(was_asked.try_recv().is_err(), "once");
    }
}

#[tokio::test]
async fn a_question_is_finished_for_the_others_when_its_asker_leaves() {
    let (list, mut was_asked) = silent();
    let site = Site::over(list).await;
    let first = ask(&site);
    was_asked.recv().await.expect("it is asked");
    first.abort();
    let second = timeout(Duration::from_secs(60), ask(&site)).await;
    assert_eq!(second.expect("in time").expect("no panic"), 503);
}

#[tokio::test]
async fn a_fault_of_the_store_is_503_and_the_next_question_is_asked() {
    let ready = || -> Answer<'static, ()> { Box::pin(async { panic!("a fault") }) };
    let site = Site::over(stand_in(|_| at_once(Err(StoreError::Busy)), ready)).await;
    for _ in 0..2 {
        let status = timeout(Duration::from_secs(60), ask(&site)).await;
        assert_eq!(status.expect("in time").expect("no panic"), 503);
    }
}
