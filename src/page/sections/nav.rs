//! The navigation bar: four links and a button. It has no menu, at any width.

use leptos::prelude::*;

use super::Logo;
use crate::{copy::nav, page::use_page};

/// The navigation bar.
#[component]
pub fn Nav(
    /// Whether it is on the landing page itself. There each link is only an anchor, which keeps the query of the URL.
    is_landing: bool,
) -> impl IntoView {
    // `#` is the top of the page.
    let (base, brand) = if is_landing { ("", "#") } else { ("/", "/") };
    let start = format!("{base}#contact");
    view! {
        <header class="nav">
            <div class="nav-bar">
                <a class="nav-brand" href=brand><Logo/><span>{use_page().site.product.clone()}</span></a>
                <a class="button nav-start" href=start.clone()>{nav::CALL_TO_ACTION}</a>
            </div>
            <div class="nav-end">
                <nav aria-label=nav::LABEL>
                    <ul class="nav-links">
                        {nav::LINKS
                            .map(|(anchor, label)| {
                                view! { <li><a href=format!("{base}#{anchor}")>{label}</a></li> }
                            })
                            .collect_view()}
                    </ul>
                </nav>
                <a class="button nav-start" href=start>{nav::CALL_TO_ACTION}</a>
            </div>
        </header>
    }
}
