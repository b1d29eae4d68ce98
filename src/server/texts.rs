//! The texts beside the page: made at start, answered from memory.

use axum::{
    extract::{Request, State},
    http::{HeaderValue, StatusCode},
    routing::{self, MethodRouter},
};

use super::{
    AppState,
    resource::{Effort, Encodings, REVALIDATE, Resource},
};
use crate::page::{Site, metadata};

/// What stands at the addresses of the same names.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) robots: Resource,
    pub(super) sitemap: Resource,
    pub(super) llms: Resource,
}

impl Texts {
    pub(super) fn new(site: &Site) -> Self {
        let made = |content_type, text| {
            let content_type = HeaderValue::from_static(content_type);
            Resource::new(&content_type, REVALIDATE, Encodings::of(text, Effort::Kept))
        };
        Self {
            robots: made(TEXT, metadata::robots(site)),
            sitemap: made(XML, metadata::sitemap(site)),
            llms: made(TEXT, metadata::llms(site)),
        }
    }
}

const TEXT: &str = "text/plain; charset=utf-8";
const XML: &str = "application/xml; charset=utf-8";

/// `GET` of one of them.
pub(super) fn get(which: fn(&Texts) -> &Resource) -> MethodRouter<AppState> {
    routing::get(
        move |State(state): State<AppState>, request: Request| async move {
            which(&state.texts).respond(StatusCode::OK, request.headers())
        },
    )
}
