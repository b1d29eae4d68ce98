//! The not-found page.

use leptos::prelude::*;

use crate::copy::not_found;

/// The message, and a link to the landing page.
#[component]
pub fn NotFound() -> impl IntoView {
    view! {
        <section class="not-found" aria-labelledby="not-found-title">
            <h1 id="not-found-title">{not_found::TITLE}</h1>
            <div>
                <p class="lead">{not_found::TEXT}</p>
                <p class="actions"><a class="button" href="/">{not_found::HOME}</a></p>
            </div>
            <RouteDiagram/>
        </section>
    }
}

/// The illustration: the routes of the site, and a missing one.
#[component]
fn RouteDiagram() -> impl IntoView {
    /// Height of a row, in em.
    const ROW_HEIGHT_EM: usize = 3;
    let rows = not_found::ROUTES.iter().enumerate().map(|(index, route)| {
        let middle = format!("{}em", ROW_HEIGHT_EM * index + 1);
        let branch = (index > 0)
            .then(|| view! { <line x1="0.3em" x2="1.75em" y1=middle.clone() y2=middle/> });
        let x = if index == 0 { "0" } else { "2.25em" };
        view! { {branch}<text x=x y=format!("{}.35em", ROW_HEIGHT_EM * index + 1)>{*route}</text> }
    });
    let missing = ROW_HEIGHT_EM * not_found::ROUTES.len() + 1;
    view! {
        <svg class="scene" height=format!("{}em", missing + 2) aria-hidden="true">
            <line x1="0.3em" x2="0.3em" y1="1.9em" y2=format!("{missing}em")/>
            {rows.collect_view()}
            <line class="live" stroke-dasharray="3 4" x1="0.3em" x2="1.75em" y1=format!("{missing}em") y2=format!("{missing}em")/>
            <rect class="live" stroke-dasharray="3 4" x="2.25em" y=format!("{}em", missing - 1) width="9em" height="2em"/>
            <text class="live" x="3em" y=format!("{missing}.35em")>"?"</text>
        </svg>
    }
}
