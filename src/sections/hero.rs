//! The first screen: the one promise, and what stands behind it.

use leptos::prelude::*;

use crate::{copy::hero, page::say};

/// The first screen.
#[component]
pub fn Hero() -> impl IntoView {
    let [first, second] = hero::TITLE.map(say);
    view! {
        <section class="hero" aria-labelledby="hero-title">
            <h1 id="hero-title"><span>{first}</span>" "<span>{second}</span></h1>
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
