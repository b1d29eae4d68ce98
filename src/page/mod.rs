//! What the server renders: the pages and their metadata.
//!
//! | module | holds |
//! |---|---|
//! | `document` | the HTML document around the sections: `<head>`, navigation, main, footer |
//! | `head` | the script in `<head>`, and the fonts and the boot script that it loads |
//! | `sections` | one component per section of the landing page, and the contents of the other pages |
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
    copy::{self, islands},
    wire::{FormState, FormStep, Invitation, SignUpBody},
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
    /// URL path of the boot script, which the page loads after its first paint.
    pub boot_path: String,
    /// URL path of the wasm host's JavaScript, which the boot script loads.
    pub host_js_path: String,
    /// URL path of the wasm host.
    pub host_wasm_path: String,
    /// Each island by its name.
    pub islands: HashMap<String, IslandBuild>,
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
    /// URL paths of all modules of the island, separated by spaces. The first one is its own.
    pub modules: String,
    /// The variants of its markup.
    pub variants: Vec<IslandVariant>,
}

/// The markup of an island, for certain properties.
#[derive(Clone, Debug, Deserialize)]
pub struct IslandVariant {
    /// The texts that the properties must have. Without it, any property must be a text.
    pub when: Option<HashMap<String, String>>,
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
#[derive(Clone)]
pub struct Page {
    /// The owner's configuration.
    pub site: Arc<Site>,
    /// The static files.
    pub files: Arc<Files>,
    /// Number of people on the list.
    pub count: u64,
    /// Whether people are asked to confirm their address.
    pub confirms: bool,
    /// What the form shows, if it was sent without JavaScript.
    pub form: Option<FormState>,
    /// Where the browser posts the form without JavaScript.
    pub form_action: &'static str,
    /// Whether `cargo leptos watch` runs the server. Then the page contains its reload script.
    pub is_watching: bool,
}

/// The pages that the links in messages lead to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum LinkPage {
    /// Asks the person to confirm the address.
    Confirm,
    /// The address is confirmed now.
    Confirmed,
    /// The address was confirmed before.
    AlreadyConfirmed,
    /// The person is not on the list any more.
    NotListed,
    /// The list could not be written.
    ConfirmFailed,
    /// Asks whether the person wants to leave.
    Unsubscribe,
    /// The person has left.
    Unsubscribed,
    /// The list could not be written.
    UnsubscribeFailed,
    /// The link is incomplete, or was not made by this site.
    WrongLink,
}

/// The person that a link names.
#[derive(Clone, Default, Eq, Hash, PartialEq)]
pub struct Recipient {
    /// The address, masked.
    pub address: String,
    /// The URL of the other choice: to leave, or to stay.
    pub way_out: String,
    /// The person's invitation, if the page shows it.
    pub invitation: Option<Invitation>,
}

/// What a person can do on the page of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkAction {
    /// A button that does what the link is for, and a link to the other way out: their labels.
    Ask(&'static str, &'static str),
    /// A button that tries again: its label.
    Retry(&'static str),
    /// A link to the landing page, or to its form: its label and URL.
    Visit(&'static str, &'static str),
    /// A link to write to the owner.
    Contact,
}

impl LinkPage {
    /// Returns the title and heading.
    pub fn title(self) -> &'static str {
        self.content().0
    }

    /// Returns the text below the heading.
    pub fn text(self) -> &'static str {
        self.content().1
    }

    /// Returns what a person can do.
    pub fn action(self) -> LinkAction {
        self.content().2
    }

    /// Returns whether the link names a person on the list, or one who has left.
    pub fn is_found(self) -> bool {
        !matches!(self, Self::NotListed | Self::WrongLink)
    }

    fn content(self) -> (&'static str, &'static str, LinkAction) {
        use LinkAction::{Ask, Contact, Retry, Visit};
        use copy::links as text;
        let home = Visit(text::HOME, "/");
        let join = Visit(text::JOIN, "/#contact");
        let retry = Retry(text::RETRY);
        match self {
            Self::Confirm => {
                let action = Ask(text::CONFIRM, text::NOT_ME);
                (text::CONFIRM_TITLE, text::CONFIRM_TEXT, action)
            }
            Self::Confirmed => (text::CONFIRMED_TITLE, text::CONFIRMED, home),
            Self::AlreadyConfirmed => (text::ALREADY_CONFIRMED_TITLE, text::CONFIRMED, home),
            Self::NotListed => (text::NOT_LISTED_TITLE, text::NOT_LISTED, join),
            Self::ConfirmFailed => (text::CONFIRM_FAILED_TITLE, text::FAILED, retry),
            Self::Unsubscribe => {
                let action = Ask(text::UNSUBSCRIBE, text::STAY);
                (text::UNSUBSCRIBE_TITLE, text::UNSUBSCRIBE_TEXT, action)
            }
            Self::Unsubscribed => (text::UNSUBSCRIBED_TITLE, text::UNSUBSCRIBED, join),
            Self::UnsubscribeFailed => (text::UNSUBSCRIBE_FAILED_TITLE, text::FAILED, retry),
            Self::WrongLink => (text::WRONG_LINK_TITLE, text::WRONG_LINK, Contact),
        }
    }
}

/// Returns the form before anything was sent.
pub fn empty_form() -> FormState {
    FormState {
        message: islands::waitlist_form::PROMISE.into(),
        ..FormState::default()
    }
}

/// Returns the form that asks for the code that was sent to an address.
pub fn code_form(email: &str) -> FormState {
    FormState {
        step: FormStep::Code,
        sign_up: SignUpBody::with_email(email),
        lead: copy::fill_email(islands::waitlist_form::CODE_SENT, email),
        message: islands::waitlist_form::CODE_HINT.into(),
        ..FormState::default()
    }
}

/// Returns the page that is being rendered. For components.
pub fn use_page() -> Page {
    expect_context()
}

/// Replaces `{product}` and `{revenue}` in a text of [`copy`]. For components.
pub fn page_text(text: &str) -> String {
    copy::fill_product(text, &use_page().site.product)
        .replace("{revenue}", islands::demo_terminal::SAMPLE_REVENUE)
}
