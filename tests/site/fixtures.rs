//! What a server is made of: a configuration, the files of a site, a store.

use std::path::Path;

use clap::Parser;
use landing::{
    config::Config,
    waitlist::{Answer, Email, Entries, Entry, Joined, Selection, StoreError, Waitlist},
};
use tokio::sync::watch;

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

/// A store of seven people whom nobody can read, with the given answers to a sign-up and to whether it
/// is ready.
pub(crate) fn stand_in(
    join: impl Fn(Entry) -> Answer<'static, Joined> + Send + Sync + 'static,
    ready: impl Fn() -> Answer<'static, ()> + Send + Sync + 'static,
) -> impl Waitlist {
    StandIn { join, ready }
}

/// An answer that is there at once.
pub(crate) fn at_once<T: Send + 'static>(answer: Result<T, StoreError>) -> Answer<'static, T> {
    Box::pin(std::future::ready(answer))
}

struct StandIn<J, R> {
    join: J,
    ready: R,
}

impl<J, R> Waitlist for StandIn<J, R>
where
    J: Fn(Entry) -> Answer<'static, Joined> + Send + Sync + 'static,
    R: Fn() -> Answer<'static, ()> + Send + Sync + 'static,
{
    fn join(&self, entry: Entry) -> Answer<'_, Joined> {
        (self.join)(entry)
    }

    fn erase(&self, _: &[Email]) -> Answer<'_, Vec<bool>> {
        at_once(Err(StoreError::Stopped))
    }

    fn ready(&self) -> Answer<'_, ()> {
        (self.ready)()
    }

    fn count(&self) -> u64 {
        7
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::channel(7).1
    }

    fn entries(&self, _: Selection) -> Result<Entries, StoreError> {
        Err(StoreError::Unreadable)
    }
}

/// A store that has no answer.
#[allow(dead_code, reason = "a fuzzer needs one that has")]
pub(crate) fn down(why: StoreError) -> impl Waitlist {
    let again = why.clone();
    stand_in(
        move |_| at_once(Err(why.clone())),
        move || at_once(Err(again.clone())),
    )
}
