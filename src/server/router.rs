//! The table of routes.

use std::sync::Arc;

use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware::from_fn_with_state,
    routing::{any, get},
};

use leptos::server_fn::ServerFn;

use super::{
    AppState, RequestError, api, form,
    functions::{Confirm, Count, Join},
    health,
    limits::BODY_MAX_BYTES,
    middleware, pages, person_links,
};
use crate::mail::TokenPurpose;

/// Returns the router, with the middleware around it.
pub fn router(state: AppState) -> Router {
    let mut router = Router::new();
    if state.people.confirmation.is_some() {
        router = router
            .route(
                "/confirm",
                get(form::redirect_to_form).post(form::confirm_code),
            )
            .route(Confirm::PATH, api::post::<Confirm>(StatusCode::OK));
    }
    let confirm_link = person_links::route(TokenPurpose::Confirm);
    let unsubscribe_link = person_links::route(TokenPurpose::Unsubscribe);
    // axum clones the state of a route and of a middleware for each request, so the busiest have only the part that they
    // need. To clone all of it took 1,250 of 37,000 instructions of a page.
    let landing = get(pages::landing).with_state(Arc::clone(&state.pages));
    let count = get(api::get_count).with_state(Arc::clone(&state.people));
    router
        .route("/", landing.post(form::sign_up))
        .route("/confirm/{token}", confirm_link)
        .route("/unsubscribe/{token}", unsubscribe_link)
        .route(health::HEALTHZ_PATH, get(health::healthz))
        .route(health::READYZ_PATH, get(health::readyz))
        .route(Join::PATH, api::post::<Join>(StatusCode::CREATED))
        .route(Count::PATH, count)
        .route("/api", any(RequestError::NotFound))
        .route("/api/", any(RequestError::NotFound))
        .route("/api/{*path}", any(RequestError::NotFound))
        // axum adds the `Allow` header.
        .method_not_allowed_fallback(RequestError::MethodNotAllowed)
        .fallback(pages::file_or_not_found)
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(
            Arc::clone(&state.pages),
            middleware::handle,
        ))
        .with_state(state)
}
