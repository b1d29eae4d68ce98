//! The texts and the files of the site.

use std::sync::Arc;

use super::{assets::Assets, watched_assets::WatchedAssets};
use crate::{
    config::{Config, LinkUrl},
    page::{Page, Site},
};

/// The texts and the files of the site.
pub(super) struct SiteFiles {
    site: Arc<Site>,
    assets: Arc<Assets>,
    /// Only if `cargo leptos watch` has compiled this program. Then each request for the landing page renders it.
    watched: Option<WatchedAssets>,
}

impl SiteFiles {
    /// Takes the texts from the configuration, and the files from this program.
    pub(super) fn new(config: &Config) -> Self {
        let site = Arc::new(site_from_config(config));
        let assets = Arc::new(Assets::compiled_in(&site));
        let watched = WatchedAssets::new(&assets);
        Self {
            site,
            assets,
            watched,
        }
    }

    /// Returns the texts that the owner has configured.
    pub(super) fn site(&self) -> &Arc<Site> {
        &self.site
    }

    pub(super) fn is_watching(&self) -> bool {
        self.watched.is_some()
    }

    /// Returns the contents of the page with a count. `confirms` says whether people confirm their address.
    pub(super) fn page(&self, count: u64, confirms: bool) -> Page {
        Page {
            site: Arc::clone(&self.site),
            files: Arc::clone(self.assets().files()),
            count,
            confirms,
            form: None,
            is_watching: self.is_watching(),
        }
    }

    /// Returns the files. While `cargo leptos watch` runs this server, they are those of the sources as of now.
    pub(super) fn assets(&self) -> Arc<Assets> {
        match &self.watched {
            Some(watched) => watched.current(&self.site),
            None => Arc::clone(&self.assets),
        }
    }
}

fn site_from_config(config: &Config) -> Site {
    let url = |link: &Option<LinkUrl>| link.as_ref().map(|link| link.as_str().to_owned());
    Site {
        origin: config
            .origin
            .clone()
            .unwrap_or_default()
            .as_str()
            .to_owned(),
        product: config.product.clone(),
        contact_email: config.contact.clone(),
        social_url: config.social.as_str().to_owned(),
        social_host: config.social.host().to_owned(),
        count_from: config.count_from,
        privacy_url: url(&config.privacy_url),
        terms_url: url(&config.terms_url),
        support_url: url(&config.support_url),
    }
}
