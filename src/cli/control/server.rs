//! The server's side of the control socket.

use std::{
    io::{self, BufWriter, Write},
    os::unix::net::UnixStream as BlockingStream,
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{
    ledger_handler::{self, LedgerResponse},
    protocol::{
        BATCH_SIZE, Command, CompactionStep, ErrorMessage, PROTOCOL_VERSION, Reply, Request,
        SUPPRESSIONS_BATCH_SIZE, WireCorrectOutcome, WireEntry, WireJoinOutcome, WireSuppression,
    },
    reply_line::{error_message, to_line},
    socket::{self, SocketFile},
};
use crate::waitlist::{
    Compaction, Email, Erasure, InvalidEmail, Selection, Source, Suppressions, Waitlist,
    from_unix_millis,
};

/// Maximum size of a request, in bytes: several times the size of [`BATCH_SIZE`] of the longest entries.
const REQUEST_MAX_BYTES: u64 = 1 << 20;

/// Maximum number of concurrent connections. Further ones wait in the kernel. Each needs a file descriptor and memory
/// for a request, which the site needs too.
const CONNECTIONS_MAX: usize = 8;

/// Timeout for a request to arrive. Commands send it in one piece immediately after connecting.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a command that stops reading its response. Shorter than the time other commands wait for a connection.
const CALLER_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after a failed `accept`, for example when there are no free file descriptors.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The control socket while it is served. Dropping it stops serving and removes the socket file.
pub(crate) struct ControlServer {
    accept_task: JoinHandle<()>,
    /// Dropped last. Until then the file exists, and connections to it are refused.
    _socket_file: SocketFile,
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

/// Serves the control socket of a data directory that this process has locked. Needs a runtime.
///
/// # Errors
/// When the socket cannot be created there, or another process listens on it.
pub(crate) fn listen(data: &Path, list: Arc<dyn Waitlist>) -> io::Result<ControlServer> {
    let (listener, socket_file) = socket::bind(data)?;
    Ok(ControlServer {
        accept_task: tokio::spawn(serve(listener, list)),
        _socket_file: socket_file,
    })
}

async fn serve(listener: UnixListener, list: Arc<dyn Waitlist>) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut handlers = JoinSet::new();
    loop {
        let connection = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, listener.accept().await)
        };
        tokio::select! {
            connection = connection => match connection {
                // The result of `handle` is ignored: an error means that the client has disconnected.
                (Ok(permit), Ok((stream, _))) => {
                    drop(handlers.spawn(handle(stream, Arc::clone(&list), permit)));
                }
                _ => sleep(ACCEPT_RETRY_INTERVAL).await,
            },
            Some(_) = handlers.join_next() => {}
        }
    }
}

/// Reads one request and responds. Holds `permit` until the response is sent.
async fn handle(
    mut stream: UnixStream,
    list: Arc<dyn Waitlist>,
    permit: OwnedSemaphorePermit,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(&mut stream).take(REQUEST_MAX_BYTES);
    timeout(REQUEST_TIMEOUT, reader.read_until(b'\n', &mut line)).await??;
    let reply = match parse(&line) {
        Ok(Command::Count) => to_line(&Reply::Ok(list.count())),
        Ok(Command::Join(batch)) => to_line(&join_all(&*list, batch).await),
        Ok(Command::Erase { addresses, erasure }) => {
            to_line(&erase(&*list, &addresses, erasure).await)
        }
        Ok(Command::LiftListed(addresses)) => to_line(&lift_listed(&*list, &addresses).await),
        Ok(Command::AddSuppressions(items)) => to_line(&add_suppressions(&*list, items).await),
        Ok(Command::IsSuppressed(address)) => {
            let is_suppressed = list.is_suppressed(&Email::from_stored(&address)).await;
            to_line(&is_suppressed.map_err(error_message))
        }
        Ok(Command::Suppressions) => match list.suppressions().await {
            Ok(suppressions) => {
                drop(list);
                let respond = move |stream| send_suppressions(stream, &suppressions);
                return respond_on_thread(stream, permit, respond);
            }
            Err(error) => to_line(&Reply::<()>::Err(error_message(error))),
        },
        Ok(Command::Ledger(command)) => match ledger_handler::handle(&*list, command).await {
            LedgerResponse::Line(line) => line,
            LedgerResponse::Deliveries(deliveries) => {
                drop(list);
                let respond = move |stream| ledger_handler::send_deliveries(stream, &deliveries);
                return respond_on_thread(stream, permit, respond);
            }
        },
        Ok(Command::Correct { old, new }) => to_line(&correct(&*list, &old, &new).await),
        Ok(Command::Compact) => {
            return respond_on_thread(stream, permit, move |stream| compact(stream, &*list));
        }
        Ok(Command::Entries {
            since,
            until,
            addresses,
            source,
            confirmed,
            newest_first,
        }) => match addresses.parse() {
            Ok(addresses) => {
                let selection = Selection {
                    since: since.map(from_unix_millis),
                    until: until.map(from_unix_millis),
                    addresses,
                    source: source.as_deref().map(Source::from_stored),
                    confirmed,
                    newest_first,
                };
                let respond = move |stream| send_entries(stream, list, selection);
                return respond_on_thread(stream, permit, respond);
            }
            Err(invalid) => to_line(&Reply::<()>::Err(invalid.into())),
        },
        Err(message) => to_line(&Reply::<()>::Err(message)),
    };
    timeout(CALLER_TIMEOUT, stream.write_all(&reply)).await?
}

