//! The texts and the files of the site. While `cargo leptos watch` runs, the files are built again for each visit of the
//! landing page, without compiling the program. cargo-leptos reloads the open page after each change.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, PoisonError, RwLock},
};

use super::{assets::Assets, resource::EncodedBody};
use crate::{
    config::{Config, LinkUrl},
    page::{Page, Site},
};

/// Set by `build.rs` while cargo-leptos watches: the directory with the wasm host. All other programs serve what was
/// compiled into them, wherever they run.
pub(super) const WATCHED_BUILD: Option<&str> = option_env!("LANDING_WATCHED_BUILD");

/// The texts and the files of the site.
pub(super) struct SiteFiles {
    /// The texts that the owner has configured.
    pub(super) site: Arc<Site>,
    assets: RwLock<Arc<Assets>>,
}

impl SiteFiles {
    /// Takes the texts from the configuration, and the files from this program.
    pub(super) fn new(config: &Config) -> Self {
        let site = Arc::new(site_from_config(config));
        let assets = RwLock::new(Arc::new(Assets::compiled_in(&site)));
        Self { site, assets }
    }

    /// Returns the files.
    pub(super) fn assets(&self) -> Arc<Assets> {
        Arc::clone(&self.assets.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the contents of the page with a count. `confirms` says whether people confirm their address.
    pub(super) fn page(&self, count: u64, confirms: bool) -> Page {
        Page {
            site: Arc::clone(&self.site),
            files: Arc::clone(self.assets().files()),
            count,
            confirms,
            form: None,
            form_action: "#waitlist",
            is_watching: WATCHED_BUILD.is_some(),
        }
    }

    /// Builds the files from the sources as of now. If that fails, the build before stays.
    pub(super) fn rebuild(&self, directory: &str) {
        let mut assets = self.assets.write().unwrap_or_else(PoisonError::into_inner);
        match build(Path::new(directory), &self.site) {
            Ok(built) => *assets = Arc::new(built),
            Err(error) => tracing::error!("the site's files were not built: {error}"),
        }
    }
}

fn build(directory: &Path, site: &Site) -> io::Result<Assets> {
    let out = directory.join("watched");
    // cargo-leptos runs the server in the project's root.
    let mut node = Command::new("node");
    node.args(["islands/build/build.mjs", "--dev"]);
    node.arg(directory.join("host")).arg(&out);
    if !node.status()?.success() {
        return Err(io::Error::other("see the messages of build.mjs"));
    }
    let root = out.join("files");
    let bodies = files(&root)?.into_iter().map(|file| {
        let path = file.strip_prefix(&root).unwrap_or(&file);
        let path = format!("/{}", path.display());
        let body = EncodedBody {
            identity: fs::read(file)?.into(),
            gzip: None,
            brotli: None,
        };
        Ok((path, body))
    });
    let bodies = bodies.collect::<io::Result<Vec<_>>>()?;
    let json = fs::read_to_string(out.join("site.json"))?;
    Ok(Assets::new(&json, bodies, site)?)
}

/// Returns the files below a directory.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    Ok(found)
}

fn site_from_config(config: &Config) -> Site {
    let url = |link: &Option<LinkUrl>| link.as_ref().map(|link| link.as_str().to_owned());
    Site {
        origin: config.origin_or_default().to_owned(),
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
