//! The head of a page, which search engines, link previews and browsers read.

use std::collections::HashMap;

use landing::copy::{self, fill_product};
use regex::Regex;
use serde_json::Value;

use crate::test_site::TestSite;

/// Fills the default product name into a text.
pub(crate) fn with_product_name(text: &str) -> String {
    fill_product(text, "Steward")
}

/// Returns a text without the hashes in the names of its files: `/favicon.svg` for `/favicon.1a2b3c4d.svg`.
pub(crate) fn without_hashes(text: &str) -> String {
    let hash = Regex::new(r"\.[0-9a-f]{8}\.").expect("valid");
    hash.replace_all(text, ".").into_owned()
}

/// Returns the head of a page.
pub(crate) fn head(page: &str) -> &str {
    page.split_once("</head>").expect("a head").0
}

/// Returns the contents of the `<meta>` elements, by name or property, followed by the media query if there
/// is one.
fn metas(page: &str) -> HashMap<String, String> {
    let meta = r#"<meta (?:name|property)="([^"]+)" content="([^"]*)"(?: media="([^"]+)")?>"#;
    let meta = Regex::new(meta).expect("valid");
    let found: Vec<_> = meta.captures_iter(head(page)).collect();
    let metas: HashMap<_, _> = found
        .iter()
        .map(|meta| {
            let medium = meta.get(3).map_or("", |medium| medium.as_str());
            (format!("{}{medium}", &meta[1]), meta[2].to_owned())
        })
        .collect();
    assert_eq!(metas.len(), found.len(), "a name or property occurs twice");
    metas
}

/// Returns the JSON-LD of a page.
fn json_ld(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/ld+json\">")
        .expect("a data block");
    let json = rest.split_once("</script>").expect("a closing tag").0;
    serde_json::from_str(json).expect("JSON")
}

#[tokio::test]
async fn link_previews_have_a_title_description_and_image() {
    let page = TestSite::start().await.page().await;
    let metas = metas(&page);
    let title: &str = &with_product_name(copy::head::TITLE);
    let description: &str = &with_product_name(copy::head::DESCRIPTION);
    let card = "https://steward.example/social-card.png";
    for (name, content) in [
        ("description", description),
        ("og:type", "website"),
        ("og:site_name", "Steward"),
        ("og:title", title),
        ("og:description", description),
        ("og:url", "https://steward.example/"),
        ("og:image", card),
        ("og:image:alt", copy::head::CARD_ALT),
        ("og:image:width", "1200"),
        ("og:image:height", "630"),
        ("og:locale", "en_US"),
        ("twitter:card", "summary_large_image"),
        ("twitter:image:alt", copy::head::CARD_ALT),
    ] {
        assert_eq!(without_hashes(&metas[name]), content, "{name}");
    }
    assert!(page.contains(&format!("<title>{title}</title>")));
    assert!(page.contains("<link rel=\"canonical\" href=\"https://steward.example/\">"));
    // Open Graph is by property, everything else by name.
    assert_eq!(page.matches("<meta property=\"og:").count(), 10);
    assert!(!page.contains("name=\"og:") && !page.contains("property=\"twitter:"));
}

#[tokio::test]
async fn both_pages_have_icons_and_cover_the_whole_screen() {
    let site = TestSite::start().await;
    let nothing = site.get("/nothing").send().await.expect("a response");
    for page in [site.page().await, nothing.text().await.expect("text")] {
        for link in [
            r#"<link rel="icon" href="/favicon\.[0-9a-f]{8}\.ico" sizes="32x32">"#,
            r#"<link rel="icon" href="/favicon\.[0-9a-f]{8}\.svg" type="image/svg\+xml">"#,
            r#"<link rel="apple-touch-icon" href="/apple-touch-icon\.[0-9a-f]{8}\.png">"#,
        ] {
            let link = Regex::new(link).expect("valid");
            assert!(link.is_match(head(&page)), "{link} {}", head(&page));
        }
        let viewport = "width=device-width, initial-scale=1, viewport-fit=cover";
        assert_eq!(metas(&page)["viewport"], viewport);
    }
}

#[tokio::test]
async fn not_found_page_has_noindex_and_no_link_preview() {
    let site = TestSite::start().await;
    let response = site.get("/nothing").send().await.expect("a response");
    let page = response.text().await.expect("text");
    assert_eq!(metas(&page)["robots"], "noindex");
    for absent in ["canonical", "og:", "twitter:", "ld+json", "description"] {
        assert!(!head(&page).contains(absent), "{absent}");
    }
    assert!(!metas(&site.page().await).contains_key("robots"));
}

