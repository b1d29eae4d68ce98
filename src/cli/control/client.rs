//! The command's side of the control socket.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;

use super::socket::{Reply, with_short_path};
use crate::waitlist::{EntryStream, StoreError, StoreFuture, flatten_blocks};

/// The list of a running server. A call waits as long as the server works on it: a compaction can take minutes. If the server
/// ends, the connection does.
#[derive(Clone, Debug)]
pub(crate) struct ControlClient {
    data: PathBuf,
}

impl ControlClient {
    /// Finds the server that holds the list in the data directory `data`, if one does.
    ///
    /// # Errors
    /// When the socket is inaccessible, usually because the directory belongs to another user.
    pub(crate) fn find(data: &Path) -> io::Result<Option<Self>> {
        let client = Self {
            data: data.to_owned(),
        };
        match client.connect() {
            Ok(_) => Ok(Some(client)),
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
                _ => Err(error),
            },
        }
    }

    fn connect(&self) -> io::Result<UnixStream> {
        with_short_path(&self.data, |path| UnixStream::connect(path))
    }

    /// Sends the line of a request whose response is one line.
    pub(super) fn call<T>(&self, request: io::Result<Vec<u8>>) -> StoreFuture<'static, T>
    where
        T: DeserializeOwned + Send + 'static,
    {
        let client = self.clone();
        Box::pin(async move {
            let read = spawn_blocking(move || client.send(request)?.read());
            read.await.map_err(|_| StoreError::Stopped)?
        })
    }

    /// Sends the line of a request for entries.
    pub(super) fn read_entries(&self, request: io::Result<Vec<u8>>) -> Reply<EntryStream> {
        let mut replies = self.send(request)?;
        let count = replies.read()?;
        Ok(EntryStream::new(count, flatten_blocks(replies.batches())))
    }

    fn send(&self, request: io::Result<Vec<u8>>) -> Reply<ReplyReader> {
        let exchange = || {
            let mut stream = self.connect()?;
            stream.write_all(&request?)?;
            Ok(ReplyReader(BufReader::with_capacity(1 << 16, stream)))
        };
        exchange().map_err(not_responding)
    }
}

/// Reads the lines of a response.
struct ReplyReader(BufReader<UnixStream>);

impl ReplyReader {
    fn read<T: DeserializeOwned>(&mut self) -> Reply<T> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line);
        read.map_err(not_responding)?;
        if !line.ends_with(b"\n") {
            // The server has stopped.
            return Err(not_responding(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_slice(&line).map_err(|_| StoreError::OtherVersion)?
    }

    /// Reads the lines of items, up to the empty one.
    fn batches<T: DeserializeOwned>(mut self) -> impl Iterator<Item = Reply<Vec<T>>> {
        let mut is_finished = false;
        std::iter::from_fn(move || {
            if is_finished {
                return None;
            }
            let batch: Reply<Vec<T>> = self.read();
            is_finished = batch.as_ref().map_or(true, Vec::is_empty);
            Some(batch)
        })
    }
}

fn not_responding(error: io::Error) -> StoreError {
    StoreError::ServerNotResponding(error.to_string().into())
}
