//! What the server knows before it opens the list: the texts and the files of the site.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{Assets, AssetsError};
use crate::{
    config::{Config, LinkUrl},
    page::{Page, Site},
};

/// The texts and the files of the site.
pub struct SiteFiles {
    site: Arc<Site>,
    root: PathBuf,
    assets: Arc<Assets>,
    /// Whether `cargo leptos watch` runs this server. Then each request reads the files again and renders its page.
    is_watching: bool,
}

impl SiteFiles {
    /// Reads the site's files.
    ///
    /// # Errors
    /// [`AssetsError`] if files are missing, unreadable or from another build.
    pub fn load(config: &Config) -> Result<Self, AssetsError> {
        let is_watching = env::var_os("LEPTOS_WATCH").is_some_and(|value| !value.is_empty());
        let root = config.site_root.clone().unwrap_or_else(default_root);
        let site = Arc::new(site_from_config(config));
        let assets = Arc::new(Assets::load(&root, &site, is_watching)?);
        Ok(Self {
            site,
            root,
            assets,
            is_watching,
        })
    }

    /// Returns the directory of the files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the texts that the owner has configured.
    pub(super) fn site(&self) -> &Arc<Site> {
        &self.site
    }

    pub(super) fn is_watching(&self) -> bool {
        self.is_watching
    }

    /// Returns the contents of the page with a count. `confirms` says whether people confirm their address.
    pub(super) fn page(&self, count: u64, confirms: bool) -> Page {
        Page {
            site: Arc::clone(&self.site),
            files: Arc::clone(self.assets().files()),
            count,
            confirms,
            reply: None,
            is_watching: self.is_watching,
        }
    }

    /// Returns the files. While `cargo leptos watch` runs this server, reads them again.
    pub(super) fn assets(&self) -> Arc<Assets> {
        if self.is_watching
            && let Ok(assets) = Assets::load(&self.root, &self.site, true)
        {
            return Arc::new(assets);
        }
        Arc::clone(&self.assets)
    }
}

fn default_root() -> PathBuf {
    let program = env::current_exe().unwrap_or_default();
    program.with_file_name("site")
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
