//! The React islands: the element that the server renders for each. It contains the markup that React rendered at
//! build time, and the data that the browser needs to hydrate it.

use html_escape::encode_quoted_attribute_to_string;
use leptos::prelude::*;
use serde::Serialize;

use super::use_page;
use crate::wire::{ContactLinksProps, IslandName, NoProps, StartCondition, WaitlistFormProps};

/// An island of the page. Its code is in the folder `islands/NAME`.
pub trait Island {
    /// The properties of the React component.
    type Props: Serialize;
    /// The name.
    const NAME: IslandName;
    /// When the browser mounts it.
    const START: StartCondition;
    /// URL paths of all its modules, separated by spaces.
    const MODULE_PATHS: &'static str;
    /// The markup, with `{{name}}` in place of the property `name`.
    const TEMPLATE: &'static str;
    /// Returns the properties for this page.
    fn props(self) -> Self::Props;
}

/// Declares an island: name, folder, start condition, properties.
macro_rules! island {
    ($(#[$doc:meta])* $name:ident, $folder:literal, $start:ident, $props:ty, |$this:ident| $value:expr) => {
        impl Island for $name {
            type Props = $props;
            const NAME: IslandName = IslandName::$name;
            const START: StartCondition = StartCondition::$start;
            const MODULE_PATHS: &'static str = include_str!(concat!(
                env!("OUT_DIR"),
                "/islands/modules/",
                $folder,
                ".txt"
            ));
            const TEMPLATE: &'static str = include_str!(concat!(
                env!("OUT_DIR"),
                "/islands/prerendered/",
                $folder,
                ".html"
            ));
            fn props(self) -> $props {
                let $this = self;
                $value
            }
        }
    };
}

/// The demo terminal.
#[derive(Clone, Copy, Debug)]
pub struct DemoTerminal;
/// The sign-up form and the line with the count.
#[derive(Clone)]
pub struct WaitlistForm(pub WaitlistFormProps);
/// The links to the owner: e-mail and social profile.
#[derive(Clone, Debug)]
pub struct ContactLinks(pub ContactLinksProps);
/// The toasts.
#[derive(Clone, Copy, Debug)]
pub struct Toaster;

island!(DemoTerminal, "demo-terminal", Visible, NoProps, |_this| {
    NoProps {}
});
island!(
    WaitlistForm,
    "waitlist-form",
    Visible,
    WaitlistFormProps,
    |this| this.0
);
island!(
    ContactLinks,
    "contact-links",
    AfterForm,
    ContactLinksProps,
    |this| this.0
);
island!(Toaster, "toaster", AfterForm, NoProps, |_this| NoProps {});

/// Renders the element of an island. `island_host.rs` finds it, and `islands/hydrate.tsx` hydrates it.
#[component]
pub fn ReactIsland<I: Island + 'static>(
    /// The island with its properties.
    island: I,
) -> impl IntoView {
    let props = serde_json::to_value(island.props()).unwrap_or_default();
    let files = use_page().files;
    let (modules, template) = match files.island_builds.get(I::NAME.as_str()) {
        Some(build) => (build.modules.as_str(), build.markup.as_str()),
        None => (I::MODULE_PATHS, I::TEMPLATE),
    };
    let markup = fill_template(template, &props);
    view! {
        <div
            data-island=I::NAME.as_str()
            data-start=I::START.as_str()
            data-props=props.to_string()
            data-modules=modules.to_owned()
            inner_html=markup
        ></div>
    }
}

/// Replaces the placeholders with the properties, escaped. Values are not searched for placeholders.
fn fill_template(template: &str, props: &serde_json::Value) -> String {
    let mut pieces = template.split("{{");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        match &props[name] {
            // The same escapes are valid in text and in quoted attributes.
            serde_json::Value::String(text) => {
                encode_quoted_attribute_to_string(text, &mut filled);
            }
            serde_json::Value::Null => {}
            other => filled.push_str(&other.to_string()),
        }
        filled.push_str(rest);
    }
    filled
}
