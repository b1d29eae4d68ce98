//! The rate limit of sign-ups. `http/rate-limit.txt` says who shares one.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use landing::{
    server::{AppState, router},
    waitlist::StoreError,
};
use reqwest::Response;
use tower::ServiceExt;

use crate::{
    fixtures::{failing_store, parse_config},
    mail::smtp_server::SmtpServer,
    test_site::{TestSite, header},
};

/// Makes the test a trusted proxy.
const TRUSTED_PROXY: &str = "--trusted-proxies=127.0.0.1";

/// Signs up as a proxy that forwards for `client`.
async fn join_as(site: &TestSite, client: &str, number: usize) -> Response {
    let post = site.post("/api/waitlist").header("x-forwarded-for", client);
    let body = serde_json::json!({ "email": format!("{number}@example.com") });
    post.json(&body).send().await.expect("a response")
}

#[tokio::test]
async fn accepts_a_sign_up_after_retry_after() {
    let site = TestSite::with_options(&["--signups-per-minute=60"]).await;
    let mut number = 0;
    let rejected = loop {
        let response = site.join(&format!("{number}@example.com")).await;
        number += 1;
        if response.status() == 429 {
            break response;
        }
    };
    assert!(number > 60);
    assert_eq!(header(&rejected, "content-type"), "application/json");
    assert_eq!(header(&rejected, "cache-control"), "no-store");
    let seconds = header(&rejected, "retry-after").parse().expect("seconds");
    assert_eq!(
        rejected.text().await.expect("text"),
        r#"{"error":"Too many tries. Try again in 1 second."}"#
    );
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    assert_eq!(site.join("late@example.com").await.status(), 201);
}

#[tokio::test]
async fn ipv6_network_has_a_twelfth_of_the_limit() {
    for (options, ipv4, ipv6) in [
        (&[TRUSTED_PROXY][..], 120, 10),
        (&[TRUSTED_PROXY, "--signups-per-minute=24"], 24, 2),
        (&[TRUSTED_PROXY, "--signups-per-minute=3"], 3, 1),
    ] {
        let site = TestSite::with_options(options).await;
        for (client, expected) in [("203.0.113.1", ipv4), ("2001:db8::1", ipv6)] {
            let mut accepted = 0;
            while join_as(&site, client, accepted).await.status() != 429 {
                accepted += 1;
            }
            // More if the test runs for long enough to get another token.
            let expected = expected..=expected + expected / 2;
            assert!(
                expected.contains(&accepted),
                "{options:?} {client}: {accepted}"
            );
        }
    }
}

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

/// So a crowd that has just signed up can confirm.
#[tokio::test]
async fn codes_and_sign_ups_are_limited_apart() {
    let server = SmtpServer::start();
    let site = site_whose_store_fails(&server, "--signups-per-minute=2").await;
    for status in [503, 503, 429] {
        assert_eq!(site.join("ann@example.com").await.status(), status);
    }
    let body = r#"{"email":"ann@example.com","code":"000000"}"#;
    for status in [503, 503, 429] {
        let code = site.post("/api/waitlist/confirm").body(body);
        let response = code.header("content-type", "application/json").send().await;
        assert_eq!(response.expect("a response").status(), status);
    }
}
