//! The step of the form that asks for the code, without JavaScript, over every store.

use std::time::Duration;

use landing::mail::{PersonTokens, TokenPurpose};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};

use super::{
    StoreFixture,
    confirmation_fixtures::{code, is_confirmed, open, site, wait_for},
    email,
};
use crate::{
    mail::smtp_server::SmtpServer,
    test_site::{TestSite, header},
};

conformance_tests! {
    form_asks_for_the_code_without_javascript,
    wrong_code_can_be_corrected_in_old_browsers,
    rate_limit_waits_for_no_form,
    links_that_confirm_have_the_rate_limit_of_codes,
}

async fn form_asks_for_the_code_without_javascript(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    let post = async |path: &str, body: String| {
        let form = site.post(path).body(body);
        let form = form.header("content-type", "application/x-www-form-urlencoded");
        let response = form.send().await.expect("a response");
        let status = response.status().as_u16();
        (status, response.text().await.expect("text"))
    };
    let (status, page) = post("/", "email=ann%40example.com".into()).await;
    assert_eq!(status, 200);
    for part in [
        "<title>Check your inbox — Steward</title>",
        "data-step=\"code\"",
        "we sent a code to ann@example.com",
        "action=\"/confirm#waitlist\"",
        "name=\"email\" value=\"ann@example.com\"",
        "autoComplete=\"one-time-code\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("name=\"code\"").count(), 1, "one form");
    // As the form with JavaScript: the same step, without an error, and it says how to get another code.
    let (status, page) = post("/", "email=ann%40example.com".into()).await;
    assert_eq!(status, 409);
    for part in [
        "<title>Check your inbox — Steward</title>",
        "data-step=\"code\" data-outcome=\"\"",
        "ann@example.com is already on the waitlist.",
        "For a new code, join again in an hour.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let code = code(&wait_for(&server, 1).await);
    let wrong = if code == "123456" { "123457" } else { "123456" };
    let right = format!("email=ann%40example.com&code={code}");
    for (typed, status, problem) in [
        ("", 400, "Please enter the code from the message"),
        (wrong, 400, "That code is wrong."),
        ("1 < 2", 400, "Please enter only the six digits of the code"),
    ] {
        let typed_in_a_form = typed.replace(' ', "+").replace('<', "%3C");
        let body = format!("email=ann%40example.com&code={typed_in_a_form}");
        let (actual, page) = post("/confirm", body).await;
        assert_eq!(actual, status, "{typed}");
        let escaped = typed.replace('<', "&lt;");
        for part in [
            &format!("<title>Error: {problem}"),
            "aria-invalid=\"true\"",
            &format!("value=\"{escaped}\""),
            "value=\"ann@example.com\"",
        ] {
            assert!(page.contains(part), "{typed}: {part}: {page}");
        }
    }
    let (status, page) = post("/confirm", right).await;
    assert_eq!(status, 200);
    for part in [
        "Your address is confirmed",
        "a…@example.com",
        "href=\"/unsubscribe/",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(is_confirmed(&*list, "ann@example.com"));
    let (status, page) = post("/", "email=ann%40example.com".into()).await;
    assert_eq!(status, 409);
    assert!(page.contains("ann@example.com is already on the waitlist."));
    assert_eq!(page.matches("name=\"code\"").count(), 1, "one form");
}

/// Old browsers send `Origin: null` from a page without a referrer, and could never enter another code.
async fn wrong_code_can_be_corrected_in_old_browsers(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let site = site(&list, &server, &[]).await;
    site.join("ann@example.com").await;
    wait_for(&server, 1).await;
    let form = site.post("/confirm").body("email=ann%40example.com&code=1");
    let form = form.header("content-type", "application/x-www-form-urlencoded");
    let form = form.header("origin", site.origin().to_owned());
    let response = form.send().await.expect("a response");
    assert_eq!(response.status(), 400);
    assert_ne!(header(&response, "referrer-policy"), "no-referrer");
}

/// A visitor over the limit gets a page. A body that has not arrived is not waited for.
async fn rate_limit_waits_for_no_form(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let smtp = format!("--smtp={}", server.url());
    let options = [
        "--signups-per-minute=1",
        "--confirm-signups",
        "--mail-from=hello@steward.test",
        "--origin=https://steward.test",
        &smtp,
    ];
    let site = TestSite::with_list(list, &options).await;
    for (path, body) in [
        ("/", "email=ann%40example.com"),
        ("/confirm", "email=ann%40example.com&code=123456"),
    ] {
        for is_limited in [false, true] {
            let form = site.post(path).body(body);
            let form = form.header("content-type", "application/x-www-form-urlencoded");
            let response = form.send().await.expect("a response");
            assert_eq!(response.status() == 429, is_limited, "{path}");
            if is_limited {
                assert!(!header(&response, "retry-after").is_empty());
                let page = response.text().await.expect("text");
                assert!(page.contains("<title>Error: "), "{path}");
                // Its form posts an address, also from the URL of the code.
                let action = match path {
                    "/" => "action=\"#waitlist\"",
                    _ => "action=\"/#waitlist\"",
                };
                assert!(page.contains(action), "{path}");
            }
        }
        let started = Instant::now();
        let mut stream = site.connect().await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 100\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\nemail=a"
        );
        stream
            .write_all(head.as_bytes())
            .await
            .expect("the server reads");
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.expect("a response");
        assert_eq!(&status, b"HTTP/1.1 429");
        assert!(started.elapsed() < Duration::from_secs(5), "{path}");
    }
}

/// A link costs a look at one person, and as often as a code.
async fn links_that_confirm_have_the_rate_limit_of_codes(fixture: impl StoreFixture) {
    let (list, server) = (open(&fixture), SmtpServer::start());
    let key = list.list_key().await.expect("a key");
    let token = PersonTokens::new(&key, TokenPurpose::Confirm).token(&email("ann@example.com"));
    let path = format!("/confirm/{}", token.expect("a token"));
    let smtp = format!("--smtp={}", server.url());
    let options = [
        "--signups-per-minute=3",
        "--confirm-signups",
        "--mail-from=hello@steward.test",
        "--origin=https://steward.test",
        &smtp,
    ];
    let site = TestSite::with_list(list, &options).await;
    // Ann was erased.
    for status in [404, 404, 404, 429] {
        let response = site.post(&path).send().await.expect("a response");
        assert_eq!(response.status(), status);
    }
    let response = site.post(&path).send().await.expect("a response");
    assert!(!header(&response, "retry-after").is_empty());
    let page = response.text().await.expect("text");
    assert!(page.contains("Please try again in a minute."), "{page}");
}
