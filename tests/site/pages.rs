//! The landing page, the page for unknown paths, and the form as browsers without JavaScript post it.

use std::time::Duration;

use tokio::time::timeout;

use crate::{
    process::TEST_TIMEOUT,
    test_site::{TestSite, header},
};

#[tokio::test]
async fn sections_are_in_order() {
    let page = TestSite::start().await.page().await;
    let marks = [
        "<header class=\"nav\"",
        "class=\"hero\"",
        "id=\"comparison\"",
        "id=\"features\"",
        "class=\"infrastructure\"",
        "id=\"demo\"",
        "id=\"contact\"",
        "<footer",
    ];
    let positions: Vec<_> = marks.map(|mark| page.find(mark).expect(mark)).into();
    assert!(positions.is_sorted(), "{positions:?}");
}

#[tokio::test]
async fn page_says_what_the_agent_does_and_compares_it() {
    let page = TestSite::start().await.page().await;
    let title = "<title>Steward — the AI agent that runs your business</title>";
    assert!(page.contains(title), "{page}");
    let main = page.split("<main").nth(1).expect("the page's main part");
    for text in [
        "business plan",
        "launches your website",
        "runs your marketing",
        "texts you when sales come in",
        "decentralized storage",
        "<h3>S3-compatible storage</h3>",
        "<h3>File explorer</h3>",
        "<h3>Built-in editor</h3>",
        "<h3>Local credentials</h3>",
        "<h3>Analytics</h3>",
        "<h3>24/7 operation</h3>",
        "<h3>You own it</h3>",
        "<h3>Unlimited scaling</h3>",
        "<h3>No platform shutdown</h3>",
    ] {
        assert!(main.contains(text), "{text}");
    }
    for column in ["<b>A chat assistant</b>", "<b>Steward</b>"] {
        assert_eq!(main.matches(column).count(), 6, "{column}");
    }
}

#[tokio::test]
async fn page_is_complete_html_with_one_inline_and_one_external_script() {
    let page = TestSite::start().await.page().await;
    assert!(
        page.starts_with("<!DOCTYPE html><html lang=\"en\">"),
        "{}",
        &page[..60]
    );
    assert!(page.ends_with("</html>"));
    assert!(!page.contains("<!>"), "a hydration marker of Leptos");
    let scripts: Vec<_> = page.split("<script ").skip(1).collect();
    let [data, script] = scripts[..] else {
        panic!("a data block and a script: {scripts:?}");
    };
    let data = data.strip_prefix("type=\"application/ld+json\">");
    let data = data.and_then(|data| data.split_once("</script>"));
    serde_json::from_str::<serde_json::Value>(data.expect("a closing tag").0).expect("JSON");
    let (attributes, rest) = script.split_once('>').expect("a tag");
    // In a template: the inline script loads it after the first paint.
    assert!(
        attributes.starts_with("type=\"module\" async fetchpriority=\"low\" src=\"/islands/boot-"),
        "{attributes}"
    );
    assert!(
        rest.starts_with("</script></template><script>"),
        "{rest:.80}"
    );
    assert_eq!(page.matches("<script").count(), 3, "no other script");
    assert_eq!(page.matches("</script").count(), 3);
    assert!(!page.contains(" style=\""));
}

#[tokio::test]
async fn islands_are_rendered_without_javascript() {
    let page = TestSite::start().await.page().await;
    for island in ["demo-terminal", "waitlist-form", "contact-links", "toaster"] {
        assert!(
            page.contains(&format!("data-island=\"{island}\"")),
            "{island}"
        );
    }
    assert!(page.contains("0 entrepreneurs already on the list"));
    assert!(page.contains("href=\"mailto:hello@steward.example\""));
    assert!(!page.contains("{{"), "a placeholder is not filled in");
}

#[tokio::test]
async fn unknown_paths_render_the_not_found_page() {
    let site = TestSite::start().await;
    for (method, path) in [
        ("GET", "/nothing"),
        ("GET", "/index.html"),
        ("GET", "/pkg"),
        ("POST", "/nothing"),
    ] {
        let response = site.request(method, path).send().await.expect("a response");
        assert_eq!(response.status(), 404, "{method} {path}");
        assert_eq!(
            header(&response, "content-type"),
            "text/html; charset=utf-8"
        );
        let page = response.text().await.expect("text");
        assert!(page.contains("<title>404 Page Not Found</title>"), "{page}");
        assert!(page.contains("Did you forget to add the page to the router?"));
        assert!(page.contains("href=\"/\""), "no link to the landing page");
    }
}

#[tokio::test]
async fn footer_links_are_placeholders_until_configured() {
    let page = TestSite::start().await.page().await;
    for label in ["Privacy", "Terms", "Support"] {
        assert!(page.contains(&format!("<a>{label}</a>")), "{label}");
    }
    assert!(page.contains("© 2024 Steward"));

    let urls = [
        "https://a.example/p",
        "https://b.example/t",
        "https://c.example/s",
    ];
    let page = TestSite::with_options(
        &[
            &["--privacy-url", urls[0], "--terms-url", urls[1]][..],
            &["--support-url", urls[2]],
        ]
        .concat(),
    )
    .await
    .page()
    .await;
    for (url, label) in urls.iter().zip(["Privacy", "Terms", "Support"]) {
        assert!(
            page.contains(&format!("<a href=\"{url}\">{label}</a>")),
            "{label}"
        );
    }
    let below_the_form = format!("<a href=\"{}\">Privacy policy</a>", urls[0]);
    assert!(page.contains(&below_the_form), "{page}");
}

