//! The pages that confirm an address, and the form for the code.

use leptos::prelude::*;

use crate::{
    copy::{confirm as text, islands},
    page::{ConfirmStep, page_text, use_page},
};

/// The script that presses the button at the first sign of a person.
const SCRIPT_PATH: &str = "/confirm.js";

/// A question, or its result.
#[component]
pub fn Confirm(
    /// Which of the pages.
    step: ConfirmStep,
) -> impl IntoView {
    let (title, lead) = step.texts();
    let action = match step {
        ConfirmStep::Ask => {
            let script = use_page().files.hashed_path(SCRIPT_PATH).to_owned();
            view! {
                {button(text::BUTTON)}
                <script type="module" src=script></script>
            }
            .into_any()
        }
        ConfirmStep::CodeRejected { email, .. } => view! { <CodeForm email/> }.into_any(),
        ConfirmStep::Failed => button(text::RETRY).into_any(),
        ConfirmStep::Done | ConfirmStep::NotListed | ConfirmStep::WrongLink => view! {
            <p class="actions"><a class="button" href="/">{text::HOME}</a></p>
        }
        .into_any(),
    };
    view! {
        <section class="notice" aria-labelledby="notice-title">
            <h1 id="notice-title">{title}</h1>
            <p class="lead">{page_text(lead)}</p>
            {action}
        </section>
    }
}

/// The form for the code, without JavaScript. With JavaScript, the waitlist form has its own.
#[component]
pub fn CodeForm(
    /// The address that the code was sent to.
    email: String,
) -> impl IntoView {
    view! {
        <form class="code" method="post" action="/confirm">
            <label for="code">{islands::CODE_LABEL}</label>
            <input
                id="code"
                name="code"
                type="text"
                inputmode="numeric"
                autocomplete="one-time-code"
                maxlength="12"
                required
            />
            <input type="hidden" name="email" value=email/>
            <button class="button" type="submit">{islands::CODE_SUBMIT}</button>
        </form>
    }
}

/// A form without an action: it posts to the URL of the page, which has the token.
fn button(label: &'static str) -> impl IntoView {
    view! {
        <form class="actions" method="post" data-confirm="">
            <button class="button" type="submit">{label}</button>
        </form>
    }
}
