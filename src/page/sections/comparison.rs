//! The agent against a conventional chat assistant, point by point.

use leptos::prelude::*;

use crate::{copy::comparison, page::page_text};

/// Two columns of evidence under each thing one may ask for.
#[component]
pub fn Comparison() -> impl IntoView {
    let [theirs, ours] = comparison::TITLE.map(page_text);
    let [assistant, agent] = comparison::COLUMNS.map(page_text);
    // Each row names both for itself; the heads over the columns repeat it for the eye.
    let headings = [
        comparison::TASK_HEADING.to_owned(),
        assistant.clone(),
        agent.clone(),
    ];
    view! {
        <section id="comparison" class="comparison" tabindex="-1" aria-labelledby="comparison-title">
            <h2 id="comparison-title"><span>{theirs}</span>" "<span>{ours}</span></h2>
            <p class="lead">{page_text(comparison::LEAD)}</p>
            <div class="comparison-table">
                <p class="comparison-heads" aria-hidden="true">
                    {headings.map(|heading| view! { <span>{heading}</span> }).collect_view()}
                </p>
                <ul class="comparison-rows">
                    {comparison::ROWS
                        .map(|(task, theirs, ours)| {
                            view! {
                                <li>
                                    <h3>{task}</h3>
                                    <p class="theirs"><b>{assistant.clone()}</b>" "<span>{theirs}</span></p>
                                    <p class="ours"><b>{agent.clone()}</b>" "<span>{ours}</span></p>
                                </li>
                            }
                        })
                        .collect_view()}
                </ul>
            </div>
        </section>
    }
}
