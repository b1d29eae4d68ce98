//! What it is built on: decentralized storage, and what follows for the owner.

use leptos::prelude::*;

use crate::{copy::infrastructure, page::say};

/// Three selling points.
#[component]
pub fn Infrastructure() -> impl IntoView {
    view! {
        <section class="infrastructure" aria-labelledby="infrastructure-title">
            <h2 id="infrastructure-title">{infrastructure::TITLE}</h2>
            <p class="lead">{say(infrastructure::LEAD)}</p>
            <ul class="infrastructure-points">
                {infrastructure::POINTS
                    .map(|(title, text)| view! { <li><h3>{title}</h3><p>{text}</p></li> })
                    .collect_view()}
            </ul>
        </section>
    }
}
