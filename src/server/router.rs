//! The table of routes.

use axum::{
    Router,
    routing::{any, get, post},
};

use super::{
    AppState, api, confirm, form, health, middleware, page_cache, text_files, unsubscribe,
};

/// Returns the router, with the middleware around it.
pub fn router(state: AppState) -> Router {
    let confirm_by_code = match state.confirmation {
        Some(_) => post(api::confirm),
        None => any(api::not_found),
    };
    Router::new()
        .route("/", get(page_cache::landing).post(form::sign_up_by_form))
        .route("/robots.txt", text_files::get(|files| &files.robots))
        .route("/sitemap.xml", text_files::get(|files| &files.sitemap))
        .route("/llms.txt", text_files::get(|files| &files.llms))
        .route(
            "/confirm",
            get(confirm::to_form).post(confirm::confirm_by_form),
        )
        .route(
            "/confirm/{token}",
            get(confirm::ask).post(confirm::confirm_by_link),
        )
        .route(
            "/unsubscribe/{token}",
            get(unsubscribe::ask).post(unsubscribe::unsubscribe),
        )
        .route(health::HEALTHZ_PATH, get(health::healthz))
        .route(health::READYZ_PATH, get(health::readyz))
        .route("/api/waitlist", post(api::sign_up))
        .route("/api/waitlist/confirm", confirm_by_code)
        .route("/api/waitlist/count", get(api::count))
        .route("/api", any(api::not_found))
        .route("/api/", any(api::not_found))
        .route("/api/{*path}", any(api::not_found))
        .method_not_allowed_fallback(api::method_not_allowed)
        .fallback(page_cache::file_or_not_found)
        .layer(axum::middleware::from_fn_with_state(
            state.clone(),
            middleware::handle,
        ))
        .with_state(state)
}
