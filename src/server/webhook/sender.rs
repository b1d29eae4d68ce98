//! Sends an event, signed as the Standard Webhooks specification says.

use std::time::Duration;

use axum::body::Body;
use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::{Request, Response, header};
use jiff::Timestamp;
use ring::hmac;
use serde_json::json;
use tokio_rustls::rustls;

use super::super::http_client::{HttpClient, HttpError};
use crate::{
    config::WebhookSettings,
    waitlist::{Event, Source},
};

/// The name of this program in requests. Some services reject requests without one.
const USER_AGENT: &str = concat!("landing/", env!("CARGO_PKG_VERSION"));

/// Sends events to the endpoint of the owner.
pub struct WebhookSender {
    settings: WebhookSettings,
    client: HttpClient,
    /// The times, which a test may shorten.
    pub times: WebhookTimes,
}

/// The times of a webhook.
#[derive(Clone, Copy, Debug)]
pub struct WebhookTimes {
    /// Maximum time until the head of the response. The specification recommends 15 to 30 seconds.
    pub response: Duration,
    /// Between two looks for new events.
    pub poll_interval: Duration,
    /// The first pause after a failure.
    pub shortest_pause: Duration,
    /// The longest pause of all events. It is short, so that the events which the receiver cannot handle let the others pass
    /// within hours, even if they are many. Once nothing was accepted for this time, a failure is reported again.
    pub longest_pause_for_all: Duration,
    /// The longest pause of a person whose event has failed. Once nothing was accepted for this time, events older than
    /// `max_age` are given up without a try.
    pub longest_pause: Duration,
    /// The age at which an event that fails is given up.
    pub max_age: Duration,
}

const TIMES: WebhookTimes = WebhookTimes {
    response: Duration::from_secs(15),
    poll_interval: Duration::from_secs(1),
    shortest_pause: Duration::from_secs(5),
    longest_pause_for_all: Duration::from_secs(60),
    longest_pause: Duration::from_secs(6 * 60 * 60),
    max_age: Duration::from_secs(3 * 24 * 60 * 60),
};

impl WebhookSender {
    /// Creates a sender. Nothing is sent yet.
    ///
    /// # Errors
    /// If rustls has no cipher that works.
    pub fn new(settings: WebhookSettings) -> Result<Self, rustls::Error> {
        Ok(Self {
            settings,
            client: HttpClient::new()?,
            times: TIMES,
        })
    }

    /// Sends an event, and returns the response, whose body is not read yet.
    ///
    /// # Errors
    /// [`HttpError`]. The endpoint may have the event all the same.
    pub async fn send(&self, event: &Event) -> Result<Response<Body>, HttpError> {
        let id = event.id;
        let at = Timestamp::try_from(event.at).unwrap_or_default();
        let source = event.source.as_ref().map(Source::as_str);
        let body = json!({
            "type": format!("person.{}", event.kind),
            "timestamp": format!("{at:.3}"),
            "data": { "email": event.email.as_typed(), "source": source },
        });
        let body = body.to_string();
        // The time of the attempt, so that nobody can send it again later.
        let now = Timestamp::now().as_second();
        let signature = hmac::sign(&self.settings.key, format!("{id}.{now}.{body}").as_bytes());
        let signature = BASE64_STANDARD.encode(signature);
        let request = Request::post(self.settings.url.as_str())
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, USER_AGENT)
            .header("webhook-id", id.to_string())
            .header("webhook-timestamp", now)
            .header("webhook-signature", format!("v1,{signature}"))
            .body(Body::from(body))
            .expect("a URL that was parsed, and headers in ASCII");
        self.client.send(request, self.times.response).await
    }
}
