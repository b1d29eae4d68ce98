//! How the site is delivered: inlined and preloaded files, compression, caching and conditional requests.

use std::{collections::HashMap, time::Duration};

use regex::Regex;
use tokio::time::{sleep, timeout};

use crate::test_site::{TestSite, header};

/// Returns the first path in a page that matches a regular expression.
fn find_path<'a>(page: &'a str, regex: &str) -> &'a str {
    let regex = Regex::new(&format!("\"({regex})\"")).expect("valid");
    let found = regex.captures(page).expect("a link");
    &page[found.get(1).expect("a path").range()]
}

/// The host of the islands, and a font that only wide windows use.
const HOST_JS: &str = r"/pkg/host\.[0-9a-f]{8}\.js";
const HOST_WASM: &str = r"/pkg/host\.[0-9a-f]{8}\.wasm";
const FONT: &str = r"/fonts/[a-z]+\.[0-9a-f]{8}\.woff2";
const WIDE_FONT: &str = r"/fonts/wide/[a-z-]+\.[0-9a-f]{8}\.woff2";

#[tokio::test]
async fn pages_inline_their_css_and_load_no_style_sheet() {
    let site = TestSite::start().await;
    for path in ["/", "/nothing"] {
        let response = site.get(path).send().await.expect("a response");
        let page = response.text().await.expect("text");
        assert!(page.contains("<style>@layer tokens{"), "{path}");
        assert_eq!(page.matches("<style").count(), 1, "{path}");
        assert!(!page.contains("rel=\"stylesheet\""), "{path}");
    }
}

/// A build in a folder that is moved afterwards continues to work.
#[test]
fn generated_code_names_no_absolute_path() {
    let table = include_str!(concat!(env!("OUT_DIR"), "/site.rs"));
    assert!(table.contains("include_bytes!(\"site/files/islands/boot-"));
    assert!(!table.contains(env!("OUT_DIR")), "{table}");
}

