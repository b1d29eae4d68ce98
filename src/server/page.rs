//! The two pages, kept in memory: rendered and compressed because the count has changed, at most twice a
//! second, and never while somebody waits.

use std::{
    panic::resume_unwind,
    sync::{Arc, PoisonError, RwLock},
    thread,
};

use axum::{
    extract::{FromRequest, Request, State},
    http::{StatusCode, header},
    response::{IntoResponse, Redirect, Response},
};
use serde::Deserialize;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    ApiError, AppState,
    api::read_body,
    error::dress,
    limits::{PAGE_CALM, PAGE_PAUSE},
    resource::{Effort, Encodings, HTML, NOT_KEPT, REVALIDATE, Resource},
    sign_up::{admit, sign_up},
};
use crate::{
    copy::reply,
    page::{Page, Reply, document},
    waitlist::{Email, InvalidEmail},
    wire::Outcome,
};

/// Where a form that posted itself is sent after a success: a reload there sends nothing again.
const JOINED_URL: &str = "/?joined#waitlist";
const JOINED_QUERY: &str = "joined";

/// The landing page of this moment, and the not-found page.
#[derive(Debug)]
pub(super) struct Pages {
    landing: RwLock<Arc<Landing>>,
    not_found: Resource,
}

/// The landing page with one count.
#[derive(Debug)]
struct Landing {
    count: u64,
    page: Resource,
    /// Says in the form that it failed. Kept, so that to turn a crowd away costs nothing.
    failed: Resource,
    /// Says in the form that it worked.
    joined: Resource,
}

impl Pages {
    pub(super) fn new(page: Page) -> Self {
        thread::scope(|scope| {
            let landing = scope.spawn(|| Landing::new(page.clone(), Effort::Kept));
            let not_found = Encodings::of(document::not_found_page(page.clone()), Effort::Kept);
            let not_found = Resource::new(&HTML, NOT_KEPT, not_found);
            let landing = landing.join().unwrap_or_else(|panic| resume_unwind(panic));
            Self {
                landing: RwLock::new(Arc::new(landing)),
                not_found,
            }
        })
    }

