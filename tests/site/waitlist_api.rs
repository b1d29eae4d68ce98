//! `/api/waitlist`: the status and the body of each kind of request.

use landing::{
    waitlist::StoreError,
    wire::{ConfirmBody, SignUpBody},
};
use reqwest::Response;

use crate::{fixtures::failing_store, test_site::TestSite};

/// Returns the status and the message of a JSON error.
async fn error(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/json");
    let body: serde_json::Value = response.json().await.expect("a JSON body");
    (
        status,
        body["error"].as_str().expect("an error member").to_owned(),
    )
}

#[tokio::test]
async fn empty_list_has_count_0() {
    let site = TestSite::start().await;
    let response = site
        .get("/api/waitlist/count")
        .send()
        .await
        .expect("a response");
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.text().await.expect("text"), r#"{"count":0}"#);
}

#[tokio::test]
async fn new_address_is_201_and_counted() {
    let site = TestSite::start().await;
    let response = site.join("  Ann@Example.com ").await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["content-type"], "application/json");
    let entry: serde_json::Value = response.json().await.expect("JSON");
    assert_eq!(entry, serde_json::json!({ "email": "Ann@Example.com" }));
    assert_eq!(site.count().await, 1);
}

#[tokio::test]
async fn known_address_in_any_spelling_is_409() {
    let site = TestSite::start().await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    for again in [
        "ann@example.com",
        "ANN@example.COM",
        "  ann@example.com\t\n",
    ] {
        let (status, message) = error(site.join(again).await).await;
        assert_eq!(
            (status, message.as_str()),
            (409, "Email already on waitlist."),
            "{again:?}"
        );
    }
    assert_eq!(site.count().await, 1);
}

