//! The waitlist: the form with the count, and the two links to the owner.

use leptos::prelude::*;

use crate::{
    copy::{contact, reply::PROMISE},
    page::{island::ReactIsland, page_text, sections::CodeForm, use_page},
    wire::{
        ContactLinksProps, CountState, FormOutcome, IslandName, StartCondition, WaitlistFormProps,
    },
};

/// The waitlist. Without JavaScript, the browser posts the form, and the page shows the result below the field.
#[component]
pub fn Contact() -> impl IntoView {
    let page = use_page();
    let site = page.site;
    let (outcome, text, email, code_for) = page.reply.map_or_else(
        || (FormOutcome::None, PROMISE, String::new(), None),
        |reply| (reply.outcome, reply.text, reply.email, reply.code_for),
    );
    let code_form = code_for.map(|email| view! { <CodeForm email/> });
    let form = WaitlistFormProps {
        product: site.product.clone(),
        count: page.count,
        count_from: site.count_from,
        count_state: CountState::of(page.count, site.count_from),
        email,
        outcome,
        invalid: outcome == FormOutcome::Invalid,
        message: page_text(text),
        confirms: page.confirms,
    };
    let links = ContactLinksProps {
        email: site.contact_email.clone(),
        social: site.social_url.clone(),
        social_host: site.social_host.clone(),
    };
    view! {
        <section id="contact" class="contact" tabindex="-1" aria-labelledby="contact-title">
            <div class="sheet">
                <div>
                    <h2 id="contact-title">{contact::TITLE}</h2>
                    <p class="lead">{page_text(contact::LEAD)}</p>
                </div>
                <div id="waitlist">
                    <ReactIsland
                        name=IslandName::WaitlistForm
                        start=StartCondition::Visible
                        props=form
                    />
                    {code_form}
                </div>
            </div>
            <ReactIsland
                name=IslandName::ContactLinks
                start=StartCondition::AfterForm
                props=links
            />
        </section>
    }
}
