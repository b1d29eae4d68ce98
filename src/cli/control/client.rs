//! The command's side of the control socket.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use serde::de::DeserializeOwned;
use tokio::task::spawn_blocking;

use super::{
    protocol::{Call, PROTOCOL_VERSION, Reply, Request},
    socket::with_short_path,
};
use crate::waitlist::{
    Compaction, CorrectOutcome, Delivery, DeliveryResult, DeliveryStart, Email, EntryStream,
    Erasure, JoinOutcome, Ledger, ListKey, Message, MessageId, OwnerList, Selection, StoreError,
    StoreFuture, Suppressions, WaitlistEntry, flatten_blocks,
};

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

    /// Makes a call whose response is one line.
    fn call<T: DeserializeOwned + Send + 'static>(&self, call: Call) -> StoreFuture<'static, T> {
        let client = self.clone();
        Box::pin(async move {
            let read = spawn_blocking(move || client.send(call)?.read());
            read.await.map_err(|_| StoreError::Stopped)?
        })
    }

    fn send(&self, call: Call) -> Reply<ReplyReader> {
        let request = Request {
            protocol: PROTOCOL_VERSION,
            call,
        };
        let exchange = || {
            let mut line = serde_json::to_vec(&request)?;
            line.push(b'\n');
            let mut stream = self.connect()?;
            stream.write_all(&line)?;
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

impl OwnerList for ControlClient {
    fn join_all(&self, entries: Vec<WaitlistEntry>) -> StoreFuture<'_, Vec<JoinOutcome>> {
        self.call(Call::JoinAll(entries))
    }

    fn erase(&self, emails: &[Email], erasure: Erasure) -> StoreFuture<'_, Vec<bool>> {
        self.call(Call::Erase(emails.to_vec(), erasure))
    }

    fn are_listed(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.call(Call::AreListed(emails.to_vec()))
    }

    fn list_key(&self) -> StoreFuture<'_, ListKey> {
        self.call(Call::ListKey)
    }

    fn suppress(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.call(Call::Suppress(emails.to_vec()))
    }

    fn lift(&self, emails: &[Email]) -> StoreFuture<'_, Vec<bool>> {
        self.call(Call::Lift(emails.to_vec()))
    }

    fn suppressions(&self) -> StoreFuture<'_, Suppressions> {
        self.call(Call::Suppressions)
    }

    fn is_suppressed(&self, email: &Email) -> StoreFuture<'_, bool> {
        self.call(Call::IsSuppressed(email.clone()))
    }

    fn correct(&self, old: &Email, new: &Email) -> StoreFuture<'_, CorrectOutcome> {
        self.call(Call::Correct(old.clone(), new.clone()))
    }

    fn compact(&self) -> StoreFuture<'_, Compaction> {
        self.call(Call::Compact)
    }

    fn recount(&self) -> StoreFuture<'_, i64> {
        self.call(Call::Recount)
    }

    fn entries(&self, selection: Selection) -> Reply<EntryStream> {
        let mut replies = self.send(Call::Entries(selection))?;
        let count = replies.read()?;
        Ok(EntryStream::new(count, flatten_blocks(replies.batches())))
    }
}

impl Ledger for ControlClient {
    fn messages(&self) -> StoreFuture<'_, Vec<Message>> {
        self.call(Call::Messages)
    }

    fn add_message(&self, message: Message) -> StoreFuture<'_, ()> {
        self.call(Call::AddMessage(message))
    }

    fn deliveries(&self, message: &MessageId) -> StoreFuture<'_, Vec<Delivery>> {
        self.call(Call::Deliveries(message.clone()))
    }

    fn add_deliveries(
        &self,
        message: &MessageId,
        known: u32,
        deliveries: Vec<Delivery>,
    ) -> StoreFuture<'_, bool> {
        self.call(Call::AddDeliveries(message.clone(), known, deliveries))
    }

    fn begin_deliveries(
        &self,
        message: &MessageId,
        deliveries: Vec<DeliveryStart>,
    ) -> StoreFuture<'_, Vec<bool>> {
        self.call(Call::BeginDeliveries(message.clone(), deliveries))
    }

    fn finish_deliveries(
        &self,
        message: &MessageId,
        results: Vec<DeliveryResult>,
    ) -> StoreFuture<'_, ()> {
        self.call(Call::FinishDeliveries(message.clone(), results))
    }
}
