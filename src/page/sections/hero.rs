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

/// The illustration: a phone with the message about a sale.
#[component]
fn Phone() -> impl IntoView {
    let [hour, ago, message] = hero::PHONE;
    view! {
        <div class="phone" aria-hidden="true">
            <p class="phone-hour">{hour}</p>
            <div class="phone-message">
                <p class="phone-sender"><Logo/><span>{use_page().site.product.clone()}</span><span>{ago}</span></p>
                <p>{message}</p>
            </div>
        </div>
    }
}
