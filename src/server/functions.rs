//! The server functions of `/api/waitlist` (spec §7).

use axum::http::StatusCode;
use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use super::{
    RequestError,
    call::{current_source, current_state, set_status},
    confirm_code::confirm_by_code,
    sign_up::sign_up,
};
use crate::wire;

/// `GET /api/waitlist/count`: returns the number of people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub(crate) async fn count() -> Result<wire::CountBody, RequestError> {
    Ok(wire::CountBody {
        count: current_state().shown_count.get(),
    })
}

/// `POST /api/waitlist`: adds an address to the list.
///
/// # Errors
/// The errors of [`sign_up`].
#[server(prefix = "/api", endpoint = "waitlist", input = Json, output = Json)]
pub(crate) async fn join(
    /// The address, as typed.
    email: String,
) -> Result<wire::SignUpBody, RequestError> {
    let email = sign_up(&current_state(), &email, current_source()).await?;
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
    confirm_by_code(&current_state(), &email, &code).await?;
    Ok(wire::ConfirmedBody { confirmed: true })
}
