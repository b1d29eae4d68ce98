//! The server functions of `/api/waitlist` (spec §7).

use axum::http::StatusCode;
use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use super::{ApiError, list, set_status, sign_up};
use crate::wire;

/// `GET /api/waitlist/count`: people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub(crate) async fn count() -> Result<wire::Count, ApiError> {
    Ok(wire::Count {
        count: list().count(),
    })
}

/// `POST /api/waitlist`: joins the list.
///
/// # Errors
/// [`ApiError`]: not an address, there already, or the store can't answer.
#[server(prefix = "/api", endpoint = "waitlist", input = Json, output = Json)]
pub(crate) async fn join(
    /// The address, as typed.
    email: String,
) -> Result<wire::Entry, ApiError> {
    let email = sign_up(&*list(), &email).await?;
    set_status(StatusCode::CREATED);
    Ok(wire::Entry {
        email: email.as_typed().to_owned(),
    })
}
