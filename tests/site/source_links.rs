//! The links and the form of the pages keep the parameter that says where a visitor comes from.

use regex::Regex;

use crate::test_site::{TestSite, header};

#[tokio::test]
async fn source_survives_a_failed_form() {
    let site = TestSite::start().await;
    let post = |body: &'static str| {
        let post = site.post("/?fbclid=1&utm_source=HN");
        let referer = format!("{}/?fbclid=1&utm_source=HN", site.origin());
        let post = post.header("content-type", "application/x-www-form-urlencoded");
        post.header("referer", referer).body(body).send()
    };
    let failed = post("email=nonsense").await.expect("a response");
    assert_eq!(failed.status(), 400);
    let page = failed.text().await.expect("text");
    assert!(page.contains("Please enter a valid email address"));
    // The browser resolves the action of the form with the page's own URL, and so keeps its query.
    assert!(page.contains("action=\"#waitlist\""));
    let people_and_bots = ["email=ann%40example.com", "email=bot%40example.com&topic=a"];
    for body in people_and_bots {
        let joined = post(body).await.expect("a response");
        assert_eq!(joined.status(), 303);
        assert_eq!(header(&joined, "location"), "/?joined#waitlist");
    }
    for query in ["joined&utm_source=hn", "utm_source=hn&joined"] {
        let page = site.get_text(&format!("/?{query}")).await;
        assert!(page.contains("<title>Success! — Steward</title>"));
        assert!(page.contains("1 entrepreneurs already on the list"));
    }
}

/// Returns where the links of a page lead to that stay on the site.
fn own_links(page: &str) -> Vec<&str> {
    let regex = Regex::new(r#"<a [^>]*href="([/#?][^"]*)""#).expect("valid");
    let links = regex.captures_iter(page);
    links
        .map(|link| link.get(1).expect("a link").as_str())
        .collect()
}

#[tokio::test]
async fn links_of_the_landing_page_keep_the_query() {
    let page = TestSite::start().await.page().await;
    let links = own_links(&page);
    assert!(links.len() > 8, "{links:?}");
    // "Use another address" is shown after a sign-up, which has stored the source. Without a query, the browser would stay
    // on the page of the code, whose URL is otherwise the same.
    let keeps_query = |link: &&str| link.starts_with('#') || *link == "/?email#waitlist";
    assert!(links.iter().all(keeps_query), "{links:?}");
    assert!(page.contains("action=\"#waitlist\""));
}

#[tokio::test]
async fn links_of_the_not_found_page_lead_to_the_landing_page() {
    let site = TestSite::start().await;
    let pages = [
        "/nothing",
        "/nothing?ref=hn",
        "/nothing?ref=%22%3E%3Cscript%3E",
    ]
    .map(async |path| {
        let response = site.get(path).send().await.expect("a response");
        assert_eq!(response.status(), 404, "{path}");
        response.text().await.expect("text")
    });
    let [plain, with_source, with_script] = pages;
    let plain = plain.await;
    let links = own_links(&plain);
    let own = |link: &&str| *link == "/" || link.starts_with("/#") || *link == "#main";
    assert!(links.len() > 8 && links.iter().all(own), "{links:?}");
    assert_eq!(with_source.await, plain);
    assert_eq!(with_script.await, plain);
}

#[tokio::test]
async fn parameter_changes_neither_the_page_nor_its_caching() {
    let site = TestSite::start().await;
    let plain = site.get("/").send().await.expect("a response");
    let etag = header(&plain, "etag").to_owned();
    let page = plain.text().await.expect("text");
    let campaign = site
        .get("/?utm_source=hn")
        .send()
        .await
        .expect("a response");
    assert_eq!(header(&campaign, "etag"), etag);
    assert_eq!(header(&campaign, "cache-control"), "no-cache");
    assert_eq!(header(&campaign, "vary"), "accept-encoding");
    assert_eq!(campaign.text().await.expect("text"), page);
    let again = site.get("/?ref=hn").header("if-none-match", &etag);
    let again = again.send().await.expect("a response");
    assert_eq!(again.status(), 304);
}
