//! The options of the webhook, which reports each person who joins, confirms or leaves to another program of the owner.

use base64::{Engine, prelude::BASE64_STANDARD};
use hyper::Uri;
use ring::hmac;
use url::Url;

use super::values::{Secret, is_loopback};

/// The options of the webhook.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Webhook")]
pub struct WebhookOptions {
    /// URL that is told when somebody joins, confirms or leaves: https://HOST/PATH, or http:// on this machine. Set
    /// LANDING_WEBHOOK instead if the URL is a secret, because other users can see the command line
    // Parsed by `settings` and not by clap, whose error message would show the URL.
    #[arg(
        long,
        env = "LANDING_WEBHOOK",
        hide_env_values = true,
        value_name = "URL"
    )]
    webhook: Option<Secret>,

    /// Secret that signs what the webhook sends (Standard Webhooks): whsec_ and 24 to 64 bytes in base64. Set
    /// LANDING_WEBHOOK_SECRET instead, because other users can see the command line
    #[arg(
        long,
        env = "LANDING_WEBHOOK_SECRET",
        hide_env_values = true,
        value_name = "SECRET"
    )]
    webhook_secret: Option<Secret>,
}

/// The settings of the webhook. `Debug` shows neither the path of the URL, which is a secret of many services, nor the key.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// The URL.
    pub url: Secret,
    /// The scheme, the host and the port of the URL.
    pub origin: String,
    /// Signs the events.
    pub key: hmac::Key,
}

/// A setting of the webhook that is missing or invalid. The message quotes neither the URL nor the secret.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidWebhookSetting {
    /// The URL is not set.
    #[error(
        "no webhook is set; set --webhook https://HOST/PATH (LANDING_WEBHOOK), or remove LANDING_WEBHOOK_SECRET too"
    )]
    NoUrl,
    /// The URL is malformed, has a user or a password, or would send addresses over a network without TLS.
    #[error(
        "--webhook (LANDING_WEBHOOK): expected https://HOST/PATH without a user and a password; only a program on this \
         machine may have http://, such as http://127.0.0.1:8080/"
    )]
    Url,
    /// The secret is missing or malformed.
    #[error(
        "LANDING_WEBHOOK_SECRET must be whsec_ and 24 to 64 bytes in base64; create one with \
         `echo whsec_$(openssl rand -base64 32)`, and give it to the receiver too"
    )]
    Secret,
}

impl WebhookOptions {
    /// Checks the options. Returns `None` if neither is set.
    ///
    /// # Errors
    /// [`InvalidWebhookSetting`].
    pub fn settings(&self) -> Result<Option<WebhookSettings>, InvalidWebhookSetting> {
        if self.webhook.is_none() && self.webhook_secret.is_none() {
            return Ok(None);
        }
        let url = self.webhook.as_ref().ok_or(InvalidWebhookSetting::NoUrl)?;
        let url = parse_url(url.as_str()).ok_or(InvalidWebhookSetting::Url)?;
        let secret = self.webhook_secret.as_ref().map(Secret::as_str);
        let encoded = secret.and_then(|it| it.trim().strip_prefix("whsec_"));
        let secret = encoded.and_then(|it| BASE64_STANDARD.decode(it).ok());
        let secret = secret.filter(|it| (24..=64).contains(&it.len()));
        let secret = secret.ok_or(InvalidWebhookSetting::Secret)?;
        Ok(Some(WebhookSettings {
            origin: url.origin().ascii_serialization(),
            url: Secret::from(String::from(url)),
            key: hmac::Key::new(hmac::HMAC_SHA256, &secret),
        }))
    }
}

/// Parses a URL of a webhook.
fn parse_url(text: &str) -> Option<Url> {
    let url = Url::parse(text.trim()).ok()?;
    // What requests need has stricter rules.
    Uri::try_from(url.as_str()).ok()?;
    let is_local = url.scheme() == "http" && is_loopback(&url.host()?);
    let is_private = url.scheme() == "https" || is_local;
    let has_user = !url.username().is_empty() || url.password().is_some();
    (is_private && !has_user).then_some(url)
}
