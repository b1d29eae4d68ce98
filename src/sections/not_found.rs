//! The page for every path that is no page.

use leptos::prelude::*;

use crate::copy::not_found;

/// What is missing, and the way home.
#[component]
pub fn NotFound() -> impl IntoView {
    view! {
        <section class="not-found">
            <h1>{not_found::TITLE}</h1>
            <p class="lead">{not_found::TEXT}</p>
            <p class="actions"><a class="button" href="/">{not_found::HOME}</a></p>
        </section>
    }
}