#[tokio::test]
async fn invalid_address_is_400_with_the_reason() {
    let site = TestSite::start().await;
    let long_local = format!("{}@example.com", "a".repeat(65));
    let too_long = format!("{}@{}com", "a".repeat(64), "b.".repeat(95));
    let cases = [
        ("", "empty"),
        ("   ", "empty"),
        ("ann", "needs an @"),
        ("@example.com", "before the @"),
        ("a b@example.com", "before the @"),
        ("ann@", "not a domain"),
        ("ann@-example.com", "not a domain"),
        ("ann@example..com", "not a domain"),
        (long_local.as_str(), "longer than 64"),
        (too_long.as_str(), "longer than 254"),
    ];
    for (typed, reason) in cases {
        let (status, message) = error(site.join(typed).await).await;
        assert_eq!(status, 400, "{typed:?}");
        assert!(
            message.starts_with("Please enter a valid email address: "),
            "{typed:?}: {message}"
        );
        assert!(message.contains(reason), "{typed:?}: {message}");
    }
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn invalid_body_is_400_with_the_reason() {
    let site = TestSite::start().await;
    let cases = [
        ("", "EOF"),
        ("{", "EOF"),
        ("nonsense", "expected"),
        ("{}", "missing field `email`"),
        (r#"{"email": 5}"#, "expected a string"),
        (r#"{"email": null}"#, "expected a string"),
        (r#"{"email":"a@b.co","email":"c@d.co"}"#, "duplicate field"),
        (r#"["a@b.co"#, "invalid type: sequence"),
        (r#" ["a@b.co"]"#, "invalid type: sequence"),
    ];
    for (body, reason) in cases {
        let (status, message) = error(site.post_json(body).await).await;
        assert_eq!(status, 400, "{body:?}");
        assert!(
            message.starts_with("Send the expected JSON: "),
            "{body:?}: {message}"
        );
        assert!(message.contains(reason), "{body:?}: {message}");
    }
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn wrong_content_type_is_415() {
    let site = TestSite::start().await;
    let body = r#"{"email": "ann@example.com"}"#;
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/jsonp",
    ] {
        let post = site
            .post("/api/waitlist")
            .header("content-type", content_type)
            .body(body);
        let (status, message) = error(post.send().await.expect("a response")).await;
        assert_eq!(status, 415, "{content_type}");
        assert!(
            message.contains("Content-Type: application/json"),
            "{message}"
        );
    }
    let without = site
        .post("/api/waitlist")
        .body(body)
        .send()
        .await
        .expect("a response");
    assert_eq!(error(without).await.0, 415, "no content type");
    assert_eq!(site.count().await, 0);
}

#[tokio::test]
async fn content_type_ignores_parameters_and_case() {
    let site = TestSite::start().await;
    let post = site
        .post("/api/waitlist")
        .header("content-type", "Application/JSON; charset=UTF-8");
    let response = post
        .body(r#"{"email": "ann@example.com"}"#)
        .send()
        .await
        .expect("a response");
    assert_eq!(response.status(), 201);
}

#[tokio::test]
async fn body_above_4_kib_is_413() {
    let site = TestSite::start().await;
    let padded = |length: usize| {
        let json = r#"{"email": "ann@example.com"}"#;
        format!("{json}{}", " ".repeat(length - json.len()))
    };
    assert_eq!(error(site.post_json(padded(4097)).await).await.0, 413);
    assert_eq!(site.count().await, 0);
    assert_eq!(site.post_json(padded(4096)).await.status(), 201);
}

#[tokio::test]
async fn wrong_method_is_405_with_allow() {
    let site = TestSite::start().await;
    let cases = [
        ("GET", "/api/waitlist", "POST"),
        ("PUT", "/api/waitlist", "POST"),
        ("DELETE", "/api/waitlist", "POST"),
        ("POST", "/api/waitlist/count", "GET,HEAD"),
        ("PATCH", "/api/waitlist/count", "GET,HEAD"),
    ];
    for (method, path, allow) in cases {
        let response = site.request(method, path).send().await.expect("a response");
        assert_eq!(response.headers()["allow"], allow, "{method} {path}");
        assert_eq!(error(response).await.0, 405, "{method} {path}");
    }
}

#[tokio::test]
async fn ignores_the_query_string() {
    let site = TestSite::start().await;
    for (number, query) in [
        "a[9]=1&a[b]=2",
        "a=1&a=2",
        "email=bob@example.com",
        "%",
        "&&=",
        "[[[",
    ]
    .iter()
    .enumerate()
    {
        let get = site.get(&format!("/api/waitlist/count?{query}"));
        assert_eq!(
            get.send().await.expect("a response").status(),
            200,
            "{query}"
        );
        for status in [201, 409] {
            let body = serde_json::json!({ "email": format!("{number}@example.com") });
            let post = site.post(&format!("/api/waitlist?{query}")).json(&body);
            assert_eq!(
                post.send().await.expect("a response").status(),
                status,
                "{query}"
            );
        }
    }
    assert_eq!(site.count().await, 6);
}

#[tokio::test]
async fn unknown_api_path_is_404_as_json() {
    let site = TestSite::start().await;
    let paths = [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/waitlist/",
        "/api/waitlist/count/more",
        // Without --confirm-signups.
        "/api/waitlist/confirm",
    ];
    for (method, path) in paths
        .iter()
        .flat_map(|path| [("GET", path), ("POST", path)])
    {
        let response = site.request(method, path).send().await.expect("a response");
        assert_eq!(error(response).await.0, 404, "{method} {path}");
    }
}

#[tokio::test]
async fn browser_headers_do_not_change_the_response() {
    let site = TestSite::start().await;
    let post = site
        .post("/api/waitlist")
        .header("accept", "text/html")
        .header("referer", "http://127.0.0.1/")
        .json(&serde_json::json!({ "email": "ann@example.com" }));
    let response = post.send().await.expect("a response");
    assert_eq!(response.status(), 201);
    assert!(!response.headers().contains_key("location"));
}

#[tokio::test]
async fn concurrent_sign_ups_of_one_address_give_one_201() {
    let site = TestSite::start().await;
    let spellings = [
        "ann@example.com",
        "Ann@Example.com",
        " ann@example.com ",
        "ANN@EXAMPLE.COM",
    ];
    let mut sign_ups = tokio::task::JoinSet::new();
    for spelling in spellings.iter().cycle().take(64) {
        let body = serde_json::json!({ "email": spelling });
        let post = site.post("/api/waitlist").json(&body);
        sign_ups.spawn(async move { post.send().await.expect("a response").status().as_u16() });
    }
    let mut statuses = sign_ups.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses[0], 201);
    assert!(
        statuses[1..].iter().all(|status| *status == 409),
        "{statuses:?}"
    );
    assert_eq!(site.count().await, 1);
}

#[tokio::test]
async fn store_error_is_503_without_detail() {
    for reason in [StoreError::Busy, StoreError::Stopped] {
        let site = TestSite::with_store(failing_store(reason)).await;
        let response = site.join("ann@example.com").await;
        assert_eq!(response.headers()["retry-after"], "1");
        let (status, message) = error(response).await;
        assert_eq!(status, 503);
        assert_eq!(
            message,
            "The waitlist can't be reached. Try again in a moment."
        );
        assert_eq!(site.count().await, 7, "the count is still available");

        let page = site.post_form("email=ann%40example.com").await;
        assert_eq!(page.status(), 503);
        assert_eq!(page.headers()["retry-after"], "1");
        let page = page.text().await.expect("text");
        assert!(page.contains("Failed to add to waitlist. Please try again."));
    }
}

#[test]
fn debug_output_of_a_body_has_neither_an_address_nor_a_code() {
    let sign_up = SignUpBody::with_email("ann@example.com");
    let confirm = ConfirmBody {
        email: "ann@example.com".to_owned(),
        code: "358208".to_owned(),
    };
    let shown = format!("{sign_up:?} {confirm:?}");
    assert_eq!(shown, "SignUpBody { .. } ConfirmBody { .. }");
}
