//! What is in the box: six cards.

use leptos::prelude::*;

use crate::{copy::features, page::say};

/// Six cards.
#[component]
pub fn Features() -> impl IntoView {
    view! {
        <section id="features" class="features" tabindex="-1" aria-labelledby="features-title">
            <h2 id="features-title">{features::TITLE}</h2>
            <p class="lead">{features::LEAD}</p>
            <ul class="features-cards">
                {features::CARDS
                    .map(|(title, text)| view! { <li><h3>{title}</h3><p>{say(text)}</p></li> })
                    .collect_view()}
            </ul>
        </section>
    }
}
