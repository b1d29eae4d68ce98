//! Metadata: what search engines, link previews, language models and browsers read.
//!
//! | where | holds |
//! |---|---|
//! | [`PageMetadata`] | description, canonical link, Open Graph and Twitter tags |
//! | [`Icons`] | icons and theme colours |
//! | `json_ld` | the structured data in the landing page |
//! | `crawler_files` | `robots.txt`, `sitemap.xml`, `llms.txt` and the web manifest |
//! | `theme` | the colours of the style sheet, for the places that CSS does not reach |

mod crawler_files;
mod json_ld;
mod theme;

use leptos::{html, prelude::*};

pub use crawler_files::{llms, manifest, robots, sitemap};

use super::{Page, Site, page_text, use_page};
use crate::copy::head;

/// URL paths of the images. The files are in `public/`.
mod image {
    /// The image of link previews.
    pub(crate) const SOCIAL_CARD: &str = "/social-card.png";
    /// Its width and height in pixels, as preview services recommend.
    pub(crate) const SOCIAL_CARD_SIZE: [&str; 2] = ["1200", "630"];
    /// For browsers without SVG icons, and for programs that request it without reading the page.
    pub(crate) const FAVICON_ICO: &str = "/favicon.ico";
    /// The icon in any size.
    pub(crate) const FAVICON_SVG: &str = "/favicon.svg";
    /// For the home screen of iOS.
    pub(crate) const APPLE_TOUCH_ICON: &str = "/apple-touch-icon.png";
    /// For lists of apps, 192 pixels wide.
    pub(crate) const ICON_192: &str = "/icon-192.png";
    /// The same, 512 pixels wide.
    pub(crate) const ICON_512: &str = "/icon-512.png";
    /// With a margin, for systems that cut icons into their own shape.
    pub(crate) const ICON_MASKABLE_512: &str = "/icon-maskable-512.png";
}

/// URL path of the web manifest.
pub const MANIFEST_PATH: &str = "/site.webmanifest";

/// Returns a `<meta>` with attributes that `view!` does not support.
fn meta(key: &'static str, name: &'static str, content: &str) -> impl IntoView + use<> {
    html::meta().attr(key, name).content(content.to_owned())
}

/// The tags for search engines and link previews. Only the landing page has them.
#[component]
pub fn PageMetadata() -> impl IntoView {
    let Page { site, files, .. } = use_page();
    let title = page_text(head::TITLE);
    let description = page_text(head::DESCRIPTION);
    let page_url = absolute_url(&site, "/");
    let card_url = absolute_url(&site, files.hashed_path(image::SOCIAL_CARD));
    let open_graph = [
        ("og:type", "website"),
        ("og:site_name", &site.product),
        ("og:title", &title),
        ("og:description", &description),
        ("og:url", &page_url),
        ("og:image", &card_url),
        ("og:image:width", image::SOCIAL_CARD_SIZE[0]),
        ("og:image:height", image::SOCIAL_CARD_SIZE[1]),
        ("og:image:alt", head::CARD_ALT),
        ("og:locale", "en_US"),
    ];
    // X takes the title, the description and the image from Open Graph.
    let twitter = [
        ("twitter:card", "summary_large_image"),
        ("twitter:image:alt", head::CARD_ALT),
    ];
    view! {
        <meta name="description" content=description.clone()/>
        <link rel="canonical" href=page_url.clone()/>
        {open_graph.map(|(property, content)| meta("property", property, content)).collect_view()}
        {twitter.map(|(name, content)| meta("name", name, content)).collect_view()}
        // The policy against inline scripts does not apply: browsers do not run this type.
        <script type="application/ld+json" inner_html=json_ld::json_ld(&site, &files)></script>
    }
}

/// The icons and colours that browsers show for the site. The boot script adds the manifest.
#[component]
pub fn Icons() -> impl IntoView {
    let files = use_page().files;
    let hashed_path = |path: &str| files.hashed_path(path).to_owned();
    let colours = theme::PAPER.map(|(scheme, paper)| {
        meta("name", "theme-color", paper)
            .attr("media", format!("(prefers-color-scheme: {scheme})"))
    });
    view! {
        // The style sheet repeats this, but is parsed later. Until then, a dark page would be white.
        <meta name="color-scheme" content=theme::COLOR_SCHEMES/>
        {colours.collect_view()}
        // Without a size, some browsers would prefer it to the SVG.
        <link rel="icon" href=hashed_path(image::FAVICON_ICO) sizes="32x32"/>
        <link rel="icon" href=hashed_path(image::FAVICON_SVG) type="image/svg+xml"/>
        <link rel="apple-touch-icon" href=hashed_path(image::APPLE_TOUCH_ICON)/>
    }
}

/// Returns the absolute URL of a path. Link previews and search engines do not accept relative ones.
fn absolute_url(site: &Site, path: &str) -> String {
    format!("{}{path}", site.origin)
}
