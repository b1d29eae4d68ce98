//! The server functions of `/api/waitlist` (spec §7). [`super::api`] calls them, with the [`People`] of the list as context,
//! and the [`Visitor`] of a `POST`.

use std::sync::Arc;

use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use super::{
    RequestError,
    people::{People, SignUp, Visitor},
};
use crate::wire::{ConfirmBody, ConfirmedBody, CountBody, SignUpBody};

/// `GET /api/waitlist/count`: returns the number of people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub(crate) async fn count() -> Result<CountBody, RequestError> {
    let people = expect_context::<Arc<People>>();
    Ok(CountBody {
        count: people.list.count(),
    })
}

/// `POST /api/waitlist`: adds an address to the list.
///
/// # Errors
/// [`RequestError::AlreadyListed`], and those of a [sign-up](People::sign_up).
#[server(prefix = "/api", endpoint = "waitlist", input = Json, output = Json)]
pub(crate) async fn join(
    /// What the form sends.
    #[server(flatten)]
    body: SignUpBody,
) -> Result<SignUpBody, RequestError> {
    let people = expect_context::<Arc<People>>();
    let visitor = expect_context::<Visitor>();
    let SignUp { email, is_new, .. } = people.sign_up(&body, visitor).await?;
    if !is_new {
        return Err(RequestError::AlreadyListed);
    }
    Ok(SignUpBody::with_email(email.as_typed()))
}

/// `POST /api/waitlist/confirm`: confirms an address by the code that was sent to it.
///
/// # Errors
/// The errors of [`People::confirm_by_code`].
#[server(prefix = "/api", endpoint = "waitlist/confirm", input = Json, output = Json)]
pub(crate) async fn confirm(
    /// What the form sends.
    #[server(flatten)]
    body: ConfirmBody,
) -> Result<ConfirmedBody, RequestError> {
    let people = expect_context::<Arc<People>>();
    people.confirm_by_code(&body.email, &body.code).await?;
    Ok(ConfirmedBody { confirmed: true })
}
