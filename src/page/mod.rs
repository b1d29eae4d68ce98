//! What a page is made of, and how its components get at it.

pub mod document;
pub mod island;
pub mod metadata;
pub mod sections;

use std::{collections::HashMap, sync::Arc};

use leptos::prelude::*;

use crate::{
    copy::{self, reply},
    wire::FormOutcome,
};

/// What the owner has configured of the page.
#[derive(Clone, Debug)]
pub struct Site {
    /// Public origin, without a slash at the end. Every absolute address of the site begins with
    /// it.
    pub origin: String,
    /// The product's name.
    pub product: String,
    /// Address of the mailto link.
    pub contact_email: String,
    /// URL of the social profile.
    pub social_url: String,
    /// Its host.
    pub social_host: String,
    /// The count line is hidden below this number.
    pub count_from: u64,
    /// Privacy, Terms, Support: real links where an address is configured.
    pub privacy_url: Option<String>,
    /// See `privacy_url`.
    pub terms_url: Option<String>,
    /// See `privacy_url`.
    pub support_url: Option<String>,
}

/// The files that a page is made of or asks for.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The style sheet.
    pub inline_css: String,
    /// Its URL path.
    pub css_path: String,
    /// URL paths of the fonts, to be asked for at once.
    pub font_paths: Vec<String>,
    /// URL path of the one script of the page.
    pub boot_path: String,
    /// URL path of the wasm host's glue, which the script loads.
    pub host_js_path: String,
    /// URL path of the wasm host.
    pub host_wasm_path: String,
    /// By the URL path that everybody knows (`/favicon.svg`) the one that changes with the content
    /// (`/favicon.1a2b3c4d.svg`), which need not be asked for again.
    pub hashed_paths: HashMap<String, String>,
}

impl Files {
    /// The URL path to ask for when `path` is wanted.
    pub fn hashed_path<'a>(&'a self, path: &'a str) -> &'a str {
        self.hashed_paths.get(path).map_or(path, String::as_str)
    }
}

/// All that a page is made of.
#[derive(Clone, Debug)]
pub struct Page {
    /// What the owner has configured.
    pub site: Arc<Site>,
    /// The files.
    pub files: Arc<Files>,
    /// People on the list.
    pub count: u64,
    /// What the page answers to a form that posted itself.
    pub reply: Option<FormReply>,
    /// `cargo leptos watch` is at work: add its reload script.
    pub is_watching: bool,
}

/// What became of a form that posted itself.
#[derive(Clone, Debug)]
pub struct FormReply {
    /// Success, or what kind of failure.
    pub outcome: FormOutcome,
    /// A toast's title (spec §8).
    pub title: &'static str,
    /// A toast's text (spec §8).
    pub text: &'static str,
    /// What stays in the field.
    pub email: String,
}

impl FormReply {
    /// The sign-up succeeded.
    pub fn success() -> Self {
        Self {
            outcome: FormOutcome::Joined,
            title: reply::JOINED_TITLE,
            text: reply::JOINED,
            email: String::new(),
        }
    }

    /// The sign-up failed. `email` stays in the field for correction.
    pub fn failure(outcome: FormOutcome, text: &'static str, email: String) -> Self {
        Self {
            outcome,
            title: reply::ERROR_TITLE,
            text,
            email,
        }
    }
}

/// The page of this render. Every component may ask for it.
pub fn use_page() -> Page {
    expect_context()
}

/// A sentence of [`copy`] with the product's name in it.
pub fn page_text(text: &str) -> String {
    copy::fill_product(text, &use_page().site.product)
}
