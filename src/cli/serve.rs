//! `landing serve`: opens the list, and serves the site until a signal stops it.

use std::{
    io,
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
    sync::watch,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    arguments,
    control::{self, ControlServer},
    enter_runtime, fd_limit, list_error,
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
    server::{AppState, WebhookSender, run_webhook, serve},
    waitlist::{Outage, SledWaitlist, Waitlist},
};

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    /// Check the settings, the address and a database, print them, and exit without serving
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
    let ignores_database_url = store.ignores_database_url();
    let store = store.location()?;
    let _log = log::start(config.log, config.log_level).context("cannot start the log")?;
    let inherited = inherited?;
    for warning in arguments::unknown_variable_warnings() {
        tracing::warn!("{warning}");
    }
    if ignores_database_url {
        tracing::warn!("DATABASE_URL is ignored, because LANDING_DATA is set");
    }
    config.max_connections = fd_limit::raise_for(config.max_connections);
    check_clock()?;
    if check {
        warn_of_settings(&config);
        let _entered = enter_runtime()?;
        return serve_check::run(&store, &config, inherited);
    }
    let runtime = Runtime::new().context("cannot start the runtime")?;
    let result = open_and_serve(&store, &config, inherited, &runtime);
    if matches!(store, StoreLocation::Database(_)) {
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

/// Opens the list, and serves the site. A signal before the list is open ends the process, which leaves the list intact like a
/// kill.
fn open_and_serve(
    store: &StoreLocation,
    config: &Config,
    inherited: Option<ServerSocket>,
    runtime: &Runtime,
) -> anyhow::Result<()> {
    let _entered = runtime.enter();
    // Before anything that takes time: process 1 of a container does not receive a signal that it has no handler for.
    let signals = Signals::new().context("cannot receive signals")?;
    let is_open = Arc::new(AtomicBool::new(false));
    let must_serve = Arc::clone(&is_open);
    let message =
        format!("stopped by a signal while opening the waitlist in {store}; nobody on it is lost");
    on_interrupt(move || (!must_serve.load(Ordering::Relaxed)).then(|| message.clone()))
        .context("cannot receive signals")?;
    let opened = thread::scope(|scope| {
        let open = || open(store, config, inherited, runtime.handle());
        scope.spawn(open).join()
    });
    let opened = opened
        .map_err(|_| anyhow!("cannot open the waitlist or render the site; see the log above"))??;
    is_open.store(true, Ordering::Relaxed);
    runtime.block_on(serve_until_stopped(store, config, opened, signals))
}

async fn serve_until_stopped(
    store: &StoreLocation,
    config: &Config,
    opened: Opened,
    mut signals: Signals,
) -> anyhow::Result<()> {
    let Opened {
        served: ServedList { list, outage },
        state,
        webhook,
        socket,
        is_new,
    } = opened;
    let _watchdog = service_manager::start_watchdog(Arc::clone(&list));
    if let Some(outage) = outage {
        tokio::spawn(log_outages(outage));
    }
    // Dropped, it ends at once. An event without a response is sent again after the next start.
    let _webhook = webhook.map(|sender| {
        let list = Arc::clone(&list);
        let run = async move { run_webhook(&sender, &*list).await };
        AbortOnDropHandle::new(tokio::spawn(run))
    });
    warn_of_settings(config);
    let is_inherited = socket.is_inherited();
    let listener = socket.listen()?;
    let addr = listener.local_addr()?;
    let _control = listen_for_commands(store, Arc::clone(&list));
    if is_inherited {
        tracing::info!("using the socket of the service manager; --addr is ignored");
    }
    let name = if is_new {
        "a new and empty waitlist"
    } else {
        "the waitlist"
    };
    tracing::info!("serving on http://{addr}, {name} in {store}");
    service_manager::notify(NotifyState::Ready);
    let shutdown_grace = Duration::from_secs(config.shutdown_grace);
    serve(listener, state, shutdown_grace, async || {
        signals.next().await;
        service_manager::notify(NotifyState::Stopping);
    })
    .await;
    // The list is closed next, which takes long if its disk hangs.
    let message = "stopped by another signal before the waitlist was closed; all acknowledged sign-ups are kept";
    on_interrupt(|| Some(message.to_owned())).context("cannot receive signals")?;
    // If its files were removed, the process must not say that everybody is stored. The other errors have been logged.
    let _ = list.ready().await;
    Ok(())
}

/// Opens the control socket, by which commands reach a list in a directory. They connect to a database directly.
fn listen_for_commands(store: &StoreLocation, list: Arc<dyn Waitlist>) -> Option<ControlServer> {
    let StoreLocation::Directory(data) = store else {
        return None;
    };
    let warn = |error: &io::Error| {
        // The site works without it.
        tracing::warn!(
            "cannot create the control socket: {error}; commands such as `landing list` do not work while this server \
             runs; choose a directory that allows sockets with --store"
        );
    };
    control::listen(data, list).inspect_err(warn).ok()
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

fn warn_of_settings(config: &Config) {
    if config.invites && !config.confirms() {
        tracing::warn!(
            "--invites is set without --confirm-signups: anybody can move up in line by typing in addresses of others"
        );
    }
    if config.origin.is_none() {
        tracing::warn!(
            "--origin is not set: links, previews and the sitemap point to {}; set it to the public URL of this site",
            copy::ORIGIN
        );
    }
}

/// Everything that the first request needs.
struct Opened {
    served: ServedList,
    state: AppState,
    webhook: Option<WebhookSender>,
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
) -> anyhow::Result<Opened> {
    let (mut sender, webhook) = serve_check::read_senders(config)?;
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
    let served = store.open_to_serve(runtime)?;
    let socket = match socket {
        Some(socket) => socket,
        None => ServerSocket::bind(config.addr)?,
    };
    let begin = async {
        let pending = served.list.pending_events().await?;
        if webhook.is_none() && pending.is_some_and(|it| it.count > 0) {
            tracing::warn!(
                "events that waited for the webhook are dropped, because --webhook is not set"
            );
        }
        // Without a webhook, events would only wait.
        served.list.record_events(webhook.is_some()).await?;
        match &mut sender {
            Some(sender) => sender.begin_welcome(&*served.list).await,
            None => Ok(()),
        }
    };
    let begun = runtime.block_on(begin);
    begun
        .map_err(|error| list_error::describe(&error, &store.to_string()))
        .context("cannot note in the waitlist what the webhook and the welcome message need")?;
    let state = AppState::new(config, Arc::clone(&served.list), sender);
    Ok(Opened {
        served,
        state,
        webhook,
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
