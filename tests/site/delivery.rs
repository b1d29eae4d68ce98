//! How the site is sent: what comes with the page and what after it, in which encoding, and how long
//! it may be kept.

use std::{collections::HashMap, time::Duration};

use regex::Regex;
use tokio::time::{sleep, timeout};

use crate::test_site::{Site, header};

#[tokio::test]
async fn the_style_is_in_the_page_and_nothing_else_keeps_it_from_being_painted() {
    let site = Site::start().await;
    let style = site.text("/pkg/landing.HASH.css").await;
    for path in ["/", "/nothing"] {
        let answer = site.get(path).send().await.expect("an answer");
        let page = answer.text().await.expect("text");
        assert!(page.contains(&format!("<style>{style}</style>")), "{path}");
        assert_eq!(page.matches("<style").count(), 1, "{path}");
        assert!(!page.contains("rel=\"stylesheet\""), "{path}");
    }
}

#[tokio::test]
async fn an_island_names_the_modules_it_needs_and_they_are_there() {
    let site = Site::start().await;
    let page = site.page().await;
    let lists: Vec<_> = page.split("data-modules=\"").skip(1).collect();
    assert_eq!(lists.len(), 4, "one for each island");
    for list in lists {
        let urls: Vec<_> = list
            .split('"')
            .next()
            .expect("it ends")
            .split(' ')
            .collect();
        assert!(urls.len() > 1, "{urls:?}");
        for url in urls {
            let module = site.text(url).await;
            // What it imports is in the list too.
            for imported in module.split("from\"./").skip(1) {
                let name = imported.split('"').next().expect("it ends");
                assert!(list.contains(&format!("/islands/{name}")), "{url}: {name}");
            }
        }
    }
}

#[tokio::test]
async fn the_count_in_the_page_is_of_this_second() {
    let site = Site::start().await;
    assert_eq!(site.join("ann@example.com").await.status(), 201);
    assert_eq!(site.join("bob@example.com").await.status(), 201);
    let told = timeout(Duration::from_secs(30), async {
        while !site
            .page()
            .await
            .contains("2 entrepreneurs already on the list")
        {
            sleep(Duration::from_millis(20)).await;
        }
    });
    told.await.expect("the page is made anew");
}

