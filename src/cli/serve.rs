//! `landing serve`: opens the list and serves the site until told to stop.

use std::{error::Error, sync::Arc, thread, time::Instant};

use sd_notify::NotifyState;
use tokio::{runtime::Runtime, sync::oneshot};

use super::{handles, log, place::PATIENCE, signals::Signals};
use crate::{
    config::Config,
    control, copy,
    server::{AppState, listen, serve},
    waitlist::{OpenError, SledWaitlist, Waitlist, stop_if_the_store_panics},
};

pub(super) fn run(config: &Config) -> Result<(), String> {
    let _log = log::start(config.log);
    handles::allow(config.max_connections);
    let runtime = Runtime::new().map_err(|error| format!("the runtime can't start: {error}"))?;
    // Before anything that takes time: as process 1 of a container it would not be heard otherwise.
    let signals = {
        let _entered = runtime.enter();
        Signals::new().map_err(|error| format!("signals can't be received: {error}"))?
    };
    runtime.block_on(until_stopped(config, signals))
    // The runtime ends here and lets go of the list, which commits what was accepted.
}

async fn until_stopped(config: &Config, mut signals: Signals) -> Result<(), String> {
    let (opened, opening) = oneshot::channel();
    {
        let config = config.clone();
        // Not a thread of the runtime, which would wait for it when told to stop meanwhile.
        thread::spawn(move || opened.send(open(&config)));
    }
    let (list, state) = tokio::select! {
        opened = opening => opened.map_err(|_| "the site can't be made; see above".to_owned())??,
        () = signals.next() => return Ok(()),
    };
    if config.origin.as_str() == copy::ORIGIN {
        tracing::warn!(
            "--origin is not set: links, previews and the sitemap lead to {}; name the address \
             under which the public finds this site",
            copy::ORIGIN
        );
    }
    let listener = listen(config.addr).map_err(|error| {
        format!(
            "can't listen on {}: {error}; stop what holds it, or choose another with --addr",
            config.addr
        )
    })?;
    let addr = listener.local_addr().map_err(told)?;
    // Visitors come first: without it there is a site all the same.
    let _control = control::listen(&config.data, list).inspect_err(|error| {
        tracing::warn!(
            "the owner's commands can't be answered while this serves: {error}; give --data a place where \
             a socket can be"
        );
    });
    tracing::info!(
        "serving on http://{addr}, the waitlist in {}",
        config.data.display()
    );
    tell_the_service_manager(NotifyState::Ready);
    serve(listener, state, async || {
        signals.next().await;
        tell_the_service_manager(NotifyState::Stopping);
    })
    .await;
    Ok(())
}

/// The list, and all that is made of it before the first request.
fn open(config: &Config) -> Result<(Arc<dyn Waitlist>, AppState), String> {
    let begun = Instant::now();
    let list = loop {
        match SledWaitlist::open(&config.data) {
            // By a command of the owner's, or by the server before this one.
            Err(OpenError::Held(..)) if begun.elapsed() < PATIENCE => {}
            opened => break Arc::new(opened.map_err(told)?),
        }
    };
    let list: Arc<dyn Waitlist> = list;
    stop_if_the_store_panics();
    let state = AppState::new(config, Arc::clone(&list)).map_err(told)?;
    Ok((list, state))
}

/// For `Type=notify` of systemd; without one there is nobody to tell.
fn tell_the_service_manager(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("the service manager can't be told: {error}");
    }
}

fn told(error: impl Error) -> String {
    error.to_string()
}
