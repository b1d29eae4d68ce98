//! What search engines and previews read: the head's metadata, and the texts beside the page.

mod json_ld;
mod text_files;
mod theme;

use leptos::{html, prelude::*};

pub use text_files::{llms, manifest, robots, sitemap};

use super::{Page, Site, page_text, use_page};
use crate::copy::head;

/// The pictures, by URL path. The files lie in `public/`.
mod image {
    /// What a preview shows beside the text.
    pub(crate) const SOCIAL_CARD: &str = "/social-card.png";
    /// Its width and height in pixels: the shape that previews ask for.
    pub(crate) const SOCIAL_CARD_SIZE: [&str; 2] = ["1200", "630"];
    /// For browsers that can't read the drawing, and for whoever asks without looking.
    pub(crate) const FAVICON_ICO: &str = "/favicon.ico";
    /// The drawing, for every size.
    pub(crate) const FAVICON_SVG: &str = "/favicon.svg";
    /// For the home screen of an iPhone.
    pub(crate) const APPLE_TOUCH_ICON: &str = "/apple-touch-icon.png";
    /// For a list of apps, 192 pixels wide.
    pub(crate) const ICON_192: &str = "/icon-192.png";
    /// The same, 512 pixels wide.
    pub(crate) const ICON_512: &str = "/icon-512.png";
    /// With room around it for a system that cuts its own shape.
    pub(crate) const ICON_MASKABLE_512: &str = "/icon-maskable-512.png";
}

/// Where the manifest is.
pub const MANIFEST_PATH: &str = "/site.webmanifest";

/// The absolute address of a path: previews and search engines take no other.
fn absolute_url(site: &Site, path: &str) -> String {
    format!("{}{path}", site.origin)
}

/// A `<meta>` with attributes that `view!` does not know there.
fn meta(key: &'static str, name: &'static str, content: &str) -> impl IntoView + use<> {
    html::meta().attr(key, name).content(content.to_owned())
}

/// What search engines and previews show of the landing page.
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
        ("og:image:type", "image/png"),
        ("og:image:width", image::SOCIAL_CARD_SIZE[0]),
        ("og:image:height", image::SOCIAL_CARD_SIZE[1]),
        ("og:image:alt", head::CARD_ALT),
        ("og:locale", "en_US"),
    ];
    let twitter = [
        ("twitter:card", "summary_large_image"),
        ("twitter:title", &title),
        ("twitter:description", &description),
        ("twitter:image", &card_url),
        ("twitter:image:alt", head::CARD_ALT),
    ];
    view! {
        <meta name="description" content=description.clone()/>
        <link rel="canonical" href=page_url.clone()/>
        {open_graph.map(|(property, content)| meta("property", property, content)).collect_view()}
        {twitter.map(|(name, content)| meta("name", name, content)).collect_view()}
        // Data, which no browser runs: a policy against inline scripts lets it be.
        <script type="application/ld+json" inner_html=json_ld::json_ld(&site, &files)></script>
    }
}

/// How browsers mark a page of this site: colours and icons. The manifest comes with the boot script.
#[component]
pub fn Icons() -> impl IntoView {
    let files = use_page().files;
    let hashed_path = |path: &str| files.hashed_path(path).to_owned();
    let colours = theme::paper_colours().map(|(scheme, paper)| {
        meta("name", "theme-color", &paper)
            .attr("media", format!("(prefers-color-scheme: {scheme})"))
    });
    view! {
        // The style sheet says it too, but comes later: until then a dark screen would be white.
        <meta name="color-scheme" content=theme::color_schemes()/>
        {colours.collect_view()}
        // Its size keeps browsers from choosing it over the drawing.
        <link rel="icon" href=hashed_path(image::FAVICON_ICO) sizes="32x32"/>
        <link rel="icon" href=hashed_path(image::FAVICON_SVG) type="image/svg+xml"/>
        <link rel="apple-touch-icon" href=hashed_path(image::APPLE_TOUCH_ICON)/>
    }
}
