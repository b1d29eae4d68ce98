//! The text files of the site: robots.txt, the sitemap, llms.txt and the manifest.

use landing::copy::{self, comparison, features, hero, infrastructure};
use regex::Regex;
use serde_json::Value;

use crate::{
    metadata::{head, with_product_name, without_hashes},
    test_site::{TestSite, header},
};

async fn manifest(site: &TestSite) -> Value {
    serde_json::from_str(&site.get_text("/site.webmanifest").await).expect("JSON")
}

#[tokio::test]
async fn absolute_urls_use_the_configured_origin() {
    let origin = "https://bob.example:8443";
    let social = "https://people.example/@bob";
    let options = ["--origin", "https://bob.example:8443/", "--social", social];
    let site = TestSite::with_options(&options).await;
    let foreign = [
        social,
        "https://schema.org",
        "http://www.sitemaps.org/schemas/sitemap/0.9",
    ];
    let page = site.page().await;
    // Each text has at min_urls this number of URLs with the configured origin.
    let mut texts = vec![("/", head(&page).to_owned(), 9)];
    for (path, min_urls) in [
        ("/robots.txt", 1),
        ("/sitemap.xml", 1),
        ("/llms.txt", 2),
        ("/site.webmanifest", 0),
    ] {
        texts.push((path, site.get_text(path).await, min_urls));
    }
    let url = Regex::new(r#"https?://[^\s"'<>)]+"#).expect("valid");
    for (path, text, min_urls) in texts {
        let (own, other): (Vec<_>, Vec<_>) = url
            .find_iter(&text)
            .map(|found| found.as_str())
            .partition(|found| found.starts_with(&format!("{origin}/")));
        assert!(own.len() >= min_urls, "{path}: {own:?}");
        assert!(
            other.iter().all(|other| foreign.contains(other)),
            "{path}: {other:?}"
        );
    }
}

#[tokio::test]
async fn robots_txt_allows_all_but_the_api_and_links_the_sitemap() {
    let site = TestSite::start().await;
    assert_eq!(
        site.get_text("/robots.txt").await,
        "User-agent: *\nAllow: /\nDisallow: /api/\n\n\
         Sitemap: https://steward.example/sitemap.xml\n"
    );
    let sitemap = site.get_text("/sitemap.xml").await;
    assert!(sitemap.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset "));
    assert!(sitemap.contains("xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"));
    assert!(sitemap.contains("<url><loc>https://steward.example/</loc></url>"));
    assert_eq!(sitemap.matches("<url>").count(), 1);
    assert!(!sitemap.contains("lastmod"));
    assert!(sitemap.ends_with("</urlset>\n"));
}

#[tokio::test]
async fn llms_txt_contains_the_page_text() {
    let site = TestSite::start().await;
    let llms = site.get_text("/llms.txt").await;
    let summary = format!(
        "# Steward\n\n> {}\n\n",
        with_product_name(copy::head::DESCRIPTION)
    );
    assert!(llms.starts_with(&summary), "{llms}");

    let headed = [
        (hero::TITLE.join(" "), hero::LEAD),
        (comparison::TITLE.join(" "), comparison::LEAD),
        (features::TITLE.into(), features::LEAD),
        (infrastructure::TITLE.into(), infrastructure::LEAD),
    ];
    let headed = headed.map(|(title, lead)| format!("**{title}**\n\n{lead}\n\n"));
    let items = [&hero::STEPS[..], &features::CARDS, &infrastructure::POINTS].concat();
    let items = items
        .iter()
        .map(|(name, text)| format!("- **{name}**: {text}\n"));
    let [assistant, agent] = comparison::COLUMNS;
    let rows = [&[("", assistant, agent)][..], &comparison::ROWS].concat();
    let rows = rows
        .iter()
        .map(|(ask, a, b)| format!("| {ask} | {a} | {b} |\n"));
    for sentence in headed.into_iter().chain(items).chain(rows) {
        assert!(
            llms.contains(&with_product_name(&sentence)),
            "{sentence}\n{llms}"
        );
    }

    // According to llmstxt.org, a heading is followed only by links.
    let (_, links) = llms.split_once("\n## Links\n\n").expect("links");
    let link = Regex::new(r"^- \[[^\]]+\]\([^)\s]+\): .+$").expect("valid");
    assert!(links.lines().all(|line| link.is_match(line)), "{links}");
    assert_eq!(llms.matches("\n#").count(), 1, "no other heading");
    for address in [
        "(https://steward.example/#contact)",
        "(https://steward.example/#demo)",
        "(mailto:hello@steward.example)",
        "(https://social.example/@steward)",
    ] {
        assert!(links.contains(address), "{address}");
    }
    let page = site.page().await;
    for anchor in ["contact", "demo"] {
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
}

#[tokio::test]
async fn manifest_has_the_site_name_and_icons() {
    let manifest = manifest(&TestSite::start().await).await;
    let description = with_product_name(copy::head::DESCRIPTION);
    for (field, value) in [
        ("name", "Steward"),
        ("short_name", "Steward"),
        ("description", description.as_str()),
        ("start_url", "/"),
        ("scope", "/"),
        ("display", "browser"),
    ] {
        assert_eq!(manifest[field], value, "{field}");
    }
    let icons = manifest["icons"].as_array().expect("a list").iter();
    let icons: Vec<_> = icons
        .map(|icon| {
            let fields = ["src", "sizes", "purpose"];
            fields.map(|field| without_hashes(icon[field].as_str().expect(field)))
        })
        .collect();
    let wanted = [
        ["/icon-192.png", "192x192", "any"],
        ["/icon-512.png", "512x512", "any"],
        ["/icon-maskable-512.png", "512x512", "maskable"],
    ];
    assert_eq!(icons, wanted);
}

#[tokio::test]
async fn text_files_have_a_type_and_encodings() {
    let site = TestSite::start().await;
    for (path, content_type) in [
        ("/robots.txt", "text/plain; charset=utf-8"),
        ("/sitemap.xml", "text/xml; charset=utf-8"),
        ("/llms.txt", "text/plain; charset=utf-8"),
    ] {
        let get = site.get(path).send().await.expect("a response");
        assert_eq!(header(&get, "content-type"), content_type, "{path}");
        assert_eq!(header(&get, "cache-control"), "no-cache", "{path}");
        assert_eq!(header(&get, "vary"), "accept-encoding", "{path}");
    }
    for encoding in ["br", "gzip"] {
        let get = site.get("/llms.txt").header("accept-encoding", encoding);
        let response = get.send().await.expect("a response");
        assert_eq!(header(&response, "content-encoding"), encoding);
    }
}

#[tokio::test]
async fn text_files_escape_the_name_and_origin() {
    let name = "</script><b>&\"'|`[x](y)*\\";
    let site =
        TestSite::with_options(&["--product", name, "--origin", "https://a&b'c.example"]).await;
    assert_eq!(manifest(&site).await["name"], name);
    let llms = site.get_text("/llms.txt").await;
    let heading = "# \\</script\\>\\<b\\>\\&\"'\\|\\`\\[x\\](y)\\*\\\\\n";
    assert!(llms.starts_with(heading), "{llms}");
    let sitemap = site.get_text("/sitemap.xml").await;
    let address = "<loc>https://a&amp;b&apos;c.example/</loc>";
    assert!(sitemap.contains(address), "{sitemap}");
}
