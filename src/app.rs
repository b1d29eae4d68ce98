//! The pages: what stands in the head, and the sections in their order.

use leptos::prelude::*;

use crate::{
    copy,
    island::{ReactIsland, Toaster},
    sections::{Comparison, Contact, Demo, Features, Footer, Hero, Infrastructure, Nav, NotFound},
};

/// What the owner has configured of the page.
#[derive(Clone, Debug)]
pub struct Site {
    /// Public origin, without a slash at the end.
    pub origin: String,
    /// The product's name.
    pub product: String,
    /// Address of the mailto link.
    pub contact: String,
    /// URL of the social profile.
    pub social: String,
    /// Its host.
    pub social_host: String,
    /// Privacy, Terms, Support: real links where an address is configured.
    pub privacy_url: Option<String>,
    /// See `privacy_url`.
    pub terms_url: Option<String>,
    /// See `privacy_url`.
    pub support_url: Option<String>,
}

/// URL paths of the files that a page asks for.
#[derive(Clone, Debug)]
pub struct Files {
    /// The style sheet.
    pub css: String,
    /// The one script of the page.
    pub boot: String,
    /// The wasm host's glue, which the script loads.
    pub host_js: String,
    /// The wasm host.
    pub host_wasm: String,
}

/// All that a page is made of.
#[derive(Clone, Debug)]
pub struct Page {
    /// What the owner has configured.
    pub site: Site,
    /// The files to ask for.
    pub files: Files,
    /// People on the list.
    pub count: u64,
    /// What the page answers to a form that posted itself.
    pub reply: Option<Reply>,
    /// `cargo leptos watch` is at work: add its reload script.
    pub watch: bool,
}

/// What became of a form that posted itself.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Whether the address is on the list now.
    pub ok: bool,
    /// A toast's title (spec §8).
    pub title: &'static str,
    /// A toast's text (spec §8).
    pub text: &'static str,
    /// What stays in the field.
    pub email: String,
}

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

/// The page of this render. Every component may ask for it.
pub fn page() -> Page {
    expect_context()
}

/// A sentence of [`copy`] with the product's name in it.
pub fn say(text: &str) -> String {
    copy::fill(text, &page().site.product)
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
        let description = copy::fill(copy::head::DESCRIPTION, &site.product);
        let address = format!("{}/", site.origin);
        provide_context(page);
        view! {
            <!DOCTYPE html>
            <html lang="en">
                <head>
                    <meta charset="utf-8"/>
                    <meta name="viewport" content="width=device-width, initial-scale=1"/>
                    <title>{title}</title>
                    {if lively {
                        view! {
                            <meta name="description" content=description/>
                            <link rel="canonical" href=address/>
                        }.into_any()
                    } else {
                        view! { <meta name="robots" content="noindex"/> }.into_any()
                    }}
                    <link rel="icon" href="/favicon.svg" type="image/svg+xml"/>
                    <link rel="stylesheet" href=files.css/>
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
    })
}

/// Reloads the page after a rebuild; the one inline script, and never in a delivered page.
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
