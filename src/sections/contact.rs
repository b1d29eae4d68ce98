//! The waitlist: the form, the count, and the two ways to reach the owner.

use leptos::prelude::*;

use crate::{
    copy::contact,
    island::{ContactLinks, ReactIsland, WaitlistForm},
    page::{Reply, page, say},
    wire::{ContactLinksProps, WaitlistFormProps},
};

/// The waitlist. Without JavaScript the form posts itself, and the answer stands above it.
#[component]
pub fn Contact() -> impl IntoView {
    let page = page();
    let site = page.site;
    let email = page
        .reply
        .as_ref()
        .map(|reply| reply.email.clone())
        .unwrap_or_default();
    let form = WaitlistForm(WaitlistFormProps {
        product: site.product.clone(),
        count: page.count,
        email,
    });
    let links = ContactLinks(ContactLinksProps {
        email: site.contact.clone(),
        social: site.social.clone(),
        social_host: site.social_host.clone(),
    });
    view! {
        <section id="contact" class="contact" tabindex="-1" aria-labelledby="contact-title">
            <div>
                <h2 id="contact-title">{contact::TITLE}</h2>
                <p class="lead">{say(contact::LEAD)}</p>
            </div>
            <div>
                {page.reply.map(reply_notice)}
                <ReactIsland island=form/>
                <ReactIsland island=links/>
            </div>
        </section>
    }
}

/// The form's island removes it, by this class, once it answers by toast.
fn reply_notice(reply: Reply) -> impl IntoView {
    view! {
        <p class="reply" role="status" data-variant=if reply.ok { "default" } else { "destructive" }>
            <b>{reply.title}</b>" "<span>{say(reply.text)}</span>
        </p>
    }
}