#[tokio::test]
async fn while_people_join_the_page_is_compressed_in_haste_and_then_as_far_as_it_goes() {
    let site = Site::start().await;
    let mut bodies = HashMap::new();
    let mut page = async || {
        let get = site.get("/").header("accept-encoding", "br");
        let answer = get.send().await.expect("an answer");
        let etag = header(&answer, "etag").to_owned();
        let body = answer.bytes().await.expect("a body");
        let before = bodies.insert(etag, body.clone());
        assert!(
            before.is_none_or(|before| before == body),
            "a tag of its own"
        );
        let mut text = Vec::new();
        brotli::BrotliDecompress(&mut &body[..], &mut text).expect("brotli");
        let mut smallest = Vec::new();
        let best = brotli::enc::BrotliEncoderParams::default();
        brotli::BrotliCompress(&mut &text[..], &mut smallest, &best).expect("it compresses");
        (text, body.len() <= smallest.len())
    };
    let patient = timeout(Duration::from_secs(60), async {
        let mut people = 0;
        let in_haste = loop {
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
        (people, in_haste, small)
    });
    let (people, in_haste, small) = patient.await.expect("both are seen");
    assert!(in_haste.len().abs_diff(small.len()) < 10, "the same page");
    let told = format!("{people} entrepreneur");
    assert!(String::from_utf8_lossy(&small).contains(&told), "{told}");
}

#[tokio::test]
async fn hashed_files_are_kept_for_good_and_others_are_asked_about() {
    let site = Site::start().await;
    let page = site.page().await;
    let boot = page
        .split_once("src=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let boot = boot.expect("the boot script").0;
    // As the page asks for it: `/favicon.1a2b3c4d.svg`.
    let hashed = |name: &str, extension: &str| {
        let regex = format!(r#"(?:href|data-manifest)="(/{name}\.[0-9a-f]{{8}}\.{extension})""#);
        let found = Regex::new(&regex).expect("valid").captures(&page);
        &page[found.expect("it is linked").get(1).expect("it is").range()]
    };
    for (path, content_type, cache) in [
        (
            "/pkg/landing.HASH.css",
            "text/css; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        (
            boot,
            "text/javascript; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        (
            "/pkg/landing.HASH.wasm",
            "application/wasm",
            "public, max-age=31536000, immutable",
        ),
        (
            "/fonts/prose.HASH.woff2",
            "font/woff2",
            "public, max-age=31536000, immutable",
        ),
        (
            hashed("favicon", "svg"),
            "image/svg+xml; charset=utf-8",
            "public, max-age=31536000, immutable",
        ),
        (
            hashed("site", "webmanifest"),
            "application/manifest+json",
            "public, max-age=31536000, immutable",
        ),
        ("/favicon.svg", "image/svg+xml; charset=utf-8", "no-cache"),
        ("/site.webmanifest", "application/manifest+json", "no-cache"),
        ("/robots.txt", "text/plain; charset=utf-8", "no-cache"),
        ("/", "text/html; charset=utf-8", "no-cache"),
    ] {
        let answer = site.get(path).send().await.expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        assert_eq!(header(&answer, "content-type"), content_type, "{path}");
        assert_eq!(header(&answer, "cache-control"), cache, "{path}");
    }
}

#[tokio::test]
async fn a_missing_file_is_404_and_not_kept() {
    let site = Site::start().await;
    for path in [
        "/pkg/landing.GONE.js",
        "/islands/boot-GONE.js",
        "/fonts/gone.woff2",
        "/gone.png",
    ] {
        let answer = site.get(path).send().await.expect("an answer");
        assert_eq!(answer.status(), 404, "{path}");
        assert_eq!(header(&answer, "cache-control"), "no-store", "{path}");
    }
}

#[tokio::test]
async fn both_pages_ask_for_the_typefaces_at_once_and_phones_for_one_of_them() {
    let site = Site::start().await;
    let preload = |path: &str, media: &str| {
        format!(
            "<link rel=\"preload\" href=\"{path}\" as=\"font\" type=\"font/woff2\"{media} crossorigin"
        )
    };
    let prose = preload("/fonts/prose.HASH.woff2", "");
    let machine = preload(
        "/fonts/wide/machine.HASH.woff2",
        " media=\"(width &gt;= 45rem)\"",
    );
    for path in ["/", "/nothing"] {
        let answer = site.get(path).send().await.expect("an answer");
        let page = answer.text().await.expect("text");
        assert!(page.contains(&prose), "{path}: {page}");
        assert!(page.contains(&machine), "{path}: {page}");
    }
}

/// The same condition stands in three languages.
#[test]
fn the_font_that_is_not_for_phones_is_asked_for_where_it_is_used() {
    let read = |path: &str| std::fs::read_to_string(path).expect("readable");
    let windows = "(width >= 45rem)";
    assert!(read("style/fonts.css").contains(&format!("@media {windows} {{")));
    assert!(read("style/tokens.css").contains(&format!("@media {windows} {{\n    --machine:")));
    assert!(read("src/app.rs").contains(&format!("\"{windows}\"")));
}

#[tokio::test]
async fn the_encoding_is_the_smallest_the_client_takes() {
    let site = Site::start().await;
    for (accepts, encoding) in [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("*", "br"),
        ("identity", ""),
        ("gzip;q=0, *;q=0", ""),
    ] {
        for path in ["/", "/pkg/landing.HASH.css"] {
            let get = site.get(path).header("accept-encoding", accepts);
            let answer = get.send().await.expect("an answer");
            assert_eq!(
                header(&answer, "content-encoding"),
                encoding,
                "{path} {accepts}"
            );
            assert_eq!(header(&answer, "vary"), "accept-encoding");
        }
    }
}

#[tokio::test]
async fn what_has_not_changed_is_304_for_its_own_encoding_only() {
    let site = Site::start().await;
    for path in ["/", "/favicon.svg"] {
        let first = site.get(path).send().await.expect("an answer");
        let etag = header(&first, "etag").to_owned();
        let again = site
            .get(path)
            .header("if-none-match", &etag)
            .send()
            .await
            .expect("an answer");
        assert_eq!(again.status(), 304, "{path}");
        assert_eq!(header(&again, "etag"), etag);
        assert_eq!(again.text().await.expect("text"), "");
    }
    let first = site.get("/").send().await.expect("an answer");
    let other = site.get("/").header("accept-encoding", "br");
    let other = other
        .header("if-none-match", header(&first, "etag"))
        .send()
        .await;
    assert_eq!(other.expect("an answer").status(), 200);
}

#[tokio::test]
async fn a_head_has_the_headers_of_the_get_and_no_body() {
    let site = Site::start().await;
    for (path, status) in [("/", 200), ("/favicon.svg", 200), ("/nothing", 404)] {
        let get = site.get(path).send().await.expect("an answer");
        let head = site.request("HEAD", path).send().await.expect("an answer");
        assert_eq!(head.status(), status, "{path}");
        for name in ["content-length", "content-type", "etag", "cache-control"] {
            assert_eq!(header(&get, name), header(&head, name), "{path} {name}");
        }
        assert_eq!(head.text().await.expect("text"), "");
    }
}

#[tokio::test]
async fn a_file_takes_no_other_method_than_get_and_head() {
    let site = Site::start().await;
    let page = site.page().await;
    let (_, island) = page.split_once("data-modules=\"").expect("an island");
    let island = island.split(['"', ' ']).next().expect("its module");
    for path in [
        "/favicon.svg",
        "/site.webmanifest",
        "/pkg/landing.HASH.js",
        "/fonts/prose.HASH.woff2",
        "/robots.txt",
        "/sitemap.xml",
        "/llms.txt",
        "/healthz",
        island,
    ] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let answer = site.request(method, path).send().await.expect("an answer");
            assert_eq!(answer.status(), 405, "{method} {path}");
            assert_eq!(header(&answer, "allow"), "GET,HEAD", "{method} {path}");
            assert_eq!(header(&answer, "content-type"), "application/json");
        }
        assert_eq!(
            site.get(path).send().await.expect("an answer").status(),
            200
        );
    }
}

#[tokio::test]
async fn of_a_list_in_a_header_the_first_32_items_count_and_empty_ones_do_not() {
    let site = Site::start().await;
    let unknown = |items: usize| "unknown,".repeat(items);
    for (accepted, encoding) in [
        (format!("{}gzip", ", ,".repeat(50)), "gzip"),
        (format!("{}gzip", unknown(31)), "gzip"),
        (format!("{}gzip", unknown(32)), ""),
        (format!("{}gzip", ",".repeat(4_000)), ""),
    ] {
        let get = site.get("/").header("accept-encoding", &accepted);
        let answer = get.send().await.expect("an answer");
        assert_eq!(
            header(&answer, "content-encoding"),
            encoding,
            "{accepted:.60}"
        );
    }
    let answer = site.get("/").send().await.expect("an answer");
    let etag = header(&answer, "etag").to_owned();
    let others = |items: usize| "\"other\",".repeat(items);
    for (tags, status) in [
        (format!("{}{etag}", ", ,".repeat(50)), 304),
        (format!("{}{etag}", others(31)), 304),
        (format!("{}{etag}", others(32)), 200),
        (format!("{}{etag}", ",".repeat(4_000)), 200),
    ] {
        let get = site.get("/").header("if-none-match", &tags);
        let answer = get.send().await.expect("an answer");
        assert_eq!(answer.status(), status, "{tags:.60}");
    }
}
