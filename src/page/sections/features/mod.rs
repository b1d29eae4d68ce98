//! The features: six cards of different sizes, each with an illustration.

mod scenes;

use leptos::prelude::*;

use crate::{copy::features, page::page_text};

/// The features.
#[component]
pub fn Features() -> impl IntoView {
    // In the order of the cards.
    let scenes = [
        scenes::bucket().into_any(),
        scenes::tree().into_any(),
        scenes::editor().into_any(),
        scenes::key().into_any(),
        scenes::chart().into_any(),
        scenes::clock().into_any(),
    ];
    let cards = features::CARDS.into_iter().zip(scenes);
    view! {
        <section id="features" class="features" tabindex="-1" aria-labelledby="features-title">
            <h2 id="features-title">{features::TITLE}</h2>
            <p class="lead">{features::LEAD}</p>
            <ul class="features-cards">
                {cards
                    .map(|((title, text), scene)| {
                        view! {
                            <li>
                                <div class="card">
                                    <div><h3>{title}</h3><p>{page_text(text)}</p></div>
                                    {scene}
                                </div>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </section>
    }
}
