//! What the server writes for an island: its markup as React rendered it at build time, with what
//! the browser's half needs to bring it to life.

use leptos::prelude::*;
use serde::Serialize;

use crate::wire::{ContactLinksProps, IslandName, NoProps, StartCondition, WaitlistFormProps};

/// An island of the page: a folder in `islands/`, and its properties.
pub trait Island {
    /// What React gets.
    type Props: Serialize;
    /// Its name.
    const NAME: IslandName;
    /// When it is mounted.
    const START: StartCondition;
    /// URL paths of all modules that its code is in, with a space between them.
    const MODULE_PATHS: &'static str;
    /// Its markup, with `{{name}}` where the property `name` is shown.
    const TEMPLATE: &'static str;
    /// What React gets this time.
    fn props(self) -> Self::Props;
}

/// Declares an island: name, start, properties.
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

/// The scripted launch.
#[derive(Clone, Copy, Debug)]
pub struct DemoTerminal;
/// The form and the count line.
#[derive(Clone)]
pub struct WaitlistForm(pub WaitlistFormProps);
/// The mailto and social links.
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

/// Writes an island into the page. `host.rs` finds it there and `islands/mount.tsx` hydrates it.
#[component]
pub fn ReactIsland<I: Island + 'static>(
    /// The island with its properties.
    island: I,
) -> impl IntoView {
    let props = serde_json::to_value(island.props()).unwrap_or_default();
    let markup = fill_template(I::TEMPLATE, &props);
    view! {
        <div
            data-island=I::NAME.as_str()
            data-start=I::START.as_str()
            data-props=props.to_string()
            data-modules=I::MODULE_PATHS
            inner_html=markup
        ></div>
    }
}

/// Puts the properties where the markup shows them, escaped, each value read as text only once.
fn fill_template(template: &str, props: &serde_json::Value) -> String {
    let mut pieces = template.split("{{");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").unwrap_or(("", piece));
        match &props[name] {
            serde_json::Value::String(text) => filled.push_str(&escape_html(text)),
            serde_json::Value::Null => {}
            other => filled.push_str(&other.to_string()),
        }
        filled.push_str(rest);
    }
    filled
}

/// For text and for quoted attribute values alike.
fn escape_html(text: &str) -> String {
    text.chars()
        .fold(String::with_capacity(text.len()), |mut escaped, c| {
            match c {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&#x27;"),
                plain => escaped.push(plain),
            }
            escaped
        })
}
