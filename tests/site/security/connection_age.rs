//! A connection in steady use closes at its maximum age, and loses no request.

use std::time::{Duration, Instant};

use landing::server::{CLIENT_TIMEOUTS, Timeouts};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{sleep_until, timeout},
};

use super::connection_limit::get_succeeds;
use crate::{process::TEST_TIMEOUT, test_site::TestSite};

/// The age at which the server closes a connection in this test. Otherwise it is two minutes.
const MAX_AGE: Duration = Duration::from_secs(2);

#[tokio::test]
async fn request_at_the_maximum_age_gets_a_response_that_announces_the_close() {
    let site = TestSite::with_client_timeouts(Timeouts {
        max_age: MAX_AGE,
        ..CLIENT_TIMEOUTS
    })
    .await;
    let opened = Instant::now();
    let mut stream = site.connect().await;
    assert!(get_succeeds(&mut stream).await);
    // The head is arriving when the connection reaches the age.
    let start = b"GET /healthz HTTP/1.1\r\nHost: ";
    stream.write_all(start).await.expect("it is open");
    sleep_until((opened + MAX_AGE + Duration::from_secs(1)).into()).await;
    stream.write_all(b"site\r\n\r\n").await.expect("it is open");
    let mut response = String::new();
    let read = timeout(TEST_TIMEOUT, stream.read_to_string(&mut response)).await;
    read.expect("the server closes").expect("no reset");
    assert!(response.starts_with("HTTP/1.1 200 "), "{response}");
    assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
}
