//! The fixed bar: four links and a button, at every width and without a menu.

use leptos::prelude::*;

use super::Logo;
use crate::{copy::nav, page::use_page};

/// The fixed bar.
#[component]
pub fn Nav(
    /// Before each anchor: nothing on the landing page, so that a query in its address stays; `/`
    /// elsewhere.
    base: &'static str,
) -> impl IntoView {
    let start = format!("{base}#contact");
    view! {
        <header class="nav">
            <a class="nav-brand" href="/"><Logo/><span>{use_page().site.product.clone()}</span></a>
            <a class="button nav-start above" href=start.clone()>{nav::CALL_TO_ACTION}</a>
            <nav aria-label=nav::LABEL>
                <ul class="nav-links">
                    {nav::LINKS
                        .map(|(anchor, label)| {
                            view! { <li><a href=format!("{base}#{anchor}")>{label}</a></li> }
                        })
                        .collect_view()}
                </ul>
            </nav>
            <a class="button nav-start beside" href=start>{nav::CALL_TO_ACTION}</a>
        </header>
    }
}
