//! The server functions of `/api/waitlist` (spec §7).

use axum::http::StatusCode;
use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use super::{
    RequestError,
    call::{current_list, current_source, set_status},
    sign_up,
};
use crate::wire;

/// `GET /api/waitlist/count`: returns the number of people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub(crate) async fn count() -> Result<wire::CountBody, RequestError> {
    Ok(wire::CountBody {
        count: current_list().count(),
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
    let email = sign_up(&*current_list(), &email, current_source()).await?;
    set_status(StatusCode::CREATED);
    Ok(wire::SignUpBody {
        email: email.as_typed().to_owned(),
    })
}
