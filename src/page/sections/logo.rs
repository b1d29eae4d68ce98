//! The logo of the product: a command prompt. `public/favicon.svg` contains the same drawing.

use leptos::prelude::*;

/// The logo, in the size and the colours of the surrounding text.
#[component]
pub fn Logo() -> impl IntoView {
    view! {
        <svg class="mark" viewBox="0 0 32 32" aria-hidden="true">
            <rect width="32" height="32" rx="7"/>
            <path d="M9 11l6 5-6 5M17 22h7"/>
        </svg>
    }
}
