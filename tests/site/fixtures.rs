//! What a server is made of: a configuration, the files of a site, a store.

use std::path::Path;

use clap::Parser;
use landing::{
    config::Config,
    waitlist::{
        Email, EntryStream, JoinOutcome, Selection, StoreError, StoreFuture, Waitlist,
        WaitlistEntry,
    },
};
use tokio::sync::watch;

/// The configuration that a command line makes.
pub(crate) fn parse_config(options: &[&str]) -> Result<Config, clap::Error> {
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
pub(crate) fn stub_store(
    join: impl Fn(WaitlistEntry) -> StoreFuture<'static, JoinOutcome> + Send + Sync + 'static,
    ready: impl Fn() -> StoreFuture<'static, ()> + Send + Sync + 'static,
) -> impl Waitlist {
    StubStore { join, ready }
}

/// An answer that is there at once.
pub(crate) fn immediate<T: Send + 'static>(
    answer: Result<T, StoreError>,
) -> StoreFuture<'static, T> {
    Box::pin(std::future::ready(answer))
}

struct StubStore<J, R> {
    join: J,
    ready: R,
}

impl<J, R> Waitlist for StubStore<J, R>
where
    J: Fn(WaitlistEntry) -> StoreFuture<'static, JoinOutcome> + Send + Sync + 'static,
    R: Fn() -> StoreFuture<'static, ()> + Send + Sync + 'static,
{
    fn join(&self, entry: WaitlistEntry) -> StoreFuture<'_, JoinOutcome> {
        (self.join)(entry)
    }

    fn erase(&self, _: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        immediate(Err(StoreError::Stopped))
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        (self.ready)()
    }

    fn count(&self) -> u64 {
        7
    }

    fn watch_count(&self) -> watch::Receiver<u64> {
        watch::channel(7).1
    }

    fn entries(&self, _: Selection) -> Result<EntryStream, StoreError> {
        Err(StoreError::Unreadable)
    }
}

/// A store that has no answer.
#[allow(dead_code, reason = "a fuzzer needs one that has")]
pub(crate) fn failing_store(why: StoreError) -> impl Waitlist {
    let again = why.clone();
    stub_store(
        move |_| immediate(Err(why.clone())),
        move || immediate(Err(again.clone())),
    )
}
