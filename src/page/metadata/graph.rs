//! Who offers what here, in schema.org's words.

use serde_json::{Value, json};

use super::{absolute, picture};
use crate::{
    copy::{features, fill, head},
    page::{Files, Site},
};

/// The organisation, its site and its software as JSON-LD, to stand in HTML as it is.
pub(crate) fn json_ld(site: &Site, files: &Files) -> String {
    let graph = json!({
        "@context": "https://schema.org",
        "@graph": [organization(site, files), website(site), software(site, files)],
    });
    inert(&graph.to_string())
}

/// Where the others find the organisation.
fn publisher(site: &Site) -> Value {
    json!({ "@id": absolute(site, "/#organization") })
}

fn organization(site: &Site, files: &Files) -> Value {
    json!({
        "@type": "Organization",
        "@id": absolute(site, "/#organization"),
        "name": site.product,
        "url": absolute(site, "/"),
        "logo": absolute(site, files.at(picture::LARGE)),
        "email": site.contact,
        "sameAs": [site.social],
    })
}

fn website(site: &Site) -> Value {
    json!({
        "@type": "WebSite",
        "@id": absolute(site, "/#website"),
        "name": site.product,
        "url": absolute(site, "/"),
        "inLanguage": "en",
        "publisher": publisher(site),
    })
}

/// Without `offers` and ratings, although search engines show more with them: there is a waitlist
/// and no price yet, and nobody has rated anything.
fn software(site: &Site, files: &Files) -> Value {
    let features = features::CARDS.map(|(title, _)| fill(title, &site.product));
    json!({
        "@type": "SoftwareApplication",
        "@id": absolute(site, "/#software"),
        "name": site.product,
        "description": fill(head::DESCRIPTION, &site.product),
        "url": absolute(site, "/"),
        "image": absolute(site, files.at(picture::CARD)),
        "applicationCategory": "BusinessApplication",
        "operatingSystem": "Web",
        "featureList": features.as_slice(),
        "publisher": publisher(site),
    })
}

/// JSON with nothing in it that HTML or JavaScript would read as its own. These characters occur in
/// strings alone, where the escape means the same.
fn inert(json: &str) -> String {
    let mut inert = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                inert += &format!("\\u{:04x}", u32::from(character));
            }
            _ => inert.push(character),
        }
    }
    inert
}
