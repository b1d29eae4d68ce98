//! How the site is delivered: the files of the islands and the fonts, and the compression of the page. `http/files.txt` has the
//! requests for files.

use std::{collections::HashMap, time::Duration};

use tokio::time::timeout;

use crate::test_site::{TestSite, header};

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
    let islands = page.matches("data-island=\"").count();
    assert_eq!(lists.len(), islands, "one list for each island");
    assert!(islands > 0, "{page}");
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
