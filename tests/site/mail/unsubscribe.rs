//! The way out: the token of the unsubscribe link. `http/unsubscribe.txt` has the page, and `send.txt` of the commands has
//! one-click unsubscribing (RFC 8058).

use std::time::Duration;

use landing::{
    mail::{PersonTokens, TokenPurpose},
    waitlist::{Email, ListKey, OwnerList, SledWaitlist, StoreError},
};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    time::{sleep, timeout},
};

use crate::{
    fixtures::failing_store,
    process::TEST_TIMEOUT,
    test_site::{TestSite, header},
};

fn key(byte: u8) -> ListKey {
    ListKey::from_slice(&[byte; 32]).expect("32 bytes")
}

fn email(typed: &str) -> Email {
    Email::parse(typed).expect("an address")
}

#[test]
fn token_names_a_person_only_to_the_list_that_made_it() {
    let (tokens, others) = (
        PersonTokens::new(&key(1), TokenPurpose::Unsubscribe),
        PersonTokens::new(&key(2), TokenPurpose::Unsubscribe),
    );
    for typed in [
        "ann@example.com",
        "Ann@EXAMPLE.com",
        &format!("{}@example.com", "x".repeat(64)),
    ] {
        let token = tokens.token(&email(typed));
        let person = |tokens: &PersonTokens| tokens.person(&token).map(|it| it.email.key());
        assert_eq!(person(&tokens), Some(email(typed).key()));
        assert_eq!(person(&others), None);
        assert!(
            token
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        );
        assert!(!token.contains("example"), "{token}");
        // Every character counts.
        for at in 0..token.len() {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert_eq!(tokens.person(&changed), None, "{at}");
        }
        assert_eq!(tokens.person(&token[..token.len() - 1]), None);
    }
    let short = tokens.token(&email("a@b.co"));
    let long = tokens.token(&email("a.longer.address@example.com"));
    assert_eq!(
        short.len(),
        long.len(),
        "the length of a token reveals that of the address"
    );
    for garbage in ["", "x", "%", &"A".repeat(10_000), "ann@example.com"] {
        assert_eq!(tokens.person(garbage), None);
    }
}

#[tokio::test]
async fn person_who_closes_the_page_at_once_is_unsubscribed() {
    let directory = TempDir::new().expect("a directory");
    let list = SledWaitlist::open(directory.path()).expect("the list opens");
    let key = list.list_key().await.expect("a key");
    let tokens = PersonTokens::new(&key, TokenPurpose::Unsubscribe);
    let token = tokens.token(&email("ann@example.com"));
    let site = TestSite::with_store(list).await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    let mut browser = site.connect().await;
    let request =
        format!("POST /unsubscribe/{token} HTTP/1.1\r\nHost: site\r\nContent-Length: 0\r\n\r\n");
    let sent = browser.write_all(request.as_bytes()).await;
    sent.expect("the server reads");
    drop(browser);
    let left = async {
        while site.count().await > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, left).await.expect("Ann has left");
}

#[tokio::test]
async fn failure_of_the_list_offers_another_try() {
    let site = TestSite::with_store(failing_store(StoreError::Unreachable)).await;
    for method in ["GET", "POST"] {
        let response = site
            .request(method, "/unsubscribe/x")
            .send()
            .await
            .expect("a response");
        assert_eq!(response.status(), 503);
        assert!(!header(&response, "retry-after").is_empty());
        let page = response.text().await.expect("text");
        assert!(page.contains("Please try again in a minute."), "{page}");
    }
}
