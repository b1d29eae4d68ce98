//! A store that is slow, but not so slow that any of its calls times out.

use std::time::Duration;

use landing::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{Email, ListKey},
};
use tokio::time::Instant;

use crate::{
    fixtures::{SLOW_STORE_KEY, slow_store},
    test_site::{TestSite, header},
};

/// The page of a link needs the key of the list and the person, one after the other. Each is read within the limit of the
/// store, but both together take longer than a proxy waits (`timeout server 12s` of HAProxy in docs/instances.md).
#[tokio::test]
async fn all_reads_of_a_request_have_one_deadline() {
    let site = TestSite::with_store(slow_store(Duration::from_secs(7))).await;
    let key = ListKey::from_slice(&SLOW_STORE_KEY).expect("32 bytes");
    let ann = Email::parse("ann@example.com").expect("an address");
    let token = PersonTokens::new(&key, TokenPurpose::Unsubscribe).token(&ann);
    let path = format!("/unsubscribe/{}", token);
    let asked_at = Instant::now();
    let ask = async |method: &str| {
        let response = site
            .request(method, &path)
            .send()
            .await
            .expect("a response");
        assert_eq!(response.status(), 503, "{method}");
        assert_eq!(header(&response, "retry-after"), "1", "{method}");
        let page = response.text().await.expect("text");
        assert!(page.contains("<title>"), "{method}: {page}");
        assert!(asked_at.elapsed() < Duration::from_secs(12), "{method}");
    };
    tokio::join!(ask("GET"), ask("POST"));
}

/// A proxy would give the sign-up up, which is stored.
#[tokio::test]
async fn invitation_that_cannot_be_read_in_time_is_left_out() {
    let store = slow_store(Duration::from_secs(20));
    let site = TestSite::with_store_and_options(store, &["--invites"]).await;
    let asked_at = Instant::now();
    let response = site.join("ann@example.com").await;
    assert_eq!(response.status(), 201);
    let body = response.text().await.expect("text");
    assert!(!body.contains("invitation"), "{body}");
    assert!(asked_at.elapsed() < Duration::from_secs(12));
}
