//! The step of the form that asks for the code, without JavaScript, over every store.

use super::{
    StoreFixture,
    confirmation::{code, is_confirmed, open, site, wait_for},
};
use crate::mail::smtp_server::SmtpServer;

conformance_tests! {
    form_asks_for_the_code_without_javascript,
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
    let (status, page) = post("/", "email=ann%40example.com".into()).await;
    assert_eq!(status, 409);
    assert!(page.contains("<title>Error: Email already on waitlist — Steward</title>"));
    assert_eq!(page.matches("name=\"code\"").count(), 1, "one form");
    let code = code(&wait_for(&server, 1).await);
    let wrong = if code == "123456" { "123457" } else { "123456" };
    let right = format!("email=ann%40example.com&code={code}");
    for (typed, status, problem) in [
        ("", 400, "Please enter the code from the message"),
        (wrong, 400, "That code is not right."),
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
    assert!(page.contains("Your address is confirmed"), "{page}");
    assert!(is_confirmed(&*list, "ann@example.com"));
}