    fn landing(&self) -> Arc<Landing> {
        Arc::clone(&self.landing.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Landing {
    fn new(page: Page, effort: Effort) -> Self {
        let count = page.count;
        let failed = failure(Outcome::Failed, reply::FAILED, String::new());
        let failed = page_with(page.clone(), failed);
        let joined = page_with(page.clone(), joined());
        let page = Encodings::of(document::landing_page(page), effort);
        Self {
            count,
            page: Resource::new(&HTML, REVALIDATE, page),
            failed,
            joined,
        }
    }
}

/// Makes the landing page anew whenever the count has changed, for as long as the server runs: at
/// once, but not more often than once in [`PAGE_PAUSE`]. Until then the one before is served. What is
/// soon made anew is compressed in haste, and as far as it goes when it has stayed for [`PAGE_CALM`].
pub(super) async fn keep_fresh(state: AppState) {
    let mut count = state.list.changes();
    // It may have changed since the first page was made.
    count.mark_changed();
    let mut effort = Effort::Kept;
    loop {
        effort = tokio::select! {
            changed = count.changed() => match changed {
                Ok(()) if state.list.count() == state.pages.landing().count => continue,
                Ok(()) => Effort::Moment,
                Err(_) => return,
            },
            () = sleep(PAGE_CALM), if effort == Effort::Moment => Effort::Kept,
        };
        let begun = Instant::now();
        count.mark_unchanged();
        let page = state.page();
        match tokio::task::spawn_blocking(move || Landing::new(page, effort)).await {
            Ok(fresh) => {
                let landing = &state.pages.landing;
                *landing.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
            }
            Err(error) => tracing::error!("the page can't be made anew: {error}"),
        }
        sleep_until(begun + PAGE_PAUSE).await;
    }
}

/// `GET /`
pub(super) async fn landing(State(state): State<AppState>, request: Request) -> Response {
    let landing = if state.watch {
        Arc::new(Landing::new(state.page(), Effort::Answer))
    } else {
        state.pages.landing()
    };
    let page = match request.uri().query() {
        // Somebody who has just joined counts.
        Some(JOINED_QUERY) if landing.count != state.list.count() => {
            &page_with(state.page(), joined())
        }
        Some(JOINED_QUERY) => &landing.joined,
        _ => &landing.page,
    };
    page.respond(StatusCode::OK, request.headers())
}

/// The landing page with the answer to a form that posted itself.
fn page_with(page: Page, reply: Reply) -> Resource {
    let reply = Some(reply);
    let html = document::landing_page(Page { reply, ..page });
    Resource::new(&HTML, NOT_KEPT, Encodings::of(html, Effort::Answer))
}

/// `GET` of a file of the site, 405 for other methods on it, and 404 for every other path.
pub(super) async fn file_or_not_found(State(state): State<AppState>, request: Request) -> Response {
    let is_read = matches!(request.method().as_str(), "GET" | "HEAD");
    let headers = request.headers();
    let assets = state.assets();
    match assets.get(request.uri().path()) {
        Some(file) if is_read => file.respond(StatusCode::OK, headers),
        // Like axum's own answer for a route.
        Some(_) => ([(header::ALLOW, "GET,HEAD")], ApiError::MethodNotAllowed).into_response(),
        None => state
            .pages
            .not_found
            .respond(StatusCode::NOT_FOUND, headers),
    }
}

/// `POST /`: the form posting itself, without JavaScript. A success leads to a page that says so. The
/// answer to a failure is the page, saying what happened, with the same status as the API's.
pub(super) async fn sign_up_by_form(State(state): State<AppState>, request: Request) -> Response {
    let headers = request.headers().clone();
    let (error, email) = match take_form(&state, request).await {
        Ok(()) => return dress(Redirect::to(JOINED_URL).into_response(), None),
        Err(failed) => failed,
    };
    error.log();
    let (status, retry_after) = (error.status(), error.retry_after());
    let reply = refusal(&error, email);
    let answer = if reply.text == reply::FAILED && reply.email.is_empty() {
        state.pages.landing().failed.respond(status, &headers)
    } else {
        page_with(state.page(), reply).respond(status, &headers)
    };
    dress(answer, retry_after)
}

/// Signs up who has sent the form. An error comes with what was typed, as far as that was read.
async fn take_form(state: &AppState, request: Request) -> Result<(), (ApiError, String)> {
    let Form { email, topic } = read_form(state, request)
        .await
        .map_err(|error| (error, String::new()))?;
    let signed_up = if topic.is_empty() {
        sign_up(&*state.list, &email).await
    } else {
        tracing::info!("a sign-up was taken for a program's and not kept: it filled in `topic`");
        Email::parse(&email).map_err(ApiError::InvalidEmail)
    };
    signed_up.map(drop).map_err(|error| (error, email))
}

async fn read_form(state: &AppState, request: Request) -> Result<Form, ApiError> {
    let (parts, body) = request.into_parts();
    admit(state, &parts)?;
    let request = Request::from_parts(parts, read_body(body).await?.into());
    let form = axum::Form::<Form>::from_request(request, &()).await;
    form.map(|axum::Form(form)| form)
        .map_err(|rejection| ApiError::BadBody(rejection.to_string()))
}

/// The form's fields, as browsers send them.
#[derive(Deserialize)]
struct Form {
    #[serde(default)]
    email: String,
    /// People neither see it nor come to it (`islands/waitlist-form`). What fills in every field of a
    /// form is no person: it is told that it has joined.
    #[serde(default)]
    topic: String,
}

fn joined() -> Reply {
    Reply {
        outcome: Outcome::Joined,
        title: reply::JOINED_TITLE,
        text: reply::JOINED,
        email: String::new(),
    }
}

/// Spec §8's catalogue, for a page. `email`: what was typed, to be put right.
fn refusal(error: &ApiError, email: String) -> Reply {
    let (outcome, text) = match error {
        ApiError::AlreadyListed => (Outcome::Failed, reply::ALREADY_LISTED),
        ApiError::InvalidEmail(InvalidEmail::Empty) => (Outcome::Invalid, reply::EMPTY_EMAIL),
        ApiError::BadBody(_) | ApiError::InvalidEmail(_) => {
            (Outcome::Invalid, reply::INVALID_EMAIL)
        }
        _ => (Outcome::Failed, reply::FAILED),
    };
    failure(outcome, text, email)
}

fn failure(outcome: Outcome, text: &'static str, email: String) -> Reply {
    Reply {
        outcome,
        title: reply::ERROR_TITLE,
        text,
        email,
    }
}
