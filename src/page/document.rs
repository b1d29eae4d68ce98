//! The HTML documents of the pages: the head, and the sections.

use leptos::prelude::*;

use super::{
    LinkPage, Page, Recipient,
    head::loader,
    island::{ReactIsland, StartCondition},
    metadata::{Icons, PageMetadata},
    sections::{Footer, LandingSections, Link, Nav, NotFound},
};
use crate::{
    copy,
    wire::{FormOutcome, FormStep, NoProps},
};

/// Renders the landing page.
pub fn landing_page(page: Page) -> String {
    let title = page
        .form
        .as_ref()
        .map(|form| match (form.step, form.outcome) {
            (_, FormOutcome::Invalid | FormOutcome::Failed) => {
                format!(
                    "{}: {}",
                    copy::islands::waitlist_form::ERROR_TITLE,
                    form.message
                )
            }
            (FormStep::Code, FormOutcome::None | FormOutcome::Joined) => {
                copy::contact::CODE_TITLE.into()
            }
            (FormStep::Email, FormOutcome::None | FormOutcome::Joined) => {
                copy::islands::waitlist_form::JOINED_TITLE.into()
            }
        });
    let title = title.map_or_else(
        || copy::head::TITLE.to_owned(),
        |title| format!("{title} — {{product}}"),
    );
    render(page, &title, true, || view! { <LandingSections/> })
}

/// Renders the not-found page.
pub fn not_found_page(page: Page) -> String {
    render(
        page,
        copy::not_found::TITLE,
        false,
        || view! { <NotFound/> },
    )
}

/// Renders the page that a link in a message leads to. One that names a person has a recipient.
pub fn link_page(page: Page, link: LinkPage, recipient: Option<Recipient>) -> String {
    let title = format!("{} — {{product}}", link.title());
    render(page, &title, false, || {
        view! { <Link page=link recipient/> }
    })
}

/// Renders a page. The landing page has islands and metadata, and search engines may list it.
fn render<V: IntoView>(
    page: Page,
    title: &str,
    is_landing: bool,
    sections: impl FnOnce() -> V,
) -> String {
    let owner = Owner::new();
    owner.with(|| {
        let Page {
            site,
            files,
            is_watching,
            ..
        } = page.clone();
        let title = copy::fill_product(title, &site.product);
        provide_context(page);
        view! {
            <!DOCTYPE html>
            <html lang="en">
                <head>
                    <meta charset="utf-8"/>
                    <meta
                        name="viewport"
                        content="width=device-width, initial-scale=1, viewport-fit=cover"
                    />
                    <title>{title}</title>
                    {if is_landing {
                        view! { <PageMetadata/> }.into_any()
                    } else {
                        view! { <meta name="robots" content="noindex"/> }.into_any()
                    }}
                    <Icons/>
                    {loader(&files, is_landing)}
                    // Inlined: no request delays the first paint.
                    <style inner_html=files.inline_css.clone()></style>
                    {is_watching.then(reload_script)}
                </head>
                <body>
                    <a class="skip" href="#main">{copy::nav::SKIP}</a>
                    <Nav is_landing/>
                    {is_landing.then(toaster)}
                    <main id="main" tabindex="-1">{sections()}</main>
                    <Footer/>
                </body>
            </html>
        }
        .to_html()
        // Removes Leptos's hydration markers, which are malformed comments. Text is escaped, so
        // nothing else looks like them.
        .replace("<!>", "")
    })
}

fn toaster() -> impl IntoView {
    view! { <ReactIsland name="toaster" start=StartCondition::AfterForm props=NoProps {}/> }
}

/// The script that reloads the page after a rebuild. It is inline, and never part of a production page.
fn reload_script() -> impl IntoView {
    // cargo-leptos has set the environment that this reads.
    let config = get_configuration(None).expect("cargo-leptos watches");
    view! { <AutoReload options=config.leptos_options/> }
}
