//! The footer.

use leptos::prelude::*;

use super::Logo;
use crate::{
    copy::footer,
    page::{page_text, use_page},
};

/// The footer. A link without a configured URL is a placeholder: `<a>` without `href`.
#[component]
pub fn Footer() -> impl IntoView {
    let site = use_page().site;
    let links = [
        (footer::PRIVACY, site.privacy_url.clone()),
        (footer::TERMS, site.terms_url.clone()),
        (footer::SUPPORT, site.support_url.clone()),
    ];
    view! {
        <footer class="footer">
            <p><Logo/>{page_text(footer::COPYRIGHT)}</p>
            <ul class="footer-links">
                {links.map(|(label, url)| view! { <li><a href=url>{label}</a></li> }).collect_view()}
            </ul>
        </footer>
    }
}
