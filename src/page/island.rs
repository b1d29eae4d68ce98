//! The React islands: the element that the server renders for each. It contains the markup that React rendered at
//! build time, and the data that the browser needs to hydrate it.

use html_escape::encode_quoted_attribute_to_string;
use leptos::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::{IslandBuild, IslandVariant, use_page};

/// When the wasm host mounts an island. An island that the visitor touches (pointer or focus) is mounted at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartCondition {
    /// When it is in view or about to come into view, or the focus moves anywhere.
    Visible,
    /// In an idle moment after the form was mounted or failed to load. It must not compete with the form for
    /// bandwidth and processor time.
    AfterForm,
}

impl StartCondition {
    /// Returns the name in the page, by which `islands/host` finds the islands.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::AfterForm => "after-form",
        }
    }
}

/// Renders the element of an island. `islands/host` finds it, and `islands/hydrate.tsx` hydrates it.
///
/// # Panics
///
/// If there is no island of this name, it has no variant for these properties, or a placeholder in its markup names no
/// text.
#[component]
pub fn ReactIsland<P: Serialize + 'static>(
    /// The folder of `islands` with its code.
    name: &'static str,
    /// When the browser mounts it.
    start: StartCondition,
    /// The properties of the React component.
    props: P,
) -> impl IntoView {
    let props = serde_json::to_value(props).unwrap_or_default();
    let files = use_page().files;
    let build = files.islands.get(name);
    let build = build.unwrap_or_else(|| {
        panic!("the build found no islands/{name}/{name}.tsx; `touch build.rs` lets it look again")
    });
    view! {
        <div
            data-island=name
            data-start=start.as_str()
            data-props=props.to_string()
            data-modules=build.modules.clone()
            inner_html=fill_template(markup(build, &props), &props)
        ></div>
    }
}

/// Returns the markup for these properties.
fn markup<'a>(build: &'a IslandBuild, props: &Value) -> &'a str {
    let mut variants = build.variants.iter();
    let is_for = |variant: &IslandVariant| match &variant.when {
        Some(texts) => texts.iter().all(|(name, text)| props[name] == *text),
        None => props
            .as_object()
            .is_some_and(|it| it.values().all(Value::is_string)),
    };
    let variant = variants.find(|it| is_for(it));
    let variant = variant.expect("variants.ts of an island has all properties that are not texts");
    &variant.markup
}

/// Replaces the placeholders with the properties, escaped. Values are not searched for placeholders.
fn fill_template(template: &str, props: &Value) -> String {
    let mut pieces = template.split("{{");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").expect("placeholders end");
        let text = props[name].as_str().expect("placeholders are for texts");
        // The same escapes are valid in text and in quoted attributes.
        encode_quoted_attribute_to_string(text, &mut filled);
        filled.push_str(rest);
    }
    filled
}
