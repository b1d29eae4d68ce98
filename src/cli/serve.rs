//! `landing serve`: opens the list, and serves the site until a signal stops it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context, anyhow, bail};
use jiff::Timestamp;
use sd_notify::NotifyState;
use tokio::{
    runtime::{Handle, Runtime},
    sync::{oneshot, watch},
    time::interval,
};

use super::{
    arguments, control, enter_runtime, fd_limit,
    open_list::ServedList,
    serve_check,
    server_socket::ServerSocket,
    service_manager,
    store_location::{StoreArgs, StoreLocation},
    terminal::{
        log,
        signals::{Signals, on_interrupt},
    },
};
use crate::{
    config::Config,
    copy,
    server::{AppState, ConfirmationSender, serve},
    waitlist::{Outage, SledWaitlist},
};

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    /// Check the settings, the waitlist and the address, print them, and exit without serving
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    config: Config,
}

pub(super) fn run(
    ServeArgs {
        check,
        store,
        mut config,
    }: ServeArgs,
) -> anyhow::Result<()> {
    // Before a thread starts.
    let inherited = ServerSocket::inherit();
    let store = store.location()?;
    let _log = log::start(config.log, config.log_level).context("cannot start the log")?;
    let inherited = inherited?;
    for warning in arguments::unknown_variable_warnings() {
        tracing::warn!("{warning}");
    }
    config.max_connections = fd_limit::raise_for(config.max_connections);
    check_clock()?;
    if check {
        warn_of_default_origin(&config);
        let _entered = enter_runtime()?;
        return serve_check::run(&store, &config, inherited);
    }
    let runtime = Runtime::new().context("cannot start the runtime")?;
    // Before anything that takes time: process 1 of a container does not receive a signal that it has no handler for.
    let signals = {
        let _entered = runtime.enter();
        Signals::new().context("cannot receive signals")?
    };
    let is_database = matches!(store, StoreLocation::Database(_));
    let result = runtime.block_on(serve_until_stopped(store, config, inherited, signals));
    if is_database {
        // Without waiting for a thread that resolves a host name, which nothing can stop.
        runtime.shutdown_background();
    } else {
        // With the runtime the list is dropped, which commits the accepted sign-ups.
        drop(runtime);
    }
    if result.is_ok() {
        tracing::info!("stopped; every acknowledged sign-up is stored");
    }
    result
}

async fn serve_until_stopped(
    store: StoreLocation,
    config: Config,
    inherited: Option<ServerSocket>,
    mut signals: Signals,
) -> anyhow::Result<()> {
    let Opened {
        served: ServedList { list, outage },
        state,
        socket,
        is_new,
    } = open_unless_stopped(&store, &config, inherited, &mut signals).await?;
    let _watchdog = service_manager::start_watchdog(Arc::clone(&list));
    if let Some(outage) = outage {
        tokio::spawn(log_outages(outage));
    }
    warn_of_default_origin(&config);
    let is_inherited = socket.is_inherited();
    let listener = socket.listen()?;
    let addr = listener.local_addr()?;
    let _control = match &store {
        // The site works without the control socket, so an error is only a warning.
        StoreLocation::Directory(data) => match control::listen(data, list) {
            Ok(control) => Some(control),
            Err(error) => {
                tracing::warn!(
                    "cannot create the control socket: {error}; commands such as `landing list` do not work while \
                     this server runs; choose a directory that allows sockets with --store"
                );
                None
            }
        },
        // Commands connect to the database directly.
        StoreLocation::Database(_) => None,
    };
    if is_inherited {
        tracing::info!("using the socket of the service manager; --addr is ignored");
    }
    let list = if is_new {
        "a new and empty waitlist"
    } else {
        "the waitlist"
    };
    tracing::info!("serving on http://{addr}, {list} in {store}");
    service_manager::notify(NotifyState::Ready);
    let shutdown_grace = Duration::from_secs(config.shutdown_grace);
    serve(listener, state, shutdown_grace, async || {
        signals.next().await;
        service_manager::notify(NotifyState::Stopping);
    })
    .await;
    // The list is closed next, which takes long if its disk hangs.
    let message = "stopped by another signal before the waitlist was closed; all acknowledged sign-ups are kept";
    on_interrupt(|| Some(message.to_owned())).context("cannot receive signals")
}

