//! The pages that the links in messages lead to.

use leptos::prelude::*;

use crate::{
    copy,
    page::{LinkAction, LinkPage, Recipient, page_text, use_page},
    wire::Invitation,
};

/// A question with a button and another way out, or a result.
#[component]
pub fn Link(
    /// Which of the pages.
    page: LinkPage,
    /// The person that the link names, if any.
    recipient: Option<Recipient>,
) -> impl IntoView {
    let Recipient {
        address,
        way_out,
        invitation,
    } = recipient.unwrap_or_else(|| Recipient {
        address: copy::links::YOU.into(),
        ..Recipient::default()
    });
    let invitation = invitation.map(|Invitation { link, place }| {
        let place = copy::islands::invitation::PLACE.replace("{place}", &place.to_string());
        view! {
            <p class="lead">{place}</p>
            <p class="lead">{copy::islands::waitlist_form::INVITE_LINK}": "<a href=link.clone()>{link.clone()}</a></p>
        }
    });
    let lead = page_text(page.text()).replace("{address}", &address);
    // A form without an action posts to the URL of the page, which has the token.
    let button = |label: &'static str| {
        view! {
            <form class="actions" method="post">
                <button class="button" type="submit">{label}</button>
            </form>
        }
    };
    let action = match page.action() {
        LinkAction::Ask(label, other) => view! {
            {button(label)}
            <p class="other"><a href=way_out>{other}</a></p>
        }
        .into_any(),
        LinkAction::Retry(label) => button(label).into_any(),
        LinkAction::Visit(label, url) => view! {
            <p class="actions"><a class="button" href=url>{label}</a></p>
            {(!way_out.is_empty()).then(|| {
                view! { <p class="other"><a href=way_out>{copy::links::NOT_ME}</a></p> }
            })}
        }
        .into_any(),
        LinkAction::Contact => {
            let email = use_page().site.contact_email.clone();
            view! { <p class="lead"><a href=format!("mailto:{email}")>{email.clone()}</a></p> }
                .into_any()
        }
    };
    view! {
        <section class="notice" aria-labelledby="notice-title">
            <h1 id="notice-title">{page.title()}</h1>
            <p class="lead">{lead}</p>
            {invitation}
            {action}
        </section>
    }
}
