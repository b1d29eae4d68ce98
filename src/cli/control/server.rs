//! The server's end.

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
    BATCH_SIZE, Command, PROTOCOL, Reply, Request, WireEntry, from_millis,
    socket::{self, SocketFile},
    store_error_message,
};
use crate::waitlist::{Email, InvalidEmail, JoinOutcome, Selection, Waitlist};

/// Largest request, in bytes: many times what [`BATCH_SIZE`] of the longest entries take.
const REQUEST_MAX_BYTES: u64 = 1 << 20;

/// Connections served at a time; further ones wait in the kernel. Each takes a file and the memory for a
/// request, which the site needs too.
const CONNECTIONS_MAX: usize = 8;

/// Timeout for a request to arrive. Commands send it in one piece as soon as they are connected.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a command that stops reading its response: shorter than the other commands wait for a place.
const READER_TIMEOUT: Duration = Duration::from_secs(30);

/// The socket while it is served. It goes with this.
pub(crate) struct ControlServer {
    accept_task: JoinHandle<()>,
    /// Dropped last: until then the file exists, and connecting to it is refused.
    _socket_file: SocketFile,
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

/// Answers on the socket in the data directory, which this process must hold. Needs a runtime.
///
/// # Errors
/// When the socket can't be made there, or another process listens on it.
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
                // Who goes away early needs no answer.
                (Ok(permit), Ok((stream, _))) => {
                    drop(handlers.spawn(handle(stream, Arc::clone(&list), permit)));
                }
                // Of file handles, say: they come back.
                _ => sleep(Duration::from_millis(100)).await,
            },
            Some(_) = handlers.join_next() => {}
        }
    }
}

/// Reads one request and answers it. Holds `permit` until the response is sent.
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
        Ok(Command::Erasures) => to_line(&list.erased_count().await.map_err(store_error_message)),
        Ok(Command::Join(batch)) => to_line(&join_all(&*list, batch).await),
        Ok(Command::Erase(addresses)) => to_line(&erase(&*list, addresses).await),
        Ok(Command::Entries {
            since,
            until,
            newest_first,
        }) => {
            let selection = Selection {
                since: since.map(from_millis),
                until: until.map(from_millis),
                newest_first,
            };
            let stream = stream.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(READER_TIMEOUT))?;
            // It reads the disk, and waits for who reads the answer.
            thread::Builder::new().spawn(move || {
                let _permit = permit;
                send_entries(stream, list, selection)
            })?;
            return Ok(());
        }
        Err(why) => to_line(&Reply::<()>::Err(why)),
    };
    timeout(READER_TIMEOUT, stream.write_all(&reply)).await?
}

fn parse(line: &[u8]) -> Reply<Command> {
    let request = serde_json::from_slice::<Request>(line).ok();
    match request.filter(|request| request.protocol == PROTOCOL) {
        Some(request) => Ok(request.command),
        None => Err(
            "the server that runs here is of another version than this command: restart it".into(),
        ),
    }
}

async fn join_all(list: &dyn Waitlist, batch: Vec<WireEntry>) -> Reply<Vec<bool>> {
    let entries = batch.into_iter().map(WireEntry::parse);
    let entries = entries.collect::<Result<_, InvalidEmail>>();
    let entries = entries.map_err(|why| why.to_string())?;
    let joined = list.join_all(entries).await.map_err(store_error_message)?;
    Ok(joined.iter().map(|it| *it == JoinOutcome::New).collect())
}

async fn erase(list: &dyn Waitlist, addresses: Vec<String>) -> Reply<Vec<bool>> {
    // What stands there that is no address must be got rid of too.
    let emails: Vec<_> = addresses
        .iter()
        .map(|address| Email::from_stored(address))
        .collect();
    list.erase(&emails).await.map_err(store_error_message)
}

fn send_entries(
    stream: BlockingStream,
    list: Arc<dyn Waitlist>,
    selection: Selection,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let entries = list.entries(selection).map_err(store_error_message);
    // Who reads slowly must not keep the list from being closed.
    drop(list);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(why) => return out.write_all(&to_line(&Reply::<u64>::Err(why))),
    };
    out.write_all(&to_line(&Reply::Ok(entries.total_count())))?;
    loop {
        let batch = entries.by_ref().take(BATCH_SIZE);
        let batch = batch.map(|entry| {
            entry
                .as_ref()
                .map(WireEntry::from)
                .map_err(|error| store_error_message(error.clone()))
        });
        let batch: Reply<Vec<_>> = batch.collect();
        out.write_all(&to_line(&batch))?;
        if batch.is_ok_and(|batch| !batch.is_empty()) {
            continue;
        }
        return out.flush();
    }
}

fn to_line(reply: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(reply).unwrap_or_default();
    line.push(b'\n');
    line
}
