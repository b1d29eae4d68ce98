//! What the server renders: the pages and their metadata.
//!
//! | module | holds |
//! |---|---|
//! | `document` | the HTML document around the sections: `<head>`, navigation, main, footer |
//! | `head` | the script in `<head>`, and the fonts and the boot script that it loads |
//! | `sections` | one component per section of the landing page, and the not-found page |
//! | `island` | the element of a React island, with its markup and properties |
//! | `metadata` | the tags for search engines and link previews, JSON-LD, `robots.txt` and the like |
//!
//! This file holds the contents that a page is rendered from.

pub mod document;
mod head;
pub mod island;
pub mod metadata;
pub mod sections;

use std::{collections::HashMap, sync::Arc};

use leptos::prelude::*;
use serde::Deserialize;

use crate::{
    copy::{self, reply},
    wire::{FormOutcome, IslandName},
};

/// The owner's configuration of the page.
#[derive(Clone, Debug)]
pub struct Site {
    /// Public origin, without a trailing slash. Every absolute URL of the site begins with it.
    pub origin: String,
    /// The product's name.
    pub product: String,
    /// Address of the mailto link.
    pub contact_email: String,
    /// URL of the social profile.
    pub social_url: String,
    /// Host of the social profile.
    pub social_host: String,
    /// The count line is hidden below this number.
    pub count_from: u64,
    /// Target of the Privacy link, which is a placeholder without it.
    pub privacy_url: Option<String>,
    /// Target of the Terms link, likewise.
    pub terms_url: Option<String>,
    /// Target of the Support link, likewise.
    pub support_url: Option<String>,
}

/// The static files that a page contains or refers to. `islands/build/build.mjs` writes them as JSON.
#[derive(Clone, Debug, Deserialize)]
pub struct Files {
    /// Content of the style sheet.
    pub inline_css: String,
    /// The script in the head, which decides what the page loads and when.
    pub head_script: String,
    /// URL path of the boot script, the page's only script in a file.
    pub boot_path: String,
    /// URL path of the wasm host's JavaScript, which the boot script loads.
    pub host_js_path: String,
    /// URL path of the wasm host.
    pub host_wasm_path: String,
    /// Each island by its name.
    pub islands: HashMap<IslandName, IslandBuild>,
    /// URL paths of the fonts to preload.
    #[serde(skip)]
    pub font_paths: Vec<String>,
    /// For each fixed URL path (`/favicon.svg`), the one with a hash of the content (`/favicon.1a2b3c4d.svg`),
    /// which browsers cache without revalidation.
    #[serde(skip)]
    pub hashed_paths: HashMap<String, String>,
}

/// The build of an island: what a page contains of it.
#[derive(Clone, Debug, Deserialize)]
pub struct IslandBuild {
    /// URL paths of all modules of the island, separated by spaces.
    pub modules: String,
    /// The markup, with `{{name}}` in place of the property `name`.
    pub markup: String,
}

impl Files {
    /// Returns the URL path of a file with a hash of its content, or `path` if there is none.
    pub fn hashed_path<'a>(&'a self, path: &'a str) -> &'a str {
        self.hashed_paths.get(path).map_or(path, String::as_str)
    }
}

/// Everything that a page is rendered from.
#[derive(Clone, Debug)]
pub struct Page {
    /// The owner's configuration.
    pub site: Arc<Site>,
    /// The static files.
    pub files: Arc<Files>,
    /// Number of people on the list.
    pub count: u64,
    /// Whether people are asked to confirm their address.
    pub confirms: bool,
    /// The reply to a form that was sent without JavaScript.
    pub reply: Option<FormResult>,
    /// Whether `cargo leptos watch` runs the server. Then the page contains its reload script.
    pub is_watching: bool,
}

/// The pages that confirm an address.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ConfirmStep {
    /// Asks for a click.
    Ask,
    /// The address is confirmed.
    Done,
    /// The person is not on the list any more.
    NotListed,
    /// The link is incomplete, or was not made by this site.
    WrongLink,
    /// The code for this address was not accepted.
    CodeRejected {
        /// The address.
        email: String,
        /// Why, and what to do.
        problem: &'static str,
    },
    /// The list could not be written.
    Failed,
}

impl ConfirmStep {
    /// Returns the heading, and the text below it.
    pub fn texts(&self) -> (&'static str, &'static str) {
        use copy::confirm as text;
        match self {
            Self::Ask => (text::ASK_TITLE, text::ASK),
            Self::Done => (text::DONE_TITLE, text::DONE),
            Self::NotListed => (text::NOT_LISTED_TITLE, text::NOT_LISTED),
            Self::WrongLink => (text::WRONG_LINK_TITLE, text::WRONG_LINK),
            Self::CodeRejected { problem, .. } => (text::CODE_REJECTED_TITLE, problem),
            Self::Failed => (text::FAILED_TITLE, text::FAILED),
        }
    }
}

/// The pages of the unsubscribe link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum UnsubscribeStep {
    /// Asks whether the person wants to leave.
    Ask,
    /// The person has left.
    Done,
    /// The link was not made by this site.
    Invalid,
    /// The list could not be written.
    Failed,
}

/// The result of a sign-up without JavaScript.
#[derive(Clone, Debug)]
pub struct FormResult {
    /// Success, or the kind of failure.
    pub outcome: FormOutcome,
    /// The title, as in the toast (spec §8).
    pub title: &'static str,
    /// The text, as in the toast (spec §8).
    pub text: &'static str,
    /// The content of the address field.
    pub email: String,
    /// The address that a code was sent to, if the page asks for it.
    pub code_for: Option<String>,
}

impl FormResult {
    /// The sign-up succeeded.
    pub fn success() -> Self {
        Self {
            outcome: FormOutcome::Joined,
            title: reply::JOINED_TITLE,
            text: reply::JOINED,
            email: String::new(),
            code_for: None,
        }
    }

    /// The sign-up failed. `email` stays in the field for correction.
    pub fn failure(outcome: FormOutcome, text: &'static str, email: String) -> Self {
        Self {
            outcome,
            title: reply::ERROR_TITLE,
            text,
            email,
            code_for: None,
        }
    }
}

/// Returns the page that is being rendered. For components.
pub fn use_page() -> Page {
    expect_context()
}

/// Replaces `{product}` in a text of [`copy`]. For components.
pub fn page_text(text: &str) -> String {
    copy::fill_product(text, &use_page().site.product)
}
