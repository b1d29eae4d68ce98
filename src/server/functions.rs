//! The server functions of `/api/waitlist` (spec §7). They expect the [`People`] of the list as context, and [`join`] the
//! [`Visitor`].
//!
//! [`super::api`] runs them for a client of the API. For a browser without JavaScript, [`super::form`] calls the same methods
//! of [`People`].

use std::sync::Arc;

use axum::Json;
use leptos::{
    prelude::*,
    reactive::computed::ScopedFuture,
    server_fn::codec::{self, GetUrl},
};
use tokio::time::Instant;

use super::{
    RequestError,
    people::{People, Visitor},
    rate_limit::{Limited, LimitedAction},
};
use crate::wire::{ConfirmBody, ConfirmedBody, CountBody, JoinedBody, SignUpBody};

/// `GET /api/waitlist/count`: returns the number of people on the list.
#[server(prefix = "/api", endpoint = "waitlist/count", input = GetUrl, output = codec::Json)]
pub(crate) async fn count() -> Result<CountBody, RequestError> {
    let people = expect_context::<Arc<People>>();
    Ok(CountBody {
        count: people.list.count(),
    })
}

/// `POST /api/waitlist`: adds an address to the list, and returns it as parsed.
///
/// # Errors
/// The errors of [`People::sign_up`].
#[server(prefix = "/api", endpoint = "waitlist", input = codec::Json, output = codec::Json)]
pub(crate) async fn join(
    /// What the form sends.
    #[server(flatten)]
    body: SignUpBody,
) -> Result<JoinedBody, RequestError> {
    let requested_at = Instant::now();
    let people = expect_context::<Arc<People>>();
    let visitor = expect_context::<Visitor>();
    let email = people.sign_up(&body.email, visitor).await?;
    // Otherwise it comes with the confirmation.
    let invitation = match &people.confirmation {
        None => people.invitation(&email, requested_at).await,
        Some(_) => None,
    };
    Ok(JoinedBody {
        email: email.as_typed().to_owned(),
        invitation,
    })
}

/// `POST /api/waitlist/confirm`: confirms an address by the code that was sent to it.
///
/// # Errors
/// The errors of [`People::confirm_by_code`].
#[server(prefix = "/api", endpoint = "waitlist/confirm", input = codec::Json, output = codec::Json)]
pub(crate) async fn confirm(
    /// What the form sends.
    #[server(flatten)]
    body: ConfirmBody,
) -> Result<ConfirmedBody, RequestError> {
    let requested_at = Instant::now();
    let people = expect_context::<Arc<People>>();
    let email = people.confirm_by_code(&body.email, &body.code).await?;
    Ok(ConfirmedBody {
        confirmed: true,
        invitation: people.invitation(&email, requested_at).await,
    })
}

impl Limited for Json<Join> {
    const ACTION: LimitedAction = LimitedAction::SignUp;
}

impl Limited for Json<Confirm> {
    const ACTION: LimitedAction = LimitedAction::Code;
}

/// Runs a server function with its context.
pub(super) async fn with_context<T>(
    people: Arc<People>,
    visitor: Option<Visitor>,
    run: impl Future<Output = T>,
) -> T {
    let owner = Owner::new();
    let run = owner.with(|| {
        provide_context(people);
        if let Some(visitor) = visitor {
            provide_context(visitor);
        }
        ScopedFuture::new(run)
    });
    run.await
}
