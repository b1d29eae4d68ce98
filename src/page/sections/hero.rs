//! The first screen: the promise, two buttons, and the steps of the agent.

use leptos::prelude::*;

use super::Logo;
use crate::{
    copy::hero,
    page::{page_text, use_page},
};

/// The first screen.
#[component]
pub fn Hero() -> impl IntoView {
    let [first, second] = hero::TITLE.map(page_text);
    view! {
        <section class="hero" aria-labelledby="hero-title">
            <h1 id="hero-title"><span>{first}</span>" "<span>{second}</span></h1>
            <div class="hero-body">
                <div class="hero-columns">
                    <div>
                        <p class="lead">{page_text(hero::LEAD)}</p>
                        <p class="actions">
                            <a class="button" href="#contact">{hero::CALL_TO_ACTION}</a>
                            <a class="button quiet" href="#demo">{hero::WATCH_DEMO}</a>
                        </p>
                        <p class="note">{hero::NOTE}</p>
                    </div>
                    <Phone/>
                </div>
            </div>
            <ol class="hero-steps">
                {hero::STEPS
                    .map(|(name, text)| view! { <li><b>{name}</b>" "<span>{page_text(text)}</span></li> })
                    .collect_view()}
            </ol>
        </section>
    }
}

/// The illustration: a phone with the agent's text messages of one night.
#[component]
fn Phone() -> impl IntoView {
    view! {
        <figure class="phone" aria-hidden="true">
            <div class="phone-screen">
                <p class="phone-sender"><Logo/><span>{use_page().site.product.clone()}</span></p>
                <p class="phone-time">{hero::PHONE_TIME}</p>
                {hero::PHONE_MESSAGES
                    .map(|message| view! { <p class="phone-message">{page_text(message)}</p> })
                    .collect_view()}
            </div>
            <figcaption>{hero::PHONE_CAPTION}</figcaption>
        </figure>
    }
}
