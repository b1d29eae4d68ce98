//! The two pages, kept in memory: rendered and compressed only when the count has changed, at most
//! once a second, and never while somebody waits.

use std::sync::{Arc, RwLock};

use axum::{
    extract::{FromRequest, Request, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tokio::time::{MissedTickBehavior, interval};

use super::{
    ApiError, AppState,
    api::read_body,
    assets::{HTML, Resource},
    error::dress,
    limits::COUNT_MAX_AGE,
    sign_up,
};
use crate::{
    app,
    copy::reply,
    page::{Page, Reply},
};

/// The landing page of this second, and the not-found page.
#[derive(Debug)]
pub(super) struct Pages {
    landing: RwLock<Arc<Resource>>,
    not_found: Resource,
}

impl Pages {
    pub(super) fn new(state: &super::Shared) -> Self {
        Self {
            landing: RwLock::new(Arc::new(render_landing(state.page()))),
            not_found: Resource::made(HTML, app::not_found_page(state.page())),
        }
    }

    fn landing(&self) -> Arc<Resource> {
        Arc::clone(
            &self
                .landing
                .read()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        )
    }
}

fn render_landing(page: Page) -> Resource {
    Resource::made(HTML, app::landing_page(page))
}

/// Keeps the count in the page at most a second old, for as long as the server runs.
pub(super) async fn keep_fresh(state: AppState) {
    let mut shown = state.list.count();
    let mut tick = interval(COUNT_MAX_AGE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let page = state.page();
        if page.count == shown {
            continue;
        }
        shown = page.count;
        match tokio::task::spawn_blocking(|| render_landing(page)).await {
            Ok(fresh) => {
                let mut landing = state
                    .pages
                    .landing
                    .write()
                    .unwrap_or_else(|poisoned| poisoned.into_inner());
                *landing = Arc::new(fresh);
            }
            Err(error) => tracing::error!("the page can't be made anew: {error}"),
        }
    }
}

/// `GET /`
pub(super) async fn landing(State(state): State<AppState>, headers: HeaderMap) -> Response {
    if state.watch {
        return render_landing(state.page()).respond(StatusCode::OK, &headers);
    }
    state.pages.landing().respond(StatusCode::OK, &headers)
}

/// `GET` of a file of the site, or 404 for every other path and method.
pub(super) async fn file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    let is_read = matches!(request.method().as_str(), "GET" | "HEAD");
    let headers = request.headers();
    let assets = state.assets();
    match assets.get(request.uri().path()) {
        Some(file) if is_read => file.respond(StatusCode::OK, headers),
        _ => state
            .pages
            .not_found
            .respond(StatusCode::NOT_FOUND, headers),
    }
}

/// `POST /`: the form posting itself, without JavaScript. The answer is the page, saying what
/// happened, with the same status as the API's.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let reply = match read_form(request).await {
        Err(error) => refusal(&error, String::new()),
        Ok(Form { email }) if email.trim().is_empty() => (
            StatusCode::BAD_REQUEST,
            Reply {
                ok: false,
                title: reply::ERROR_TITLE,
                text: reply::EMPTY_EMAIL,
                email,
            },
        ),
        Ok(Form { email }) => match sign_up(&*state.list, &email).await {
            Ok(_) => (
                StatusCode::CREATED,
                Reply {
                    ok: true,
                    title: reply::JOINED_TITLE,
                    text: reply::JOINED,
                    email: String::new(),
                },
            ),
            Err(error) => refusal(&error, email),
        },
    };
    let (status, reply) = reply;
    let html = app::landing_page(Page {
        reply: Some(reply),
        ..state.page()
    });
    dress((status, [(header::CONTENT_TYPE, HTML)], html).into_response())
}

/// The form's one field, as browsers send it.
#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    email: String,
}

async fn read_form(request: Request) -> Result<Form, ApiError> {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, read_body(body).await?.into());
    let form = axum::Form::<Form>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| ApiError::BadBody(rejection.to_string()))
}

/// Spec §8's catalogue, for a page.
fn refusal(error: &ApiError, email: String) -> (StatusCode, Reply) {
    error.log();
    let text = match error {
        ApiError::AlreadyListed => reply::ALREADY_LISTED,
        ApiError::BadBody(_) | ApiError::InvalidEmail(_) => reply::INVALID_EMAIL,
        _ => reply::FAILED,
    };
    (
        error.status(),
        Reply {
            ok: false,
            title: reply::ERROR_TITLE,
            text,
            email,
        },
    )
}