#[tokio::test]
async fn islands_list_all_their_modules_and_each_one_exists() {
    let site = TestSite::start().await;
    let page = site.page().await;
    let lists: Vec<_> = page.split("data-modules=\"").skip(1).collect();
    assert_eq!(lists.len(), 4, "one list for each island");
    for list in lists {
        let urls: Vec<_> = list
            .split('"')
            .next()
            .expect("a closing quote")
            .split(' ')
            .collect();
        assert!(urls.len() > 1, "{urls:?}");
        for url in urls {
            let module = site.get_text(url).await;
            // The list includes the module's own imports.
            for imported in module.split("from\"./").skip(1) {
                let name = imported.split('"').next().expect("a closing quote");
                assert!(list.contains(&format!("/islands/{name}")), "{url}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn page_count_is_refreshed_after_sign_ups() {
    let site = TestSite::start().await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    assert_eq!(site.join("bob@example.com").await.status(), 201);
    let refreshed = timeout(Duration::from_secs(30), async {
        while !site
            .page()
            .await
            .contains("2 entrepreneurs already on the list")
        {
            sleep(Duration::from_millis(20)).await;
        }
    });
    refreshed.await.expect("the page is rendered again");
}

#[tokio::test]
async fn page_is_compressed_fast_first_and_best_once_stable() {
    let site = TestSite::start().await;
    let mut bodies = HashMap::new();
    // Returns the page and whether its compression is the best one.
    let mut page = async || {
        let get = site.get("/").header("accept-encoding", "br");
        let response = get.send().await.expect("a response");
        let etag = header(&response, "etag").to_owned();
        let body = response.bytes().await.expect("a body");
        let earlier = bodies.insert(etag, body.clone());
        assert!(
            earlier.is_none_or(|earlier| earlier == body),
            "two bodies have the same ETag"
        );
        let mut text = Vec::new();
        brotli::BrotliDecompress(&mut &body[..], &mut text).expect("brotli");
        let mut smallest = Vec::new();
        let best = brotli::enc::BrotliEncoderParams::default();
        brotli::BrotliCompress(&mut &text[..], &mut smallest, &best).expect("brotli");
        (text, body.len() <= smallest.len())
    };
    let phases = timeout(Duration::from_secs(60), async {
        let mut people = 0;
        let fast = loop {
            people += 1;
            assert_eq!(
                site.join(&format!("{people}@example.com")).await.status(),
                201
            );
            if let (text, false) = page().await {
                break text;
            }
        };
        let small = loop {
            if let (text, true) = page().await {
                break text;
            }
        };
        (people, fast, small)
    });
    let (people, fast, small) = phases.await.expect("a page of each compression");
    assert!(fast.len().abs_diff(small.len()) < 10, "the same page");
    let count_text = format!("{people} entrepreneur");
    assert!(
        String::from_utf8_lossy(&small).contains(&count_text),
        "{count_text}"
    );
}

#[tokio::test]
async fn hashed_files_are_immutable_and_others_are_revalidated() {
    let site = TestSite::start().await;
    let page = site.page().await;
    let find = |regex: &str| find_path(&page, regex);
    for (path, content_type, cache) in [
        (
            find("/islands/boot-[A-Z0-9]+\\.js"),
            "text/javascript; charset=utf-8",
            "max-age=31536000, immutable",
        ),
        (
            find(HOST_WASM),
            "application/wasm",
            "max-age=31536000, immutable",
        ),
        (find(FONT), "font/woff2", "max-age=31536000, immutable"),
        (
            find(r"/favicon\.[0-9a-f]{8}\.svg"),
            "image/svg+xml; charset=utf-8",
            "max-age=31536000, immutable",
        ),
        (
            find(r"/site\.[0-9a-f]{8}\.webmanifest"),
            "application/manifest+json",
            "max-age=31536000, immutable",
        ),
        ("/favicon.svg", "image/svg+xml; charset=utf-8", "no-cache"),
        ("/site.webmanifest", "application/manifest+json", "no-cache"),
        ("/robots.txt", "text/plain; charset=utf-8", "no-cache"),
        ("/", "text/html; charset=utf-8", "no-cache"),
    ] {
        let response = site.get(path).send().await.expect("a response");
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(header(&response, "content-type"), content_type, "{path}");
        assert_eq!(header(&response, "cache-control"), cache, "{path}");
    }
}

/// Firefox accepts other encodings when it preloads a font. With `Vary` it would not use the font that it has cached.
#[tokio::test]
async fn only_files_with_several_encodings_vary() {
    let site = TestSite::start().await;
    let page = site.page().await;
    for (path, vary) in [
        ("/", "accept-encoding"),
        (find_path(&page, HOST_JS), "accept-encoding"),
        (find_path(&page, FONT), ""),
    ] {
        let response = site.get(path).send().await.expect("a response");
        assert_eq!(header(&response, "vary"), vary, "{path}");
    }
}

/// In a template the script in the head finds them, and without scripts the browser.
#[tokio::test]
async fn pages_offer_fonts_to_their_script_and_preload_them_without_scripts() {
    let site = TestSite::start().await;
    let preload = |path: &str, media: &str| {
        format!(
            "<link rel=\"preload\" href=\"{path}\" as=\"font\" type=\"font/woff2\"{media} crossorigin>"
        )
    };
    let page = site.page().await;
    let links = [
        preload(find_path(&page, FONT), ""),
        preload(
            find_path(&page, WIDE_FONT),
            " media=\"(width &gt;= 45rem)\"",
        ),
    ]
    .concat();
    for path in ["/", "/nothing"] {
        let response = site.get(path).send().await.expect("a response");
        let page = response.text().await.expect("text");
        let template = format!("<template id=\"fonts\">{links}</template>");
        assert!(page.contains(&template), "{path}: {page}");
        let noscript = format!("<noscript>{links}</noscript>");
        assert!(page.contains(&noscript), "{path}: {page}");
        assert_eq!(page.matches("rel=\"preload\"").count(), 4, "{path}");
    }
}

/// The style sheets, the script in the head and the server repeat the condition.
#[test]
fn wide_font_uses_the_same_media_query_everywhere() {
    let read = |path: &str| std::fs::read_to_string(path).expect("readable");
    let wide = "(width >= 45rem)";
    assert!(read("style/fonts.css").contains(&format!("@media {wide} {{")));
    assert!(read("style/tokens.css").contains(&format!("@media {wide} {{\n    --machine:")));
    for path in ["src/page/head.rs", "islands/head.ts"] {
        assert!(read(path).contains(&format!("\"{wide}\"")), "{path}");
    }
}

#[tokio::test]
async fn page_knows_whether_the_browser_has_it_in_its_cache() {
    let site = TestSite::start().await;
    let first = site.get("/").send().await.expect("a response");
    assert_eq!(header(&first, "server-timing"), "");
    let etag = header(&first, "etag").to_owned();
    for (known, status) in [(etag.as_str(), 304), ("\"older\"", 200)] {
        let request = site.get("/").header("if-none-match", known);
        let response = request.send().await.expect("a response");
        assert_eq!(response.status(), status, "{known}");
        assert_eq!(header(&response, "server-timing"), "revisit", "{known}");
    }
}

#[tokio::test]
async fn serves_the_smallest_accepted_encoding() {
    let site = TestSite::start().await;
    let page = site.page().await;
    for (accepts, encoding) in [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        // Nothing obliges a server to choose one of these.
        ("*", ""),
        ("identity", ""),
        ("gzip;q=0, *;q=0", ""),
    ] {
        for path in ["/", find_path(&page, HOST_JS)] {
            let get = site.get(path).header("accept-encoding", accepts);
            let response = get.send().await.expect("a response");
            assert_eq!(
                header(&response, "content-encoding"),
                encoding,
                "{path} {accepts}"
            );
            assert_eq!(header(&response, "vary"), "accept-encoding");
        }
    }
}

/// `http_rules.rs` has the other preconditions.
#[tokio::test]
async fn content_in_another_encoding_is_not_unchanged() {
    let site = TestSite::start().await;
    let first = site.get("/").send().await.expect("a response");
    let compressed = site
        .get("/")
        .header("accept-encoding", "br")
        .header("if-none-match", header(&first, "etag"))
        .send()
        .await;
    assert_eq!(compressed.expect("a response").status(), 200);
}

#[tokio::test]
async fn head_has_the_headers_of_get_and_no_body() {
    let site = TestSite::start().await;
    for (path, status) in [("/", 200), ("/favicon.svg", 200), ("/nothing", 404)] {
        let get = site.get(path).send().await.expect("a response");
        let head = site.request("HEAD", path).send().await.expect("a response");
        assert_eq!(head.status(), status, "{path}");
        for name in ["content-length", "content-type", "etag", "cache-control"] {
            assert_eq!(header(&get, name), header(&head, name), "{path} {name}");
        }
        assert_eq!(head.text().await.expect("text"), "");
    }
}

#[tokio::test]
async fn files_allow_only_get_and_head() {
    let site = TestSite::start().await;
    let page = site.page().await;
    let (_, island) = page.split_once("data-modules=\"").expect("an island");
    let island = island.split(['"', ' ']).next().expect("a module");
    for path in [
        "/favicon.svg",
        "/site.webmanifest",
        find_path(&page, HOST_JS),
        find_path(&page, FONT),
        "/robots.txt",
        "/sitemap.xml",
        "/llms.txt",
        "/healthz",
        island,
    ] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let response = site.request(method, path).send().await.expect("a response");
            assert_eq!(response.status(), 405, "{method} {path}");
            assert_eq!(header(&response, "allow"), "GET,HEAD", "{method} {path}");
            assert_eq!(header(&response, "content-type"), "application/json");
        }
        assert_eq!(
            site.get(path).send().await.expect("a response").status(),
            200
        );
    }
}
