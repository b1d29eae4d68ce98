//! The demo terminal, and a button that leads to the waitlist.

use leptos::prelude::*;

use crate::{
    copy::demo,
    page::island::{ReactIsland, StartCondition},
    wire::NoProps,
};

/// The demo. The terminal starts to play when half of this section is in view.
#[component]
pub fn Demo() -> impl IntoView {
    view! {
        <section id="demo" class="demo stage" tabindex="-1" aria-labelledby="demo-title">
            <h2 id="demo-title">{demo::TITLE}</h2>
            <p class="lead">{demo::LEAD}</p>
            <div class="demo-screen">
                <ReactIsland
                    name="demo-terminal"
                    start=StartCondition::Visible
                    props=NoProps {}
                />
                {shop()}
            </div>
            <p class="actions"><a class="button" href="#contact">{demo::CALL_TO_ACTION}</a></p>
        </section>
    }
}

/// The shop that the terminal launches, in a browser's window: a bottle, its price, and a button. It appears with the
/// message about the first sale (`style/demo-terminal.css`).
fn shop() -> impl IntoView {
    let [product, price, order] = demo::SHOP;
    view! {
        <div class="shop" aria-hidden="true">
            <svg class="scene" viewBox="0 0 240 180">
                <path d="M1 1h238v178H1z"/>
                <path class="quiet" d="M1 25h238"/>
                <path class="wash" d="M18 42h88v120H18z"/>
                <path d="M56 52h12v8l-1 14c0 8 13 10 13 22v50a6 6 0 0 1-6 6H50a6 6 0 0 1-6-6V96c0-12 13-14 13-22l-1-14z"/>
                <path class="live" d="M44 104h36v28H44z"/>
                <text x="124" y="66">{product}</text>
                <text class="quiet" x="124" y="90">{price}</text>
                <path class="live" d="M124 130h96v32h-96z"/>
                <text class="live" x="172" y="151" text-anchor="middle">{order}</text>
            </svg>
        </div>
    }
}
