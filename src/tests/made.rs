//! What a server is made of: a configuration, and the files of a site.

use std::path::Path;

use clap::Parser;
use landing::config::Config;

/// The configuration that a command line makes.
pub(crate) fn parse(options: &[&str]) -> Result<Config, clap::Error> {
    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        config: Config,
    }
    Ok(Cli::try_parse_from([&["landing"], options].concat())?.config)
}

/// The files of a site as cargo-leptos leaves them.
pub(crate) fn write_site(root: &Path, build: &str) {
    for folder in ["pkg", "fonts/wide"] {
        std::fs::create_dir_all(root.join(folder)).expect("a writable directory");
    }
    let write = |name: &str, body: &str| std::fs::write(root.join(name), body).expect("writable");
    write("pkg/landing.HASH.css", &"body { margin: 0 } ".repeat(100));
    write("pkg/landing.HASH.css.gz", "stands for gzip");
    write("pkg/landing.HASH.css.br", "stands for brotli");
    write("pkg/landing.HASH.js", "export default 1");
    write("pkg/landing.HASH.wasm", &format!("…{build}…"));
    write("fonts/prose.HASH.woff2", "stands for a typeface");
    write("fonts/wide/machine.HASH.woff2", "stands for another");
    write("favicon.svg", "<svg/>");
}
