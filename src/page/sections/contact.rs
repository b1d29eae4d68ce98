//! The waitlist: the form with the count, and the two links to the owner.

use leptos::prelude::*;

use crate::{
    copy::{contact, islands},
    page::{
        empty_form,
        island::{ReactIsland, StartCondition},
        page_text, use_page,
    },
    wire::{ContactLinksProps, FormState, WaitlistFormProps},
};

/// The waitlist. Without JavaScript, the browser posts the form, and the page shows the result below the field.
#[component]
pub fn Contact() -> impl IntoView {
    let page = use_page();
    let site = page.site;
    let state = page.form.unwrap_or_else(empty_form);
    let count_line = match page.count < site.count_from {
        true => String::new(),
        false => format!("{} {}", page.count, islands::waitlist_form::COUNT),
    };
    let form = WaitlistFormProps {
        product: site.product.clone(),
        action: page.form_action.into(),
        count_line,
        count_from: site.count_from,
        confirms: page.confirms,
        state: FormState {
            message: page_text(&state.message),
            ..state
        },
    };
    let links = ContactLinksProps {
        email: site.contact_email.clone(),
        social: site.social_url.clone(),
        social_host: site.social_host.clone(),
    };
    let privacy = site.privacy_url.clone().map(|url| {
        view! { " "<a href=url>{contact::PRIVACY_LINK}</a> }
    });
    view! {
        <section id="contact" class="contact" tabindex="-1" aria-labelledby="contact-title">
            <div class="sheet">
                <div>
                    <h2 id="contact-title">{contact::TITLE}</h2>
                    <p class="lead">{page_text(contact::LEAD)}</p>
                </div>
                <div id="waitlist">
                    <ReactIsland name="waitlist-form" start=StartCondition::Visible props=form/>
                    <p class="note">{contact::PRIVACY}{privacy}</p>
                </div>
            </div>
            <ReactIsland name="contact-links" start=StartCondition::AfterForm props=links/>
        </section>
    }
}
