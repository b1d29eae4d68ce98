//! The files that a browser loads after the page, read from the page itself.

use std::collections::BTreeSet;

use anyhow::ensure;

/// The URL paths of the files, in the order in which a browser finds them. The style is inside the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SiteFiles {
    /// Those that the HTML and its style name: icon, the page's script, fonts.
    pub(crate) head: Vec<String>,
    /// Those that the script loads once the page is painted: manifest, host, wasm.
    pub(crate) host: Vec<String>,
    /// The modules of the islands, loaded as the visitor scrolls.
    pub(crate) modules: Vec<String>,
}

impl SiteFiles {
    /// Finds the files of a page.
    ///
    /// # Errors
    /// If the page lacks one of them, because it is built differently now.
    pub(crate) fn of_page(html: &str) -> anyhow::Result<Self> {
        let mut files = Self::default();
        for tag in html.split('<').filter_map(|rest| rest.split_once('>')) {
            files.add(tag.0);
        }
        // Preloaded, or named by the style.
        let fonts = html
            .split(['"', '(', ')', '\''])
            .filter(|it| it.ends_with(".woff2"));
        let fonts: BTreeSet<_> = fonts.map(str::to_owned).collect();
        files.head.extend(fonts);
        files.modules.sort();
        files.modules.dedup();
        let is_complete =
            files.head.len() >= 3 && files.host.len() == 3 && !files.modules.is_empty();
        ensure!(
            is_complete,
            "the page is built differently; correct site.rs: {files:?}"
        );
        Ok(files)
    }

    fn add(&mut self, tag: &str) {
        let attribute = |name: &str| {
            let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        let rel = attribute("rel");
        match tag.split_whitespace().next() {
            // Browsers that draw SVG do not load the other icons.
            Some("link")
                if rel.as_deref() == Some("icon")
                    && attribute("type").as_deref() == Some("image/svg+xml") =>
            {
                self.head.extend(attribute("href"));
            }
            Some("script") if attribute("data-host").is_some() => {
                self.head.extend(attribute("src"));
                let names = ["data-manifest", "data-host", "data-wasm"];
                self.host.extend(names.into_iter().filter_map(attribute));
            }
            Some("div") => {
                let modules = attribute("data-modules").unwrap_or_default();
                let modules = modules.split_whitespace().map(str::to_owned);
                self.modules.extend(modules);
            }
            _ => {}
        }
    }

    /// Returns the number of files.
    pub(crate) fn count(&self) -> usize {
        self.head.len() + self.host.len() + self.modules.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_files_of_a_page() {
        let html = r#"<link rel="icon" href="/a.ico" sizes="32x32"><link rel="icon" href="/a.svg" type="image/svg+xml">
            <link rel="preload" href="/a.woff2" as="font" media="(width >= 45rem)" crossorigin>
            <style>@font-face { src: url(/a.woff2) } @font-face { src: url("/b.woff2") }</style>
            <script type="module" async src="/boot.js" data-host="/host.js" data-wasm="/host.wasm" data-manifest="/m"></script>
            <div data-island="demo" data-modules="/b.js /a.js"></div><div data-island="form" data-modules="/a.js"></div>"#;
        let files = SiteFiles::of_page(html).expect("all files");
        assert_eq!(files.head, ["/a.svg", "/boot.js", "/a.woff2", "/b.woff2"]);
        assert_eq!(files.host, ["/m", "/host.js", "/host.wasm"]);
        assert_eq!(files.modules, ["/a.js", "/b.js"]);
    }

    #[test]
    fn reports_a_page_without_the_script() {
        assert!(SiteFiles::of_page("<p>Not found</p>").is_err());
    }
}
