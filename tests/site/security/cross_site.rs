//! Requests that the pages of other sites make in a visitor's browser.

use crate::test_site::TestSite;

/// Headers of a POST, and whether the server accepts it. Without a `host` here, the client sends the site's own.
const CASES: [(&[(&str, &str)], bool); 17] = [
    (&[], true),
    (&[("sec-fetch-site", "same-origin")], true),
    (&[("sec-fetch-site", "none")], true),
    (&[("sec-fetch-site", "cross-site")], false),
    (&[("sec-fetch-site", "same-site")], false),
    (
        &[
            ("sec-fetch-site", "cross-site"),
            ("origin", "https://steward.example"),
        ],
        false,
    ),
    (
        &[("host", "localhost:1"), ("origin", "http://localhost:1")],
        true,
    ),
    (
        &[("host", "Steward.test"), ("origin", "https://steward.test")],
        true,
    ),
    // A proxy has replaced the host.
    (
        &[
            ("host", "backend:3000"),
            ("origin", "https://steward.example"),
        ],
        true,
    ),
    (
        &[
            ("host", "backend:3000"),
            ("origin", "http://steward.example"),
        ],
        false,
    ),
    (&[("origin", "https://evil.example")], false),
    (
        &[
            ("sec-fetch-site", "none"),
            ("origin", "https://evil.example"),
        ],
        false,
    ),
    (
        &[
            // No page can send this pair: a proxy has changed the origin.
            ("sec-fetch-site", "same-origin"),
            ("origin", "null"),
        ],
        true,
    ),
    (&[("origin", "https://steward.example.evil.example")], false),
    (&[("origin", "null")], false),
    (&[("origin", "")], false),
    // A page on another port of the same host.
    (
        &[
            ("host", "steward.test"),
            ("origin", "https://steward.test:8443"),
        ],
        false,
    ),
];

#[tokio::test]
async fn rejects_cross_site_sign_ups_by_api_and_form() {
    let site = TestSite::start().await;
    let mut listed = 0;
    for (number, (headers, is_accepted)) in CASES.into_iter().enumerate() {
        let posts = [
            (
                "/",
                "application/x-www-form-urlencoded",
                format!("email=f{number}%40b.co"),
                303,
            ),
            (
                "/api/waitlist",
                "application/json",
                format!(r#"{{"email":"a{number}@b.co"}}"#),
                201,
            ),
        ];
        for (path, content_type, body, success) in posts {
            let mut request = site
                .post(path)
                .header("content-type", content_type)
                .body(body);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let response = request.send().await.expect("a response");
            let status = response.status().as_u16();
            assert_eq!(
                status,
                if is_accepted { success } else { 403 },
                "{path} {headers:?}"
            );
            listed += u64::from(is_accepted);
        }
    }
    assert_eq!(site.count().await, listed);
}

#[tokio::test]
async fn cross_site_reads_get_no_cors_headers() {
    let site = TestSite::start().await;
    for path in ["/", "/api/waitlist/count"] {
        let request = site.get(path).header("origin", "https://evil.example");
        let response = request.header("sec-fetch-site", "cross-site").send().await;
        let response = response.expect("a response");
        assert_eq!(response.status(), 200);
        assert!(
            response
                .headers()
                .get("access-control-allow-origin")
                .is_none()
        );
    }
}
