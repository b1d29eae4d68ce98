//! Structured data for search engines, in the vocabulary of schema.org.

use serde_json::{Value, json};

use super::{absolute_url, image};
use crate::{
    copy::{features, fill_product, head},
    page::{Files, Site},
};

/// Returns the organisation, its website and its software as JSON-LD, escaped for a script element.
pub(crate) fn json_ld(site: &Site, files: &Files) -> String {
    let graph = json!({
        "@context": "https://schema.org",
        "@graph": [organization(site, files), website(site), software(site, files)],
    });
    escape_for_script(&graph.to_string())
}

/// Returns a reference to the organisation.
fn publisher_ref(site: &Site) -> Value {
    json!({ "@id": absolute_url(site, "/#organization") })
}

fn organization(site: &Site, files: &Files) -> Value {
    json!({
        "@type": "Organization",
        "@id": absolute_url(site, "/#organization"),
        "name": site.product,
        "url": absolute_url(site, "/"),
        "logo": absolute_url(site, files.hashed_path(image::ICON_512)),
        "email": site.contact_email,
        "sameAs": [site.social_url],
    })
}

fn website(site: &Site) -> Value {
    json!({
        "@type": "WebSite",
        "@id": absolute_url(site, "/#website"),
        "name": site.product,
        "url": absolute_url(site, "/"),
        "inLanguage": "en",
        "publisher": publisher_ref(site),
    })
}

/// Describes the software. Search engines show more if there are offers and ratings, but the product has neither
/// a price nor ratings yet.
fn software(site: &Site, files: &Files) -> Value {
    let features = features::CARDS.map(|(title, _)| fill_product(title, &site.product));
    json!({
        "@type": "SoftwareApplication",
        "@id": absolute_url(site, "/#software"),
        "name": site.product,
        "description": fill_product(head::DESCRIPTION, &site.product),
        "url": absolute_url(site, "/"),
        "image": absolute_url(site, files.hashed_path(image::SOCIAL_CARD)),
        "applicationCategory": "BusinessApplication",
        "operatingSystem": "Web",
        "featureList": features.as_slice(),
        "publisher": publisher_ref(site),
    })
}

/// Escapes the characters with a meaning in HTML or JavaScript. In JSON they only occur in strings, where the
/// escapes mean the same.
fn escape_for_script(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped += &format!("\\u{:04x}", u32::from(character));
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
