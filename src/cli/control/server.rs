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
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    calls::{Call, PROTOCOL_VERSION, Request, respond, to_line},
    socket::{self, Reply, SocketFile},
};
use crate::waitlist::{CALL_MAX, Selection, StoreError, Waitlist};

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
    _accept_task: AbortOnDropHandle<()>,
    /// Dropped last. Until then the file exists, and connections to it are refused.
    _socket_file: SocketFile,
}

/// Serves the control socket of a data directory that this process has locked. Needs a runtime.
///
/// # Errors
/// When the socket cannot be created there, or another process listens on it.
pub(crate) fn listen(data: &Path, list: Arc<dyn Waitlist>) -> io::Result<ControlServer> {
    let (listener, socket_file) = socket::bind(data)?;
    Ok(ControlServer {
        _accept_task: AbortOnDropHandle::new(tokio::spawn(serve(listener, list))),
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
        Err(error) => to_line(&Reply::<()>::Err(error))?,
        Ok(Call::Method(method)) => respond(&*list, method).await?,
        Ok(Call::Entries(selection)) => {
            let stream = stream.into_std()?;
            thread::Builder::new().spawn(move || send_entries(stream, list, selection, permit))?;
            return Ok(());
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

/// Sends the number of selected entries, and the entries in lines. A failed one is the last one. It runs on a thread,
/// because it reads the disk and waits for the client. Holds `permit` until the response is sent.
fn send_entries(
    stream: BlockingStream,
    list: Arc<dyn Waitlist>,
    selection: Selection,
    _permit: OwnedSemaphorePermit,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(CALLER_TIMEOUT))?;
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let entries = list.entries(selection);
    // A slow client must not prevent the list from being closed.
    drop(list);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return out.write_all(&to_line(&Reply::<u64>::Err(error))?),
    };
    out.write_all(&to_line(&Reply::Ok(entries.selected_count()))?)?;
    loop {
        let batch: Reply<Vec<_>> = entries.by_ref().take(CALL_MAX).collect();
        out.write_all(&to_line(&batch)?)?;
        if !batch.is_ok_and(|batch| !batch.is_empty()) {
            return out.flush();
        }
    }
}
