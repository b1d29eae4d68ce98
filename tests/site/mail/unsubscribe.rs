//! The way out: the page of the unsubscribe link, and one-click unsubscribing (RFC 8058).

use std::time::{Duration, SystemTime};

use landing::{
    mail::{MessageHeaders, PersonTokens, RenderedMessage, TokenPurpose, compose},
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
        let token = tokens.token(&email(typed)).expect("a token");
        let person = |tokens: &PersonTokens| tokens.person(&token).map(|it| it.key());
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
    let short = tokens.token(&email("a@b.co")).map(|it| it.len());
    let long = tokens
        .token(&email("a.longer.address@example.com"))
        .map(|it| it.len());
    assert_eq!(
        short, long,
        "the length of a token reveals that of the address"
    );
    for garbage in ["", "x", "%", &"A".repeat(10_000), "ann@example.com"] {
        assert_eq!(tokens.person(garbage), None);
    }
}

/// A site, and the paths of two unsubscribe pages: of Ann, who is listed, and of Eve, who is not.
async fn site_and_paths() -> (TestSite, [String; 2], TempDir) {
    let directory = TempDir::new().expect("a directory");
    let list = SledWaitlist::open(directory.path()).expect("the list opens");
    let key = list.list_key().await.expect("a key");
    let site = TestSite::with_store_and_options(list, &[]).await;
    let tokens = PersonTokens::new(&key, TokenPurpose::Unsubscribe);
    let path = |address| {
        let token = tokens.token(&email(address)).expect("a token");
        format!("/unsubscribe/{token}")
    };
    let paths = ["ann@example.com", "eve@example.com"].map(path);
    for typed in ["Ann@example.com", "bob@example.com"] {
        assert_eq!(site.join(typed).await.status(), 201);
    }
    (site, paths, directory)
}

#[tokio::test]
async fn person_who_closes_the_page_at_once_is_unsubscribed() {
    let (site, [path, _], _directory) = site_and_paths().await;
    let mut browser = site.connect().await;
    let request = format!("POST {path} HTTP/1.1\r\nHost: site\r\nContent-Length: 0\r\n\r\n");
    let sent = browser.write_all(request.as_bytes()).await;
    sent.expect("the server reads");
    drop(browser);
    let left = async {
        while site.count().await > 1 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(TEST_TIMEOUT, left).await.expect("Ann has left");
}

#[tokio::test]
async fn reading_the_page_changes_nothing() {
    let (site, [path, _], _directory) = site_and_paths().await;
    for method in ["GET", "HEAD", "GET"] {
        let response = site
            .request(method, &path)
            .send()
            .await
            .expect("a response");
        assert_eq!(response.status(), 200, "{method}");
        for (name, value) in [
            ("referrer-policy", "no-referrer"),
            ("x-robots-tag", "noindex"),
            ("cache-control", "no-store"),
            ("set-cookie", ""),
        ] {
            assert_eq!(header(&response, name), value, "{method} {name}");
        }
        let page = response.text().await.expect("text");
        assert_eq!(page.contains("method=\"post\""), method == "GET");
        assert!(
            !page.contains("example.com\"") && !page.contains("ann@"),
            "{page}"
        );
    }
    assert_eq!(site.count().await, 2);
}

#[tokio::test]
async fn posting_takes_the_person_off_the_list_in_either_encoding() {
    let too_long = "x".repeat(100_000);
    let multipart = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
    for (content_type, body) in [
        (
            "application/x-www-form-urlencoded",
            "List-Unsubscribe=One-Click",
        ),
        ("multipart/form-data; boundary=x", multipart),
        ("application/x-www-form-urlencoded", ""),
        // The body does not matter.
        ("application/octet-stream", &too_long),
    ] {
        let (site, [path, _], _directory) = site_and_paths().await;
        // Twice, and from another site: mail programs open links in their own pages.
        for _ in 0..2 {
            let post = site.post(&path).header("content-type", content_type);
            let post = post
                .header("origin", "null")
                .header("sec-fetch-site", "cross-site");
            let response = post.body(body.to_owned()).send().await.expect("a response");
            assert_eq!(response.status(), 200);
            assert_eq!(header(&response, "set-cookie"), "");
            assert!(
                response
                    .text()
                    .await
                    .expect("text")
                    .contains("You have left the waitlist")
            );
            assert_eq!(site.count().await, 1);
        }
        // Only the person can come back.
        assert_eq!(site.join("ann@example.com").await.status(), 201);
        assert_eq!(site.count().await, 2);
    }
}

/// A provider sends the requests of many people, but of none of them again and again.
#[tokio::test]
async fn only_leaving_again_is_limited() {
    let (site, [ann, eve], _directory) = site_and_paths().await;
    let post = async |path: &str| site.post(path).send().await.expect("a response").status();
    let mut statuses = Vec::new();
    // The default of `--signups-per-minute` is 120.
    for _ in 0..130 {
        statuses.push(post(&eve).await.as_u16());
    }
    assert_eq!((statuses[0], statuses[129]), (200, 429));
    assert_eq!(post(&ann).await, 200);
}

#[tokio::test]
async fn wrong_links_get_help_and_reveal_nobody() {
    let (site, [path, stranger], _directory) = site_and_paths().await;
    let text = async |method: &str, path: &str| {
        let response = site.request(method, path).send().await.expect("a response");
        (
            response.status().as_u16(),
            response.text().await.expect("text"),
        )
    };
    let (status, page) = text("GET", &path).await;
    assert_eq!(status, 200);
    assert!(page.contains("We will erase a…@example.com."), "{page}");
    assert!(page.contains("Stay on the list"), "{page}");
    // Nothing is asked of a person who is not listed.
    let (status, page) = text("GET", &stranger).await;
    assert_eq!(status, 200);
    assert!(page.contains("You have left the waitlist"), "{page}");
    assert!(!page.contains("method=\"post\""), "{page}");
    for wrong in [
        "/unsubscribe/x",
        &path[..path.len() - 4],
        &format!("{path}A"),
    ] {
        for method in ["GET", "POST"] {
            let (status, page) = text(method, wrong).await;
            assert_eq!(status, 404, "{wrong}");
            assert!(
                page.contains("This link does not work") && page.contains("mailto:"),
                "{page}"
            );
        }
    }
    assert_eq!(site.count().await, 2);
    assert_eq!(text("POST", &stranger).await, text("POST", &path).await);
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

/// RFC 8058 allows one-click unsubscribing only by https.
#[test]
fn one_click_needs_https() {
    let from = "Steward <hello@steward.test>".parse().expect("a sender");
    let rendered = RenderedMessage {
        subject: "Hi".into(),
        text: "Hi".into(),
        html: "<p>Hi</p>".into(),
    };
    for (url, has_one_click) in [
        ("https://steward.test/unsubscribe/x", true),
        ("http://steward.test/unsubscribe/x", false),
    ] {
        let headers = MessageHeaders {
            from: &from,
            to: &email("ann@example.com"),
            message_id: "1@steward.test",
            date: SystemTime::UNIX_EPOCH,
            host: "steward.test",
            unsubscribe: Some(url),
            signer: None,
        };
        let message = compose(&headers, &rendered).expect("a message");
        let message = String::from_utf8(message).expect("ASCII");
        assert!(message.contains(&format!("List-Unsubscribe: <{url}>")));
        assert_eq!(message.contains("List-Unsubscribe-Post"), has_one_click);
    }
}
