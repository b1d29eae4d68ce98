//! The files for crawlers, language models and browsers.

use serde_json::json;

use super::{absolute_url, image, theme};
use crate::{
    copy::{
        comparison, contact, demo, features, fill_product, head, hero, infrastructure, islands,
    },
    page::{Files, Site},
};

/// Returns `/robots.txt`. It allows everything except the API, which has no content.
pub fn robots(site: &Site) -> String {
    let sitemap = absolute_url(site, "/sitemap.xml");
    format!("User-agent: *\nAllow: /\nDisallow: /api/\n\nSitemap: {sitemap}\n")
}

/// Returns `/sitemap.xml` with the landing page.
///
/// It has no `lastmod`: the server does not know when the texts last changed, and a wrong date makes search engines
/// ignore all of them.
pub fn sitemap(site: &Site) -> String {
    let page = escape_xml(&absolute_url(site, "/"));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n  \
         <url><loc>{page}</loc></url>\n\
         </urlset>\n"
    )
}

/// Returns `/site.webmanifest`: name, colours and icons for bookmarks and home screens. The display mode is
/// `browser`, because the site is not an app.
pub fn manifest(site: &Site, files: &Files) -> String {
    // A manifest has only one colour scheme. Browsers assume the light one.
    let [(_, paper), _] = theme::PAPER;
    let icon = |path, sizes, purpose| json!({ "src": files.hashed_path(path), "sizes": sizes, "type": "image/png", "purpose": purpose });
    let manifest = json!({
        "name": site.product,
        "short_name": site.product,
        "description": fill_product(head::DESCRIPTION, &site.product),
        "lang": "en",
        "start_url": "/",
        "scope": "/",
        "display": "browser",
        "background_color": paper,
        "theme_color": paper,
        "icons": [
            icon(image::ICON_192, "192x192", "any"),
            icon(image::ICON_512, "512x512", "any"),
            icon(image::ICON_MASKABLE_512, "512x512", "maskable"),
        ],
    });
    format!("{manifest:#}\n")
}

/// Returns `/llms.txt`: the texts of the page for language models, in the format of llmstxt.org.
///
/// In that format, a heading is followed by a list of links, and parsers require that. So the sections before the
/// links begin with a bold line instead.
pub fn llms(site: &Site) -> String {
    let escaped = |text: &str| escape_markdown(&fill_product(text, &site.product));
    let section = |title: &str, lead: &str, body: String| {
        format!("**{}**\n\n{}\n\n{body}\n", escaped(title), escaped(lead))
    };
    let list = |items: &[(&str, &str)]| -> String {
        let item =
            |(name, text): &(&str, &str)| format!("- **{}**: {}\n", escaped(name), escaped(text));
        items.iter().map(item).collect()
    };
    let row = |task: &str, assistant: &str, agent: &str| {
        format!(
            "| {} | {} | {} |\n",
            escaped(task),
            escaped(assistant),
            escaped(agent)
        )
    };
    let [assistant, agent] = comparison::COLUMNS;
    let rows = comparison::ROWS.map(|(task, assistant, agent)| row(task, assistant, agent));
    let table = row("", assistant, agent) + "| --- | --- | --- |\n" + &rows.concat();
    let link = |label: &str, url: &str, note: &str| {
        // Among the valid characters of a URL, only these could end the link.
        let url = url.replace('(', "%28").replace(')', "%29");
        format!("- [{}]({url}): {}\n", escaped(label), escaped(note))
    };
    [
        format!(
            "# {}\n\n> {}\n\n",
            escaped("{product}"),
            escaped(head::DESCRIPTION)
        ),
        section(&hero::TITLE.join(" "), hero::LEAD, list(&hero::STEPS)),
        section(&comparison::TITLE.join(" "), comparison::LEAD, table),
        section(features::TITLE, features::LEAD, list(&features::CARDS)),
        section(
            infrastructure::TITLE,
            infrastructure::LEAD,
            list(&infrastructure::POINTS),
        ),
        format!("## {}\n\n", escaped(head::LINKS_HEADING)),
        link(
            islands::waitlist_form::SUBMIT,
            &absolute_url(site, "/#contact"),
            contact::LEAD,
        ),
        link(hero::WATCH_DEMO, &absolute_url(site, "/#demo"), demo::TITLE),
        link(
            islands::contact_links::CONTACT_LABEL,
            &format!("mailto:{}", site.contact_email),
            &site.contact_email,
        ),
        link(
            islands::contact_links::SOCIAL_LABEL,
            &site.social_url,
            &site.social_host,
        ),
    ]
    .concat()
}

fn escape_xml(text: &str) -> String {
    // The ampersand first, because the other replacements contain it.
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&apos;")
}

/// Escapes every character with a meaning in Markdown.
fn escape_markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if r"\`*_[]<>&#|~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}
