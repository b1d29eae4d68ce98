//! The agent against a conventional chat assistant, point by point.

use leptos::prelude::*;

use crate::{copy::comparison, page::say};

/// Two columns of evidence under each thing one may ask for.
#[component]
pub fn Comparison() -> impl IntoView {
    let [assistant, agent] = comparison::COLUMNS.map(say);
    view! {
        <section id="comparison" class="comparison" tabindex="-1" aria-labelledby="comparison-title">
            <h2 id="comparison-title">{say(comparison::TITLE)}</h2>
            <p class="lead">{say(comparison::LEAD)}</p>
            <ul class="comparison-rows">
                {comparison::ROWS
                    .map(|(ask, theirs, ours)| {
                        view! {
                            <li>
                                <h3>{ask}</h3>
                                <p class="theirs"><b>{assistant.clone()}</b>" "<span>{theirs}</span></p>
                                <p class="ours"><b>{agent.clone()}</b>" "<span>{ours}</span></p>
                            </li>
                        }
                    })
                    .collect_view()}
            </ul>
        </section>
    }
}