fn check_clock() -> anyhow::Result<()> {
    // httpdate, which formats the Date header, panics outside these years.
    let now = SystemTime::now();
    if now < UNIX_EPOCH || Timestamp::try_from(now).is_err() {
        bail!(
            "the clock of this machine is not between 1970 and 9999; set it, and start the server again"
        );
    }
    Ok(())
}

fn warn_of_default_origin(config: &Config) {
    if config.origin.is_none() {
        tracing::warn!(
            "--origin is not set: links, previews and the sitemap point to {}; set it to the public URL of this site",
            copy::ORIGIN
        );
    }
}

/// Opens the list and renders the site. Fails if a signal arrives first, and then leaves the list intact.
async fn open_unless_stopped(
    store: &StoreLocation,
    config: &Config,
    inherited: Option<ServerSocket>,
    signals: &mut Signals,
) -> anyhow::Result<Opened> {
    let (result_sender, mut result) = oneshot::channel();
    let must_stop = Arc::new(AtomicBool::new(false));
    {
        let (store, config) = (store.clone(), config.clone());
        let (runtime, must_stop) = (Handle::current(), Arc::clone(&must_stop));
        // Not a thread of the runtime, which would wait for it at shutdown, perhaps forever.
        thread::spawn(move || {
            let opened = open(&store, &config, inherited, &runtime, &must_stop);
            // It fails if a signal has stopped the start.
            drop(result_sender.send(opened));
        });
    }
    let mut report = interval(OPENING_LOG_INTERVAL);
    report.tick().await;
    loop {
        tokio::select! {
            opened = &mut result => {
                return opened.map_err(|_| anyhow!("cannot open the waitlist or render the site; see the log above"))?;
            }
            _ = report.tick() => tracing::info!("the waitlist in {store} is not open yet"),
            () = signals.next() => break,
        }
    }
    must_stop.store(true, Ordering::Relaxed);
    if matches!(store, StoreLocation::Directory(_)) {
        tokio::select! {
            // An open list is dropped here, which closes it.
            opened = result => if let Ok(Err(error)) = opened {
                return Err(error);
            },
            () = signals.next() => {}
        }
    }
    bail!("stopped by a signal while opening the waitlist in {store}; nobody on it is lost")
}

/// Interval of the log line that reports a slow start.
const OPENING_LOG_INTERVAL: Duration = Duration::from_secs(5);

/// Everything that the first request needs.
struct Opened {
    served: ServedList,
    state: AppState,
    socket: ServerSocket,
    /// Whether the list was created.
    is_new: bool,
}

/// Opens the list, after the checks that are cheap: a failed start must leave no new list behind.
fn open(
    store: &StoreLocation,
    config: &Config,
    inherited: Option<ServerSocket>,
    runtime: &Handle,
    must_stop: &AtomicBool,
) -> anyhow::Result<Opened> {
    let sender = config.confirm_settings()?.map(ConfirmationSender::new);
    let sender = sender.transpose()?;
    let bound = inherited.map_or_else(|| ServerSocket::bind(config.addr), Ok);
    let socket = match bound {
        // The previous server may be stopping. Opening its list waits for that.
        Err(error) if error.is_address_in_use() && has_list(store) => None,
        socket => Some(socket?),
    };
    let is_new = matches!(store, StoreLocation::Directory(_)) && !has_list(store);
    // Only before a list is created: otherwise visitors are not to wait until it is open.
    if let Some(socket) = &socket
        && is_new
    {
        socket.take_address()?;
    }
    let served = store.open_to_serve(runtime, must_stop)?;
    let socket = match socket {
        Some(socket) => socket,
        None => ServerSocket::bind(config.addr)?,
    };
    let state = AppState::new(config, Arc::clone(&served.list), sender);
    Ok(Opened {
        served,
        state,
        socket,
        is_new,
    })
}

/// Returns whether there is a list in a directory, so that opening it creates nothing.
fn has_list(store: &StoreLocation) -> bool {
    match store {
        StoreLocation::Directory(data) => SledWaitlist::exists_in(data).unwrap_or(false),
        StoreLocation::Database(_) => false,
    }
}

/// Logs the start and the end of each outage of the database.
async fn log_outages(mut outage: watch::Receiver<Option<Outage>>) {
    while outage.changed().await.is_ok() {
        let reason = outage
            .borrow_and_update()
            .as_ref()
            .map(|it| it.reason.clone());
        match reason {
            Some(reason) => tracing::error!(
                "the database is unavailable: {reason}; nobody can sign up until it is back, and the page shows the \
                 last count"
            ),
            None => tracing::info!("the database is available again"),
        }
    }
}
