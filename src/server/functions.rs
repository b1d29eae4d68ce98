//! The server functions of `/api/waitlist` (spec §7).

use axum::http::StatusCode;
use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use super::{
    RequestError,
    call::{current_people, current_visitor, set_status},
    code_form::confirm_by_code,
    people::SignUp,
};
use crate::wire;

/// `GET /api/waitlist/count`: returns the number of people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub(crate) async fn count() -> Result<wire::CountBody, RequestError> {
    Ok(wire::CountBody {
        count: current_people().list.count(),
    })
}

/// `POST /api/waitlist`: adds an address to the list.
///
/// # Errors
/// [`RequestError::AlreadyListed`], and those of a [sign-up](super::people::People::sign_up).
#[server(prefix = "/api", endpoint = "waitlist", input = Json, output = Json)]
pub(crate) async fn join(
    /// The address, as typed.
    email: String,
) -> Result<wire::SignUpBody, RequestError> {
    let visitor = current_visitor();
    let visitor = visitor.ok_or_else(|| RequestError::Internal("nobody was checked".into()))?;
    let SignUp { email, is_new, .. } = current_people().sign_up(&email, visitor).await?;
    if !is_new {
        return Err(RequestError::AlreadyListed);
    }
    set_status(StatusCode::CREATED);
    Ok(wire::SignUpBody {
        email: email.as_typed().to_owned(),
    })
}

/// `POST /api/waitlist/confirm`: confirms an address by the code that was sent to it.
///
/// # Errors
/// The errors of [`confirm_by_code`].
#[server(prefix = "/api", endpoint = "waitlist/confirm", input = Json, output = Json)]
pub(crate) async fn confirm(
    /// The address, as typed.
    email: String,
    /// The code, as typed.
    code: String,
) -> Result<wire::ConfirmedBody, RequestError> {
    confirm_by_code(&current_people(), &email, &code).await?;
    Ok(wire::ConfirmedBody { confirmed: true })
}
