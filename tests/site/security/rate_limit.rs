//! The rate limit of sign-ups. `http/rate-limit.txt` says who shares one.

use std::{net::SocketAddr, sync::Arc};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use landing::{
    server::{AppState, router},
    waitlist::StoreError,
};
use tower::ServiceExt;

use crate::{
    fixtures::{failing_store, parse_config},
    mail::smtp_server::SmtpServer,
    test_site::TestSite,
};

/// Returns the status of a sign-up from a peer. Calls the router directly, because a test makes more than 65,536
/// calls. The sign-up has no content type, which the server checks after the rate limit.
async fn status(router: &Router, peer: [u8; 4]) -> u16 {
    let post = Request::post("/api/waitlist").header("host", "site");
    let request = post.body(Body::empty());
    let mut request = request.expect("a request");
    let peer = SocketAddr::from((peer, 1));
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = router.clone().oneshot(request).await.expect("a response");
    response.status().as_u16()
}

#[tokio::test]
async fn remembers_65536_clients_and_drops_the_least_recent() {
    let config = parse_config(&["--signups-per-minute=1"]).expect("valid options");
    let list = Arc::new(failing_store(StoreError::Busy));
    let state = AppState::new(&config, list, None);
    let router = router(state);
    let (first, last) = ([10, 0, 0, 0], [11, 0, 0, 0]);
    assert_eq!(status(&router, first).await, 415);
    assert_eq!(status(&router, first).await, 429);
    for number in 1..=u16::MAX {
        let [high, low] = number.to_be_bytes();
        assert_eq!(status(&router, [10, 0, high, low]).await, 415);
    }
    assert_eq!(
        status(&router, first).await,
        429,
        "65,536 clients are remembered"
    );
    let [second, third] = [[10, 0, 0, 1], [10, 0, 0, 2]];
    assert_eq!(status(&router, last).await, 415);
    assert_eq!(
        status(&router, second).await,
        415,
        "the least recent client is dropped"
    );
    assert_eq!(status(&router, third).await, 415, "the next one is dropped");
    assert_eq!(status(&router, first).await, 429);
}

/// Starts a site that asks people to confirm, and whose store always fails.
async fn site_whose_store_fails(server: &SmtpServer, limit: &str) -> TestSite {
    let smtp = format!("--smtp={}", server.url());
    let options = [
        limit,
        "--confirm-signups",
        "--mail-from=hello@steward.test",
        "--origin=https://steward.test",
        &smtp,
    ];
    let store = failing_store(StoreError::Unreachable);
    TestSite::with_store_and_options(store, &options).await
}

#[tokio::test]
async fn rejected_code_without_javascript_can_be_tried_again() {
    let server = SmtpServer::start();
    let site = site_whose_store_fails(&server, "--signups-per-minute=1").await;
    // The store fails, then the limit is reached.
    for (status, code) in [(503, "123456"), (429, "123456"), (429, "")] {
        let body = format!("email=ann%40example.com&code={code}");
        let form = site.post("/confirm").body(body);
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let response = form.send().await.expect("a response");
        assert_eq!(response.status(), status);
        assert!(response.headers().contains_key("retry-after"));
        let page = response.text().await.expect("text");
        assert!(
            page.contains("Failed to confirm. Please try again."),
            "{page}"
        );
        // Beyond the limit, nothing is read.
        let keeps_the_address = page.contains(r#"value="ann@example.com""#);
        assert_eq!(keeps_the_address, status == 503, "{page}");
    }
    // Two codes cannot be read.
    let site = site_whose_store_fails(&server, "--signups-per-minute=0").await;
    let form = site.post("/confirm").body("code=1&code=2");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let response = form.send().await.expect("a response");
    assert_eq!(response.status(), 400);
    let page = response.text().await.expect("text");
    let problem = "<title>Error: Failed to confirm. Please try again.";
    assert!(page.contains(problem), "{page}");
}