#[tokio::test]
async fn settings_are_rendered_and_escaped() {
    let page = TestSite::with_options(
        &[
            &[
                "--product",
                "Ann & \"Bob\" <Ltd> {{email}}",
                "--contact",
                "ann@bob.example",
            ][..],
            &[
                "--social",
                "https://people.example/@ann?a=1&b=2",
                "--origin",
                "https://bob.example/",
            ],
        ]
        .concat(),
    )
    .await
    .page()
    .await;
    assert!(
        page.contains("Ann &amp; \"Bob\" &lt;Ltd&gt; {{email}} runs the business."),
        "{page}"
    );
    assert!(page.contains("href=\"mailto:ann@bob.example\""));
    assert!(page.contains("href=\"https://people.example/@ann?a=1&amp;b=2\""));
    assert!(page.contains("<link rel=\"canonical\" href=\"https://bob.example/\">"));
    assert!(!page.contains("<Ltd>") && !page.contains("Steward"));
}

#[tokio::test]
async fn failed_form_post_renders_its_error_in_the_page() {
    let site = TestSite::start().await;
    let cases = [
        ("email=Ann%40Example.com", 409, "Email already on waitlist"),
        ("email=nonsense", 400, "Please enter a valid email address"),
        ("email=+", 400, "Please enter your email address"),
        ("", 400, "Please enter your email address"),
    ];
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    for (body, status, text) in cases {
        let response = site.post_form(body).await;
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(header(&response, "cache-control"), "no-store");
        let page = response.text().await.expect("text");
        // The page is rendered for this response, so its count is current.
        assert!(page.contains("1 entrepreneurs already on the list"));
        let title = format!("<title>Error: {text} — Steward</title>");
        assert!(page.contains(&title), "{body}");
        let (id, invalid) = (described_by(&page), status == 400);
        assert!(
            page.contains(&format!("aria-invalid=\"{invalid}\"")),
            "{body}"
        );
        let message = page.split_once(&format!("<p data-own id=\"{id}\""));
        let message = message.expect("a message").1;
        assert!(
            message
                .split_once("</p>")
                .is_some_and(|(message, _)| message.contains(text)),
            "{body}"
        );
    }
    assert_eq!(site.count().await, 1);
}

/// Returns the ID of the last element that describes the email field.
fn described_by(page: &str) -> &str {
    let (_, rest) = page
        .split_once("aria-describedby=\"")
        .expect("a description");
    let ids = rest.split('"').next().expect("IDs");
    ids.split(' ').next_back().expect("an ID")
}

#[tokio::test]
async fn successful_form_post_redirects_to_a_reloadable_page() {
    let site = TestSite::start().await;
    let response = site.post_form("email=ann%40example.com").await;
    assert_eq!(response.status(), 303);
    assert_eq!(header(&response, "cache-control"), "no-store");
    assert_eq!(header(&response, "location"), "/?joined#waitlist");
    for _ in 0..2 {
        // This page has the new count even before the cached page has it.
        let response = site.get("/?joined").send().await.expect("a response");
        assert_eq!(response.status(), 200);
        assert_eq!(header(&response, "cache-control"), "no-store");
        let page = response.text().await.expect("text");
        assert!(page.contains("<title>Success! — Steward</title>"));
        assert!(page.contains("data-outcome=\"joined\""));
        // A URL that says "joined" would say so after an error, too.
        assert!(page.contains("action=\"/#waitlist\""));
        assert!(page.contains("1 entrepreneurs already on the list"));
    }
    assert_eq!(site.count().await, 1);
    let page = site.page().await;
    assert!(page.contains("action=\"#waitlist\""));
    assert!(page.contains("data-outcome=\"\"") && !page.contains("<title>Success!"));
}

#[tokio::test]
async fn count_is_hidden_below_the_configured_minimum() {
    let site = TestSite::with_options(&["--count-from=1"]).await;
    assert!(
        !site
            .page()
            .await
            .contains("entrepreneurs already on the list</p>")
    );
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    let shown = async {
        while !site
            .page()
            .await
            .contains(">1 entrepreneurs already on the list</p>")
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(TEST_TIMEOUT, shown).await.expect("a count");
}

#[tokio::test]
async fn only_a_failed_form_keeps_the_typed_address() {
    let site = TestSite::start().await;
    let failed = site.post_form("email=%3Cann%3E%22").await;
    let page = failed.text().await.expect("text");
    assert!(page.contains("value=\"&lt;ann&gt;&quot;\""), "{page}");
    let joined = site.post_form("email=ann%40example.com").await;
    assert_eq!(joined.status(), 303);
    let page = site.get("/?joined").send().await.expect("a response");
    assert!(page.text().await.expect("text").contains("value=\"\""));
}

#[tokio::test]
async fn rejects_a_form_above_4_kib_with_a_page() {
    let site = TestSite::start().await;
    let response = site.post_form(format!("email={}", "a".repeat(5000))).await;
    assert_eq!(response.status(), 413);
    let page = response.text().await.expect("text");
    assert!(page.contains("Please try again."));
}
