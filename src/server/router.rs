//! The table of routes.

use axum::{
    Router,
    routing::{any, get, post},
};

use leptos::server_fn::ServerFn;

use super::{
    AppState, api, code_form, form,
    functions::{Confirm, Count, Join},
    health, middleware, pages, person_links,
};

/// Returns the router, with the middleware around it.
pub fn router(state: AppState) -> Router {
    let mut router = Router::new();
    if state.people.confirmation.is_some() {
        router = router
            .route(
                "/confirm",
                get(code_form::to_form).post(code_form::confirm_by_form),
            )
            .route(Confirm::PATH, post(api::confirm));
    }
    router
        .route("/", get(pages::landing).post(form::sign_up_by_form))
        .route("/robots.txt", pages::text_file(|files| &files.robots))
        .route("/sitemap.xml", pages::text_file(|files| &files.sitemap))
        .route("/llms.txt", pages::text_file(|files| &files.llms))
        .route(
            "/confirm/{token}",
            get(person_links::ask_to_confirm).post(person_links::confirm),
        )
        .route(
            "/unsubscribe/{token}",
            get(person_links::ask_to_unsubscribe).post(person_links::unsubscribe),
        )
        .route(health::HEALTHZ_PATH, get(health::healthz))
        .route(health::READYZ_PATH, get(health::readyz))
        .route(Join::PATH, post(api::join))
        .route(Count::PATH, get(api::count))
        .route("/api", any(api::not_found))
        .route("/api/", any(api::not_found))
        .route("/api/{*path}", any(api::not_found))
        .method_not_allowed_fallback(api::method_not_allowed)
        .fallback(pages::file_or_not_found)
        .layer(axum::middleware::from_fn_with_state(
            state.clone(),
            middleware::handle,
        ))
        .with_state(state)
}
