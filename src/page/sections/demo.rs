//! The demo terminal, and a button that leads to the waitlist.

use leptos::prelude::*;

use crate::{
    copy::demo,
    page::island::ReactIsland,
    wire::{IslandName, NoProps, StartCondition},
};

/// The demo. The terminal starts to play when half of this section is in view.
#[component]
pub fn Demo() -> impl IntoView {
    view! {
        <section id="demo" class="demo stage" tabindex="-1" aria-labelledby="demo-title">
            <h2 id="demo-title">{demo::TITLE}</h2>
            <p class="lead">{demo::LEAD}</p>
            <ReactIsland
                name=IslandName::DemoTerminal
                start=StartCondition::Visible
                props=NoProps {}
            />
            <p class="actions"><a class="button" href="#contact">{demo::CALL_TO_ACTION}</a></p>
        </section>
    }
}
