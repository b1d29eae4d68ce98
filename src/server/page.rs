//! The two pages, kept in memory: rendered and compressed only when the count has changed, at most
//! once a second, and never while somebody waits.

use std::{
    panic::resume_unwind,
    sync::{Arc, PoisonError, RwLock},
    thread,
};

use axum::{
    extract::{FromRequest, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use tokio::time::{Instant, sleep_until};

use super::{
    ApiError, AppState,
    api::read_body,
    error::dress,
    limits::COUNT_MAX_AGE,
    resource::{Accepted, Encodings, HTML, NOT_KEPT, REVALIDATE, Resource, gzip},
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
    pub(super) fn new(page: Page) -> Self {
        thread::scope(|scope| {
            let landing = scope.spawn(|| landing_resource(page.clone()));
            let not_found = Encodings::of(app::not_found_page(page.clone()));
            let not_found = Resource::new(&HTML, NOT_KEPT, not_found);
            let landing = landing.join().unwrap_or_else(|panic| resume_unwind(panic));
            Self {
                landing: RwLock::new(Arc::new(landing)),
                not_found,
            }
        })
    }

    fn landing(&self) -> Arc<Resource> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn landing_resource(page: Page) -> Resource {
    Resource::new(&HTML, REVALIDATE, Encodings::of(app::landing_page(page)))
}

/// Makes the landing page anew whenever the count has changed, for as long as the server runs: at
/// once, but not more often than once in [`COUNT_MAX_AGE`]. Until then the one before is served.
pub async fn keep_fresh(state: AppState) {
    let mut count = state.list.changes();
    // It may have changed since the first page was made.
    count.mark_changed();
    while count.changed().await.is_ok() {
        let begun = Instant::now();
        count.mark_unchanged();
        let page = state.page();
        match tokio::task::spawn_blocking(|| landing_resource(page)).await {
            Ok(fresh) => {
                let landing = &state.pages.landing;
                *landing.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
            }
            Err(error) => tracing::error!("the page can't be made anew: {error}"),
        }
        sleep_until(begun + COUNT_MAX_AGE).await;
    }
}

/// `GET /`
pub(super) async fn landing(State(state): State<AppState>, request: Request) -> Response {
    let landing = if state.watch {
        Arc::new(landing_resource(state.page()))
    } else {
        state.pages.landing()
    };
    landing.respond(StatusCode::OK, request.headers())
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
    let accepted = Accepted::by(request.headers());
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
    let fixed = [
        (header::CONTENT_TYPE, HTML),
        (header::VARY, HeaderValue::from_static("accept-encoding")),
    ];
    // Made for one visitor, so compressed for one: a millisecond here, a second on a slow network.
    let quickly = flate2::Compression::fast();
    let answer = match gzip(html.as_bytes(), quickly) {
        Ok(body) if accepted.gzip => {
            let encoding = [(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"))];
            (status, fixed, encoding, body).into_response()
        }
        _ => (status, fixed, html).into_response(),
    };
    dress(answer)
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
