//! The mark of the product: a prompt. `public/favicon.svg` is the same drawing.

use leptos::prelude::*;

/// The mark, in the size and the colours of the text around it.
#[component]
pub fn Logo() -> impl IntoView {
    view! {
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="7"/>
            <path d="M9 11l6 5-6 5M17 22h7"/>
        </svg>
    }
}
