//! `/robots.txt`, `/sitemap.xml` and `/llms.txt`: generated at start, served from memory.

use axum::http::HeaderValue;

use super::resource::{Compression, EncodedBody, REVALIDATE, Resource};
use crate::page::{Site, metadata};

/// The files, each named after its path.
#[derive(Debug)]
pub(super) struct TextFiles {
    pub(super) robots: Resource,
    pub(super) sitemap: Resource,
    pub(super) llms: Resource,
}

impl TextFiles {
    /// Generates and compresses the files.
    pub(super) fn new(site: &Site) -> Self {
        let resource = |content_type, text| {
            let content_type = HeaderValue::from_static(content_type);
            Resource::new(
                &content_type,
                REVALIDATE,
                EncodedBody::compress(text, Compression::Balanced),
            )
        };
        Self {
            robots: resource(TEXT_CONTENT_TYPE, metadata::robots(site)),
            sitemap: resource(XML_CONTENT_TYPE, metadata::sitemap(site)),
            llms: resource(TEXT_CONTENT_TYPE, metadata::llms(site)),
        }
    }
}

const TEXT_CONTENT_TYPE: &str = "text/plain; charset=utf-8";
const XML_CONTENT_TYPE: &str = "application/xml; charset=utf-8";
