//! `landing serve`: opens the list and serves the site until told to stop.

use std::{error::Error, io::IsTerminal, sync::Arc};

use tokio::net::TcpListener;

use crate::{
    config::Config,
    copy,
    server::{AppState, serve},
    waitlist::{SledWaitlist, Waitlist, stop_if_the_store_panics},
};

pub(super) fn run(config: &Config) -> Result<(), String> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    let list: Arc<dyn Waitlist> = Arc::new(SledWaitlist::open(&config.data).map_err(told)?);
    stop_if_the_store_panics();
    let state = AppState::new(config, list).map_err(told)?;
    if config.origin.as_str() == copy::ORIGIN {
        tracing::warn!(
            "--origin is not set: links, previews and the sitemap lead to {}; name the address \
             under which the public finds this site",
            copy::ORIGIN
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime can't start: {error}"))?;
    runtime.block_on(async {
        let listener = TcpListener::bind(config.addr).await.map_err(|error| {
            format!(
                "can't listen on {}: {error}; stop what holds it, or choose another with --addr",
                config.addr
            )
        })?;
        let addr = listener.local_addr().map_err(told)?;
        tracing::info!(
            "serving on http://{addr}, the waitlist in {}",
            config.data.display()
        );
        serve(listener, state).await.map_err(told)
    })
    // The runtime ends here and lets go of the list, which commits what was accepted.
}

fn told(error: impl Error) -> String {
    error.to_string()
}
