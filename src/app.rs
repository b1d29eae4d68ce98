//! The pages: what stands in the head, and the sections in their order.

use leptos::prelude::*;

use crate::{
    copy,
    island::{ReactIsland, Toaster},
    metadata::{Marks, Preview},
    page::Page,
    sections::{Comparison, Contact, Demo, Features, Footer, Hero, Infrastructure, Nav, NotFound},
};

/// The landing page as HTML.
pub fn landing_page(page: Page) -> String {
    render(page, copy::head::TITLE, true, || {
        view! {
            <Hero/>
            <Comparison/>
            <Features/>
            <Infrastructure/>
            <Demo/>
            <Contact/>
        }
    })
}

/// The page for every path that is no page, as HTML.
pub fn not_found_page(page: Page) -> String {
    render(
        page,
        copy::not_found::TITLE,
        false,
        || view! { <NotFound/> },
    )
}

/// `lively`: the page has islands, and search engines may list it.
fn render<V: IntoView>(
    page: Page,
    title: &str,
    lively: bool,
    sections: impl FnOnce() -> V,
) -> String {
    let owner = Owner::new();
    owner.with(|| {
        let Page {
            site, files, watch, ..
        } = page.clone();
        let title = copy::fill(title, &site.product);
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
                    {if lively {
                        view! { <Preview/> }.into_any()
                    } else {
                        view! { <meta name="robots" content="noindex"/> }.into_any()
                    }}
                    <Marks/>
                    <link rel="stylesheet" href=files.css/>
                    {files
                        .fonts
                        .into_iter()
                        .map(|font| {
                            view! {
                                <link rel="preload" href=font r#as="font" type="font/woff2" crossorigin/>
                            }
                        })
                        .collect_view()}
                    {lively.then(|| view! {
                        <script
                            type="module"
                            src=files.boot
                            data-host=files.host_js
                            data-wasm=files.host_wasm
                        ></script>
                    })}
                    {watch.then(reload_script)}
                </head>
                <body>
                    <a class="skip" href="#main">{copy::nav::SKIP}</a>
                    <Nav base=if lively { "" } else { "/" }/>
                    <main id="main" tabindex="-1">{sections()}</main>
                    <Footer/>
                    {lively.then(|| view! { <ReactIsland island=Toaster/> })}
                </body>
            </html>
        }
        .to_html()
        // Markers for a Leptos that would hydrate; to a browser they are malformed comments. Text
        // is escaped, so nothing else reads like this.
        .replace("<!>", "")
    })
}

/// Reloads the page after a rebuild; the one script that runs inline, and never in a delivered page.
fn reload_script() -> impl IntoView {
    let port = std::env::var("LEPTOS_RELOAD_PORT")
        .ok()
        .and_then(|port| port.parse().ok());
    let options = LeptosOptions::builder().output_name("landing");
    let options = match port {
        Some(port) => options.reload_port(port).build(),
        None => options.build(),
    };
    view! { <AutoReload options/> }
}
