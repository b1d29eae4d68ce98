//! The server functions of `/api/waitlist` (spec §7), and the one sign-up behind both doors.

use std::{sync::Arc, time::SystemTime};

use leptos::{
    prelude::*,
    server_fn::codec::{GetUrl, Json},
};

use crate::{
    server::ApiError,
    waitlist::{Email, Entry, Joined, Waitlist},
    wire,
};

/// `GET /api/waitlist/count`: people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = Json)]
pub async fn count() -> Result<wire::Count, ApiError> {
    Ok(wire::Count {
        count: list().count(),
    })
}

/// `POST /api/waitlist`: joins the list.
///
/// # Errors
/// [`ApiError`]: not an address, there already, or the store can't answer.
#[server(prefix = "/api", endpoint = "waitlist", input = Json, output = Json)]
pub async fn join(
    /// The address, as typed.
    email: String,
) -> Result<wire::Entry, ApiError> {
    let email = sign_up(&*list(), &email).await?;
    expect_context::<leptos_axum::ResponseOptions>().set_status(axum::http::StatusCode::CREATED);
    Ok(wire::Entry {
        email: email.as_typed().to_owned(),
    })
}

/// Puts what was typed on the list. The API and the form that posts itself both come here.
pub(crate) async fn sign_up(list: &dyn Waitlist, typed: &str) -> Result<Email, ApiError> {
    let email = Email::parse(typed).map_err(ApiError::InvalidEmail)?;
    let entry = Entry {
        email: email.clone(),
        joined_at: SystemTime::now(),
    };
    match list.join(entry).await {
        Ok(Joined::New) => Ok(email),
        Ok(Joined::AlreadyListed) => Err(ApiError::AlreadyListed),
        Err(error) => Err(ApiError::Unavailable(error)),
    }
}

/// `server/mod.rs` provides it to every server function.
fn list() -> Arc<dyn Waitlist> {
    expect_context()
}
