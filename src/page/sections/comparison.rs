//! The comparison of the agent with a chat assistant, task by task.

use leptos::prelude::*;

use crate::{copy::comparison, page::page_text};

/// The comparison. Each row has a task and two results.
#[component]
pub fn Comparison() -> impl IntoView {
    let [theirs, ours] = comparison::TITLE.map(page_text);
    let [assistant, agent] = comparison::COLUMNS.map(page_text);
    // Each row names the assistant and the agent, so the headings are hidden from screen readers.
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
