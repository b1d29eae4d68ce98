//! The first screen: the one promise, and what stands behind it.

use leptos::prelude::*;

use crate::{app::say, copy::hero};

/// The first screen.
#[component]
pub fn Hero() -> impl IntoView {
    view! {
        <section class="hero" aria-labelledby="hero-title">
            <h1 id="hero-title">{say(hero::TITLE)}</h1>
            <p class="lead">{say(hero::LEAD)}</p>
            <p class="actions">
                <a class="button" href="#contact">{hero::START}</a>
                <a class="button quiet" href="#demo">{hero::WATCH}</a>
            </p>
            <ol class="hero-steps">
                {hero::STEPS
                    .map(|(name, text)| view! { <li><b>{name}</b>" "<span>{say(text)}</span></li> })
                    .collect_view()}
            </ol>
        </section>
    }
}
