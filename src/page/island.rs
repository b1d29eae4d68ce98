//! The React islands: the element that the server renders for each. It contains the markup that React rendered at
//! build time, and the data that the browser needs to hydrate it.

use html_escape::encode_quoted_attribute_to_string;
use leptos::prelude::*;
use serde::Serialize;

use super::use_page;
use crate::wire::{IslandName, StartCondition};

/// Renders the element of an island. `islands/host` finds it, and `islands/hydrate.tsx` hydrates it.
#[component]
pub fn ReactIsland<P: Serialize + 'static>(
    /// Its code is in the folder of `islands` with this name.
    name: IslandName,
    /// When the browser mounts it.
    start: StartCondition,
    /// The properties of the React component.
    props: P,
) -> impl IntoView {
    let props = serde_json::to_value(props).unwrap_or_default();
    let files = use_page().files;
    let build = &files.islands[&name];
    view! {
        <div
            data-island=name.as_str()
            data-start=start.as_str()
            data-props=props.to_string()
            data-modules=build.modules.clone()
            inner_html=fill_template(&build.markup, &props)
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