/// Responds on a thread, because the response reads the disk and waits for the client.
fn respond_on_thread(
    stream: UnixStream,
    permit: OwnedSemaphorePermit,
    respond: impl FnOnce(BlockingStream) -> io::Result<()> + Send + 'static,
) -> io::Result<()> {
    let stream = stream.into_std()?;
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(CALLER_TIMEOUT))?;
    thread::Builder::new().spawn(move || {
        let _permit = permit;
        respond(stream)
    })?;
    Ok(())
}

fn parse(line: &[u8]) -> Reply<Command> {
    let request = serde_json::from_slice::<Request>(line).ok();
    match request.filter(|request| request.protocol == PROTOCOL_VERSION) {
        Some(request) => Ok(request.command),
        None => Err(
            "the running server and this command are different versions; restart the server".into(),
        ),
    }
}

async fn join_all(list: &dyn Waitlist, batch: Vec<WireEntry>) -> Reply<Vec<WireJoinOutcome>> {
    let entries = batch.into_iter().map(WireEntry::parse);
    let entries = entries.collect::<Result<_, InvalidEmail>>()?;
    let joined = list.join_all(entries).await.map_err(error_message)?;
    Ok(joined.into_iter().map(WireJoinOutcome).collect())
}

async fn erase(list: &dyn Waitlist, addresses: &[String], erasure: Erasure) -> Reply<Vec<bool>> {
    let erased = list.erase(&listed_emails(addresses), erasure).await;
    erased.map_err(error_message)
}

async fn lift_listed(list: &dyn Waitlist, addresses: &[String]) -> Reply<Vec<bool>> {
    let lifted = list.lift_listed(&listed_emails(addresses)).await;
    lifted.map_err(error_message)
}

/// Returns addresses of a request. They are not validated, so that invalid addresses on the list can be erased too.
fn listed_emails(addresses: &[String]) -> Vec<Email> {
    let emails = addresses.iter().map(|address| Email::from_stored(address));
    emails.collect()
}

async fn add_suppressions(list: &dyn Waitlist, items: Vec<WireSuppression>) -> Reply<()> {
    let items = items.into_iter().map(WireSuppression::parse);
    let items: Option<_> = items.collect();
    let items = items.ok_or(ErrorMessage(
        "the request has an invalid suppression".into(),
    ))?;
    list.add_suppressions(items).await.map_err(error_message)
}

async fn correct(list: &dyn Waitlist, old: &str, new: &str) -> Reply<WireCorrectOutcome> {
    // The old address may be invalid, like an address to erase.
    let (old, new) = (Email::from_stored(old), Email::parse(new)?);
    let outcome = list.correct(&old, &new).await.map_err(error_message)?;
    Ok(WireCorrectOutcome(outcome))
}

/// Compacts the store, and sends each step.
fn compact(mut stream: BlockingStream, list: &dyn Waitlist) -> io::Result<()> {
    // A client that has gone does not stop the compaction.
    let mut send = |step| drop(stream.write_all(&to_line(&Reply::Ok(step))));
    let compacted = list.compact(&mut |entries| send(CompactionStep::Copied(entries)));
    match &compacted {
        Ok(Compaction {
            bytes_before,
            bytes_after,
        }) => {
            tracing::info!(
                "compacted the waitlist: {bytes_before} bytes before, {bytes_after} after"
            )
        }
        Err(error) => tracing::warn!("{error}"),
    }
    let last = compacted.map(CompactionStep::from).map_err(error_message);
    stream.write_all(&to_line(&last))
}

fn send_suppressions(stream: BlockingStream, suppressions: &Suppressions) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let mut items = suppressions.items().map(WireSuppression::from);
    loop {
        let batch: Vec<_> = items.by_ref().take(SUPPRESSIONS_BATCH_SIZE).collect();
        let is_last = batch.is_empty();
        out.write_all(&to_line(&Reply::Ok(batch)))?;
        if is_last {
            return out.flush();
        }
    }
}

fn send_entries(
    stream: BlockingStream,
    list: Arc<dyn Waitlist>,
    selection: Selection,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let entries = list.entries(selection).map_err(error_message);
    // A slow client must not prevent the list from being closed.
    drop(list);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(message) => return out.write_all(&to_line(&Reply::<u64>::Err(message))),
    };
    out.write_all(&to_line(&Reply::Ok(entries.selected_count())))?;
    loop {
        let batch = entries.by_ref().take(BATCH_SIZE);
        let batch = batch.map(|entry| match entry {
            Ok(entry) => Ok(WireEntry::from(&entry)),
            Err(error) => Err(error_message(error)),
        });
        let batch: Reply<Vec<_>> = batch.collect();
        out.write_all(&to_line(&batch))?;
        if batch.is_ok_and(|batch| !batch.is_empty()) {
            continue;
        }
        return out.flush();
    }
}
