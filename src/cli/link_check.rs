//! Checks the unsubscribe links of the site, as browsers and mail programs use them (RFC 8058).

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use axum::body::{Body, to_bytes};
use html_escape::encode_text;
use hyper::{Method, Request, Response, StatusCode, header};
use tokio::time::timeout;

use crate::{config::Origin, server::HttpClient, waitlist::Email};

/// Time limit for a response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a page, in bytes.
const PAGE_MAX_BYTES: usize = 1 << 20;
/// A token that was never made. The site must answer it without a redirect, so a GET and a POST show how it treats
/// links, and nobody is unsubscribed.
const TOKEN: &str = "mail-check";

/// The form of the one-click request.
const ONE_CLICK: (&str, &str) = (
    "application/x-www-form-urlencoded",
    "List-Unsubscribe=One-Click",
);

/// Sends requests to an unsubscribe link that belongs to nobody.
///
/// # Errors
/// If the response to one of them is not the page of this program for such a link.
pub(super) async fn check_link_of_nobody(origin: &Origin) -> anyhow::Result<()> {
    let url = format!("{}/unsubscribe/{TOKEN}", origin.as_str());
    for (method, body) in [(Method::GET, None), (Method::POST, Some(ONE_CLICK))] {
        let response = request(&url, method.clone(), body).await?;
        check_program(&method, &response)?;
        check_status(&response, StatusCode::NOT_FOUND)?;
    }
    Ok(())
}

/// Opens the unsubscribe link of a person on the list, which changes nothing.
///
/// # Errors
/// If the site does not ask this person whether to unsubscribe. The error names neither the link nor the person.
pub(super) async fn check_link_of(email: &Email, url: &str) -> anyhow::Result<()> {
    let response = request(url, Method::GET, None).await?;
    check_program(&Method::GET, &response)?;
    ensure!(
        response.status() != StatusCode::NOT_FOUND,
        "the site does not know the link, because it serves another list; run the command with the list of the site"
    );
    check_status(&response, StatusCode::OK)?;
    // A token has the form that all spellings of an address share.
    let shown = Email::from_stored(&email.key()).masked();
    ensure!(
        response.body().contains(&*encode_text(&shown)),
        "the site says that the person is not on its list; run the command with the list of the site"
    );
    Ok(())
}

/// Checks that this program has responded, without a redirect.
fn check_program(method: &Method, response: &Response<String>) -> anyhow::Result<()> {
    let status = response.status();
    ensure!(
        !status.is_redirection(),
        "{method} is redirected; set --origin to the URL where the redirect leads, or let the proxy pass it on"
    );
    let robots = response.headers().get("x-robots-tag");
    ensure!(
        robots.is_some_and(|it| it == "noindex"),
        "the response to {method} is {status}, and not from this program; check --origin and the proxy"
    );
    Ok(())
}

fn check_status(response: &Response<String>, expected: StatusCode) -> anyhow::Result<()> {
    let status = response.status();
    if status != expected {
        bail!("the site responds with {status}; see the log of the server");
    }
    Ok(())
}

/// Sends a request, and reads the response. Redirects are not followed.
pub(super) async fn request(
    url: &str,
    method: Method,
    body: Option<(&str, &'static str)>,
) -> anyhow::Result<Response<String>> {
    let mut request = Request::builder().method(method).uri(url);
    if let Some((content_type, _)) = body {
        request = request.header(header::CONTENT_TYPE, content_type);
    }
    let (_, body) = body.unwrap_or_default();
    let request = request.body(Body::from(body))?;
    let response = HttpClient::new()?.send(request, TIMEOUT).await?;
    let (head, body) = response.into_parts();
    let body = timeout(TIMEOUT, to_bytes(body, PAGE_MAX_BYTES)).await;
    let body = body
        .context("the page does not end")?
        .context("cannot read the page")?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Response::from_parts(head, body))
}
