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
    open_list::ServedList,
    store_location::{StoreArgs, StoreLocation},
    terminal::{
        log,
        signals::{Signals, exit_on_next_signal},
    },
};
use crate::{
    config::Config,
    copy,
    server::{AppState, listen, serve},
    waitlist::Outage,
};

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    config: Config,
}

pub(super) fn run(ServeArgs { store, mut config }: ServeArgs) -> Result<(), String> {
    let store = store.location();
    let _log = log::start(config.log).map_err(|error| format!("the log can't start: {error}"))?;
    config.max_connections = fd_limit::raise_for(config.max_connections);
    let runtime = Runtime::new().map_err(|error| format!("the runtime can't start: {error}"))?;
    // Before anything that takes time: as process 1 of a container it would not be heard otherwise.
    let signals = {
        let _entered = runtime.enter();
        Signals::new().map_err(|error| format!("signals can't be received: {error}"))?
    };
    let is_database = matches!(store, StoreLocation::Database(_));
    let ended = runtime.block_on(serve_until_stopped(store, config, signals));
    if is_database {
        // Nothing stops a thread that looks up the name of a host, so it is not waited for.
        runtime.shutdown_background();
    }
    // Else it ends here and lets go of the list, which commits what was accepted.
    ended
}

async fn serve_until_stopped(
    store: StoreLocation,
    config: Config,
    mut signals: Signals,
) -> Result<(), String> {
    // httpdate, which writes the Date header, panics at other times.
    let now = SystemTime::now();
    if now < UNIX_EPOCH || Timestamp::try_from(now).is_err() {
        return Err(
            "the clock of this machine is not between 1970 and 9999: set it, then start this again"
                .into(),
        );
    }
    let (ServedList { list, outage }, state) =
        open_unless_stopped(&store, &config, &mut signals).await?;
    if let Some(outage) = outage {
        tokio::spawn(log_outages(outage));
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
    let addr = listener.local_addr().map_err(to_message)?;
    let _control = match &store {
        // Visitors come first: without it there is a site all the same.
        StoreLocation::Directory(data) => match control::listen(data, list) {
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
        StoreLocation::Database(_) => None,
    };
    tracing::info!("serving on http://{addr}, the waitlist in {store}");
    notify_service_manager(NotifyState::Ready);
    serve(listener, state, async || {
        signals.next().await;
        notify_service_manager(NotifyState::Stopping);
    })
    .await;
    // From here on the list is closed, which takes long if its disk hangs.
    exit_on_next_signal(
        "told to stop again before the waitlist was closed; everything acknowledged is kept",
    )
    .map_err(to_message)
}

/// Opens the list and renders the site. Told to stop meanwhile, it leaves the list in order, and fails.
async fn open_unless_stopped(
    store: &StoreLocation,
    config: &Config,
    signals: &mut Signals,
) -> Result<(ServedList, AppState), String> {
    let (opened, mut opening) = oneshot::channel();
    let stop = Arc::new(AtomicBool::new(false));
    {
        let (store, config) = (store.clone(), config.clone());
        let (runtime, stop) = (Handle::current(), Arc::clone(&stop));
        // Not a thread of the runtime, which would wait for it without end.
        thread::spawn(move || opened.send(open(&store, &config, &runtime, &stop)));
    }
    let mut report = interval(OPENING_LOG_INTERVAL);
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
    if matches!(store, StoreLocation::Directory(_)) {
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
const OPENING_LOG_INTERVAL: Duration = Duration::from_secs(5);

/// The list, and all that is made of it before the first request.
fn open(
    store: &StoreLocation,
    config: &Config,
    runtime: &Handle,
    stop: &AtomicBool,
) -> Result<(ServedList, AppState), String> {
    let served = store.open_to_serve(runtime, stop)?;
    let state = AppState::new(config, Arc::clone(&served.list)).map_err(to_message)?;
    Ok((served, state))
}

/// Logs when the database is lost, and when it is back.
async fn log_outages(mut outage: watch::Receiver<Option<Outage>>) {
    while outage.changed().await.is_ok() {
        let why = outage
            .borrow_and_update()
            .as_ref()
            .map(|it| it.reason.clone());
        match why {
            Some(why) => tracing::error!(
                "the database: {why}. Nobody can sign up until it is back; the page shows the last count"
            ),
            None => tracing::info!("the database is back"),
        }
    }
}

/// For `Type=notify` of systemd; without one there is nobody to tell.
fn notify_service_manager(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::warn!("the service manager can't be told: {error}");
    }
}

fn to_message(error: impl Error) -> String {
    error.to_string()
}
