//! The pages of the unsubscribe link.

use leptos::prelude::*;

use crate::{
    copy::unsubscribe as text,
    page::{UnsubscribeStep, page_text, use_page},
};

/// A question, or its result.
#[component]
pub fn Unsubscribe(
    /// Which of the pages.
    step: UnsubscribeStep,
) -> impl IntoView {
    let (title, lead) = match step {
        UnsubscribeStep::Ask => (text::ASK_TITLE, text::ASK),
        UnsubscribeStep::Done => (text::DONE_TITLE, text::DONE),
        UnsubscribeStep::Invalid => (text::INVALID_TITLE, text::INVALID),
        UnsubscribeStep::Failed => (text::FAILED_TITLE, text::FAILED),
    };
    let action = match step {
        UnsubscribeStep::Ask => button(text::BUTTON).into_any(),
        UnsubscribeStep::Failed => button(text::RETRY).into_any(),
        UnsubscribeStep::Done => view! {
            <p class="actions"><a class="button" href="/">{text::HOME}</a></p>
        }
        .into_any(),
        UnsubscribeStep::Invalid => {
            let email = use_page().site.contact_email.clone();
            view! { <p class="lead"><a href=format!("mailto:{email}")>{email.clone()}</a></p> }
                .into_any()
        }
    };
    view! {
        <section class="notice" aria-labelledby="notice-title">
            <h1 id="notice-title">{title}</h1>
            <p class="lead">{page_text(lead)}</p>
            {action}
        </section>
    }
}

/// A form without an action: it posts to the URL of the page, which has the token.
fn button(label: &'static str) -> impl IntoView {
    view! {
        <form class="actions" method="post">
            <button class="button" type="submit">{label}</button>
        </form>
    }
}
