//! The server's side of the control socket.

use std::{
    io::{self, BufWriter, Write},
    os::unix::net::UnixStream as BlockingStream,
    path::Path,
    sync::Arc,
    thread,
    time::Duration,
};

use serde::Serialize;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{OwnedSemaphorePermit, Semaphore},
    task::{JoinHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{
    protocol::{Call, PROTOCOL_VERSION, Reply, Request},
    socket::{self, SocketFile},
};
use crate::waitlist::{BackupItem, CALL_MAX, StoreError, Waitlist};

/// Maximum size of a request, in bytes: several times the size of [`CALL_MAX`] of the longest entries.
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
    let reply = match read_call(&mut stream).await? {
        Err(error) => to_line(&Reply::<()>::Err(error)),
        Ok(Call::Size) => to_line(&list.size().await),
        Ok(Call::JoinAll(entries)) => to_line(&list.join_all(entries).await),
        Ok(Call::Erase(emails, erasure)) => to_line(&list.erase(&emails, erasure).await),
        Ok(Call::AreListed(emails)) => to_line(&list.are_listed(&emails).await),
        Ok(Call::Key) => to_line(&list.key().await),
        Ok(Call::Suppress(emails)) => to_line(&list.suppress(&emails).await),
        Ok(Call::Lift(emails)) => to_line(&list.lift(&emails).await),
        Ok(Call::IsSuppressed(email)) => to_line(&list.is_suppressed(&email).await),
        Ok(Call::Correct(old, new)) => to_line(&list.correct(&old, &new).await),
        Ok(Call::Compact) => to_line(&list.compact().await),
        Ok(Call::Recount) => to_line(&list.recount().await),
        Ok(Call::Messages) => to_line(&list.messages().await),
        Ok(Call::AddMessage(message)) => to_line(&list.add_message(message).await),
        Ok(Call::AddDeliveries(message, known, deliveries)) => {
            to_line(&list.add_deliveries(&message, known, deliveries).await)
        }
        Ok(Call::BeginDeliveries(message, deliveries)) => {
            to_line(&list.begin_deliveries(&message, deliveries).await)
        }
        Ok(Call::FinishDeliveries(message, results)) => {
            to_line(&list.finish_deliveries(&message, results).await)
        }
        Ok(Call::Deliveries(message)) => {
            let deliveries = list.deliveries(&message).await;
            drop(list);
            return respond_on_thread(stream, permit, |stream| {
                let deliveries = deliveries.map(|it| (it.len() as u64, it.into_iter().map(Ok)));
                send_many(stream, deliveries)
            });
        }
        Ok(Call::Suppressions) => {
            let suppressions = list.suppressions().await;
            drop(list);
            return respond_on_thread(stream, permit, move |stream| {
                let suppressions = suppressions.as_ref().map_err(StoreError::clone);
                let items = suppressions
                    .map(|it| (it.len() as u64, BackupItem::of_suppressions(it).map(Ok)));
                send_many(stream, items)
            });
        }
        Ok(Call::Entries(selection)) => {
            return respond_on_thread(stream, permit, |stream| {
                let entries = list.entries(selection);
                // A slow client must not prevent the list from being closed.
                drop(list);
                send_many(stream, entries.map(|it| (it.selected_count(), it)))
            });
        }
    };
    timeout(CALLER_TIMEOUT, stream.write_all(&reply)).await?
}

/// Reads a request. Returns the error to reply with if it is of another version.
async fn read_call(stream: &mut UnixStream) -> io::Result<Reply<Call>> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(stream).take(REQUEST_MAX_BYTES);
    timeout(REQUEST_TIMEOUT, reader.read_until(b'\n', &mut line)).await??;
    let request = serde_json::from_slice::<Request>(&line).ok();
    let request = request.filter(|request| request.protocol == PROTOCOL_VERSION);
    let request = request.ok_or(StoreError::OtherVersion);
    Ok(request.map(|request| request.call))
}

fn to_line(reply: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_default();
    line.push(b'\n');
    line
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

/// Sends the number of items, and the items in lines. A failed item is the last one.
fn send_many<T: Serialize>(
    stream: BlockingStream,
    items: Reply<(u64, impl Iterator<Item = Reply<T>>)>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let (count, mut items) = match items {
        Ok(items) => items,
        Err(error) => return out.write_all(&to_line(&Reply::<u64>::Err(error))),
    };
    out.write_all(&to_line(&Reply::Ok(count)))?;
    loop {
        let batch: Reply<Vec<_>> = items.by_ref().take(CALL_MAX).collect();
        out.write_all(&to_line(&batch))?;
        if batch.is_ok_and(|batch| !batch.is_empty()) {
            continue;
        }
        return out.flush();
    }
}