#[tokio::test]
async fn theme_colour_matches_the_page_background() {
    let tokens = include_str!("../../style/tokens.css");
    let paper = Regex::new(r"--paper:\s*light-dark\(\s*(\w+\([^)]+\)|#\w+),\s*(\w+\([^)]+\)|#\w+)")
        .expect("valid")
        .captures(tokens)
        .expect("a colour of the paper");
    let [light, dark] = [1, 2].map(|scheme| {
        let [red, green, blue, _] = csscolorparser::parse(&paper[scheme])
            .expect("a colour")
            .to_rgba8();
        format!("#{red:02x}{green:02x}{blue:02x}")
    });
    let site = TestSite::start().await;
    let nothing = site.get("/nothing").send().await.expect("a response");
    for page in [site.page().await, nothing.text().await.expect("text")] {
        let metas = metas(&page);
        let colour = |scheme| &metas[&format!("theme-color(prefers-color-scheme: {scheme})")];
        assert_eq!([colour("light"), colour("dark")], [&light, &dark]);
        assert!(tokens.contains(&format!("color-scheme: {};", metas["color-scheme"])));
    }
    let manifest = site.get_text("/site.webmanifest").await;
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["theme_color"], light);
    assert_eq!(manifest["background_color"], light);
}

#[tokio::test]
async fn json_ld_describes_the_organization_site_and_product() {
    let page = TestSite::start().await.page().await;
    let graph = json_ld(&page);
    assert_eq!(graph["@context"], "https://schema.org");
    let things = graph["@graph"].as_array().expect("a list");
    let types: Vec<_> = things.iter().map(|thing| &thing["@type"]).collect();
    assert_eq!(types, ["Organization", "WebSite", "SoftwareApplication"]);
    let [organization, website, software] = [0, 1, 2].map(|index| &things[index]);
    for thing in things {
        assert_eq!(thing["name"], "Steward");
        assert_eq!(thing["url"], "https://steward.example/");
    }

    let id = &organization["@id"];
    assert_eq!(id, "https://steward.example/#organization");
    let logo = organization["logo"].as_str().expect("a URL");
    assert_eq!(without_hashes(logo), "https://steward.example/icon-512.png");
    assert_eq!(organization["email"], "hello@steward.example");
    let social = serde_json::json!(["https://social.example/@steward"]);
    assert_eq!(organization["sameAs"], social);
    assert_eq!(&website["publisher"]["@id"], id);

    assert_eq!(&software["publisher"]["@id"], id);
    assert_eq!(
        software["description"],
        with_product_name(copy::head::DESCRIPTION)
    );
    assert_eq!(software["applicationCategory"], "BusinessApplication");
    assert_eq!(software["operatingSystem"], "Web");
    let card = "https://steward.example/social-card.png";
    let image = software["image"].as_str().expect("a URL");
    assert_eq!(without_hashes(image), card);
    let features = copy::features::CARDS.map(|(title, _)| with_product_name(title));
    assert_eq!(software["featureList"], serde_json::json!(features));
    for invented in ["offers", "aggregateRating", "review"] {
        assert_eq!(software[invented], Value::Null, "{invented}");
    }
}

#[tokio::test]
async fn escapes_the_product_name_in_the_head_and_json_ld() {
    let name = "</script>\u{2028}<b>&\"'";
    let page = TestSite::with_options(&["--product", name])
        .await
        .page()
        .await;
    assert_eq!(json_ld(&page)["@graph"][0]["name"], name);
    let (_, data) = page.split_once("ld+json\">").expect("a data block");
    let data = data.split_once("</script>").expect("a closing tag").0;
    for character in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        assert!(!data.contains(character), "{character:?}");
    }
    // The data, the script in the head and the boot script.
    assert_eq!(page.matches("</script").count(), 3);
    assert!(!head(&page).contains("<b>"));
    let shown = "&lt;/script&gt;\u{2028}&lt;b&gt;&amp;&quot;'";
    assert_eq!(metas(&page)["og:site_name"], shown);
}

/// Returns the width and height in pixels from the first chunk of a PNG file (PNG specification, 11.2.1).
fn png_size(bytes: &[u8]) -> (u32, u32) {
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    let number = |offset: usize| {
        let bytes = bytes[offset..offset + 4].try_into();
        u32::from_be_bytes(bytes.expect("four bytes"))
    };
    (number(16), number(20))
}

#[tokio::test]
async fn images_exist_in_their_declared_sizes() {
    let public = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("public");
    let read = |path: &str| {
        std::fs::read(public.join(without_hashes(path).trim_start_matches('/')))
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    };
    assert_eq!(png_size(&read("/social-card.png")), (1200, 630));
    assert_eq!(png_size(&read("/apple-touch-icon.png")), (180, 180));

    let site = TestSite::start().await;
    let manifest: serde_json::Value =
        serde_json::from_str(&site.get_text("/site.webmanifest").await).expect("JSON");
    for icon in manifest["icons"].as_array().expect("icons") {
        let (width, height) = png_size(&read(icon["src"].as_str().expect("a path")));
        assert_eq!(icon["sizes"], format!("{width}x{height}"));
    }

    // An ICO file with one image: byte 6 is its width, and its PNG starts at byte 22.
    let ico = read("/favicon.ico");
    assert_eq!((ico[6], png_size(&ico[22..])), (32, (32, 32)));
    let svg = String::from_utf8(read("/favicon.svg")).expect("text");
    assert!(svg.contains("prefers-color-scheme: dark"));
}
