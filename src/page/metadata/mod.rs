//! What search engines and previews read: the head's metadata, and the texts beside the page.

mod graph;
mod texts;
mod theme;

use leptos::{html, prelude::*};

pub use texts::{llms, manifest, robots, sitemap};

use super::{Page, Site, page, say};
use crate::copy::head;

/// The pictures, by URL path. The files lie in `public/`.
mod picture {
    /// What a preview shows beside the text.
    pub(crate) const CARD: &str = "/social-card.png";
    /// Its width and height in pixels: the shape that previews ask for.
    pub(crate) const CARD_SIZE: [&str; 2] = ["1200", "630"];
    /// For browsers that can't read the drawing, and for whoever asks without looking.
    pub(crate) const FAVICON_ICO: &str = "/favicon.ico";
    /// The drawing, for every size.
    pub(crate) const FAVICON_SVG: &str = "/favicon.svg";
    /// For the home screen of an iPhone.
    pub(crate) const TOUCH: &str = "/apple-touch-icon.png";
    /// For a list of apps, 192 pixels wide.
    pub(crate) const SMALL: &str = "/icon-192.png";
    /// The same, 512 pixels wide.
    pub(crate) const LARGE: &str = "/icon-512.png";
    /// With room around it for a system that cuts its own shape.
    pub(crate) const MASKABLE: &str = "/icon-maskable-512.png";
}

/// Where the manifest is.
pub const MANIFEST: &str = "/site.webmanifest";

/// The absolute address of a path: previews and search engines take no other.
fn absolute(site: &Site, path: &str) -> String {
    format!("{}{path}", site.origin)
}

/// A `<meta>` with attributes that `view!` does not know there.
fn meta(key: &'static str, name: &'static str, content: &str) -> impl IntoView + use<> {
    html::meta().attr(key, name).content(content.to_owned())
}

/// What search engines and previews show of the landing page.
#[component]
pub fn Preview() -> impl IntoView {
    let Page { site, files, .. } = page();
    let title = say(head::TITLE);
    let description = say(head::DESCRIPTION);
    let address = absolute(&site, "/");
    let card = absolute(&site, files.at(picture::CARD));
    let open_graph = [
        ("og:type", "website"),
        ("og:site_name", &site.product),
        ("og:title", &title),
        ("og:description", &description),
        ("og:url", &address),
        ("og:image", &card),
        ("og:image:type", "image/png"),
        ("og:image:width", picture::CARD_SIZE[0]),
        ("og:image:height", picture::CARD_SIZE[1]),
        ("og:image:alt", head::CARD_ALT),
        ("og:locale", "en_US"),
    ];
    let twitter = [
        ("twitter:card", "summary_large_image"),
        ("twitter:title", &title),
        ("twitter:description", &description),
        ("twitter:image", &card),
        ("twitter:image:alt", head::CARD_ALT),
    ];
    view! {
        <meta name="description" content=description.clone()/>
        <link rel="canonical" href=address.clone()/>
        {open_graph.map(|(property, content)| meta("property", property, content)).collect_view()}
        {twitter.map(|(name, content)| meta("name", name, content)).collect_view()}
        // Data, which no browser runs: a policy against inline scripts lets it be.
        <script type="application/ld+json" inner_html=graph::json_ld(&site, &files)></script>
    }
}

/// How browsers mark a page of this site: colours and icons. The manifest comes with the boot script.
#[component]
pub fn Marks() -> impl IntoView {
    let files = page().files;
    let at = |path: &str| files.at(path).to_owned();
    let colours = theme::paper().map(|(scheme, paper)| {
        meta("name", "theme-color", &paper)
            .attr("media", format!("(prefers-color-scheme: {scheme})"))
    });
    view! {
        // The style sheet says it too, but comes later: until then a dark screen would be white.
        <meta name="color-scheme" content=theme::schemes()/>
        {colours.collect_view()}
        // Its size keeps browsers from choosing it over the drawing.
        <link rel="icon" href=at(picture::FAVICON_ICO) sizes="32x32"/>
        <link rel="icon" href=at(picture::FAVICON_SVG) type="image/svg+xml"/>
        <link rel="apple-touch-icon" href=at(picture::TOUCH)/>
    }
}
