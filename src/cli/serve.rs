//! `landing serve`: opens the list and serves the site until told to stop.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use jiff::Timestamp;
use sd_notify::NotifyState;
use tokio::{
    runtime::{Handle, Runtime},
    sync::{oneshot, watch},
    time::interval,
};

use super::{
    control, fd_limit,
    open_list::Held,
    store_location::{Place, Store},
    terminal::{
        log,
        signals::{Signals, exit_at_the_next},
    },
};
use crate::{
    config::Config,
    copy,
    server::{AppState, listen, serve},
    waitlist::Trouble,
};

#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    config: Config,
}

pub(super) fn run(Serve { place, mut config }: Serve) -> Result<(), String> {
    let store = place.store();
    let _log = log::start(config.log).map_err(|error| format!("the log can't start: {error}"))?;
    config.max_connections = fd_limit::allow(config.max_connections);
    let runtime = Runtime::new().map_err(|error| format!("the runtime can't start: {error}"))?;
    // Before anything that takes time: as process 1 of a container it would not be heard otherwise.
    let signals = {
        let _entered = runtime.enter();
        Signals::new().map_err(|error| format!("signals can't be received: {error}"))?
    };
    let is_in_a_database = matches!(store, Store::Database(_));
    let ended = runtime.block_on(until_stopped(store, config, signals));
    if is_in_a_database {
        // Nothing stops a thread that looks up the name of a host, so it is not waited for.
        runtime.shutdown_background();
    }
    // Else it ends here and lets go of the list, which commits what was accepted.
    ended
}

async fn until_stopped(store: Store, config: Config, mut signals: Signals) -> Result<(), String> {
    // httpdate, which writes the Date header, panics at other times.
    let now = SystemTime::now();
    if now < UNIX_EPOCH || Timestamp::try_from(now).is_err() {
        return Err(
            "the clock of this machine is not between 1970 and 9999: set it, then start this again"
                .into(),
        );
    }
    let (Held { list, trouble }, state) =
        open_unless_stopped(&store, &config, &mut signals).await?;
    if let Some(trouble) = trouble {
        tokio::spawn(tell_of_trouble(trouble));
    }
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
    let _control = match &store {
        // Visitors come first: without it there is a site all the same.
        Store::Directory(data) => match control::listen(data, list) {
            Ok(control) => Some(control),
            Err(error) => {
                tracing::warn!(
                    "the owner's commands can't be answered while this serves: {error}; give --store a place \
                     where a socket can be"
                );
                None
            }
        },
        // The owner's commands go there themselves.
        Store::Database(_) => None,
    };
    tracing::info!("serving on http://{addr}, the waitlist in {store}");
    tell_the_service_manager(NotifyState::Ready);
    serve(listener, state, async || {
        signals.next().await;
        tell_the_service_manager(NotifyState::Stopping);
    })
    .await;
    // From here on the list is closed, which takes long if its disk hangs.
    exit_at_the_next(
        "told to stop again before the waitlist was closed; everything acknowledged is kept",
    )
    .map_err(told)
}

/// Opens the list and renders the site. Told to stop meanwhile, it leaves the list in order, and fails.
async fn open_unless_stopped(
    store: &Store,
    config: &Config,
    signals: &mut Signals,
) -> Result<(Held, AppState), String> {
    let (opened, mut opening) = oneshot::channel();
    let stop = Arc::new(AtomicBool::new(false));
    {
        let (store, config) = (store.clone(), config.clone());
        let (runtime, stop) = (Handle::current(), Arc::clone(&stop));
        // Not a thread of the runtime, which would wait for it without end.
        thread::spawn(move || opened.send(open(&store, &config, &runtime, &stop)));
    }
    let mut report = interval(REPORT_INTERVAL);
    report.tick().await;
    loop {
        tokio::select! {
            opened = &mut opening => {
                return opened.map_err(|_| "the site can't be made; see above".to_owned())?;
            }
            _ = report.tick() => tracing::info!("opening the waitlist in {store}"),
            () = signals.next() => break,
        }
    }
    stop.store(true, Ordering::Relaxed);
    if matches!(store, Store::Directory(_)) {
        tokio::select! {
            // A list that is open is closed by being dropped here.
            opened = opening => if let Ok(Err(why)) = opened {
                return Err(why);
            },
            () = signals.next() => {}
        }
    }
    Err(format!(
        "told to stop while the waitlist in {store} was opened; the list is as it was"
    ))
}

/// How often a start says that it is not done yet.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// The list, and all that is made of it before the first request.
fn open(
    store: &Store,
    config: &Config,
    runtime: &Handle,
    stop: &AtomicBool,
) -> Result<(Held, AppState), String> {
    let held = store.hold(runtime, stop)?;
    let state = AppState::new(config, Arc::clone(&held.list)).map_err(told)?;
    Ok((held, state))
}

/// Logs when the database is lost, and when it is back.
async fn tell_of_trouble(mut trouble: watch::Receiver<Option<Trouble>>) {
    while trouble.changed().await.is_ok() {
        let why = trouble
            .borrow_and_update()
            .as_ref()
            .map(|it| it.why.clone());
        match why {
            Some(why) => tracing::error!(
                "the database: {why}. Nobody can sign up until it is back; the page shows the last count"
            ),
            None => tracing::info!("the database is back"),
        }
    }
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
