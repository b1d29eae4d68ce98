//! The command's side of the control socket.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::{
    protocol::{
        Command, CompactionStep, ErrorMessage, PROTOCOL_VERSION, Reply, Request,
        SUPPRESSIONS_BATCH_SIZE, WireCorrectOutcome, WireEntry, WireJoinOutcome, WireSuppression,
    },
    socket::with_short_path,
};
use crate::{
    cli::list_error::ListError,
    waitlist::{
        Compaction, CorrectOutcome, Email, Erasure, JoinOutcome, Selection, SuppressionItem,
        Suppressions, WaitlistEntry, flatten_blocks,
    },
};

/// The list of a running server.
#[derive(Debug)]
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

    /// Returns the number of entries.
    ///
    /// # Errors
    /// [`ListError`]: the server does not respond, or rejects the request.
    pub(crate) fn count(&self) -> Result<u64, ListError> {
        self.send_command(Command::Count)?.read()
    }

    /// Adds entries of an import. Returns an outcome for each, once all are durable. Callers should send at most
    /// [`BATCH_SIZE`](super::BATCH_SIZE) at a time.
    ///
    /// # Errors
    /// See [`count`](Self::count). Some entries may have been added.
    pub(crate) fn join_all(
        &self,
        entries: &[WaitlistEntry],
    ) -> Result<Vec<JoinOutcome>, ListError> {
        let batch = entries.iter().map(WireEntry::from).collect();
        let joined: Vec<WireJoinOutcome> = self.send_command(Command::Join(batch))?.read()?;
        Ok(joined.into_iter().map(|WireJoinOutcome(it)| it).collect())
    }

    /// Erases addresses. Returns, for each, whether it was on the list.
    ///
    /// # Errors
    /// See [`count`](Self::count). Some addresses may have been erased.
    pub(crate) fn erase(&self, emails: &[Email], erasure: Erasure) -> Result<Vec<bool>, ListError> {
        self.send_addresses(emails, |addresses| Command::Erase { addresses, erasure })
    }

    /// Lifts the suppressions of those addresses that are on the list. Returns, for each, whether it is.
    ///
    /// # Errors
    /// See [`count`](Self::count). Some suppressions may be lifted.
    pub(crate) fn lift_listed(&self, emails: &[Email]) -> Result<Vec<bool>, ListError> {
        self.send_addresses(emails, Command::LiftListed)
    }

    /// Adds the suppressions of another list.
    ///
    /// # Errors
    /// See [`count`](Self::count). Some suppressions may have been added.
    pub(crate) fn add_suppressions(&self, items: &[SuppressionItem]) -> Result<(), ListError> {
        for some in items.chunks(SUPPRESSIONS_BATCH_SIZE) {
            let some = some.iter().cloned().map(WireSuppression::from).collect();
            self.send_command(Command::AddSuppressions(some))?
                .read::<()>()?;
        }
        Ok(())
    }

    /// Returns the suppressed addresses, and the keys of their hashes.
    ///
    /// # Errors
    /// See [`count`](Self::count).
    pub(crate) fn suppressions(&self) -> Result<Suppressions, ListError> {
        let mut replies = self.send_command(Command::Suppressions)?;
        let mut suppressions = Suppressions::default();
        loop {
            let batch: Vec<WireSuppression> = replies.read()?;
            if batch.is_empty() {
                return Ok(suppressions);
            }
            for item in batch.into_iter().filter_map(WireSuppression::parse) {
                suppressions.add(item);
            }
        }
    }

    /// Returns whether an address is suppressed.
    ///
    /// # Errors
    /// See [`count`](Self::count).
    pub(crate) fn is_suppressed(&self, email: &Email) -> Result<bool, ListError> {
        let address = email.as_typed().to_owned();
        self.send_command(Command::IsSuppressed(address))?.read()
    }

    /// Sends addresses in as many requests as they need. The response to each has a value for each address.
    pub(super) fn send_addresses(
        &self,
        emails: &[Email],
        command: impl Fn(Vec<String>) -> Command,
    ) -> Result<Vec<bool>, ListError> {
        let mut replies = Vec::with_capacity(emails.len());
        let (mut rest, mut bytes) = (emails, 0);
        while !rest.is_empty() {
            let fitting = rest.iter().take_while(|email| {
                bytes += email.as_typed().len();
                bytes <= ADDRESSES_MAX_BYTES
            });
            let (some, others) = rest.split_at(fitting.count().max(1));
            let addresses = some.iter().map(|email| email.as_typed().to_owned());
            let batch: Vec<bool> = self.send_command(command(addresses.collect()))?.read()?;
            replies.extend(batch);
            (rest, bytes) = (others, 0);
        }
        Ok(replies)
    }

    /// Gives the entry of one address another address.
    ///
    /// # Errors
    /// See [`count`](Self::count). The address may have been corrected.
    pub(crate) fn correct(&self, old: &Email, new: &Email) -> Result<CorrectOutcome, ListError> {
        let (old, new) = (old.as_typed().to_owned(), new.as_typed().to_owned());
        let outcome = self.send_command(Command::Correct { old, new })?.read();
        outcome.map(|WireCorrectOutcome(outcome)| outcome)
    }

    /// Rewrites the store. Reports the number of entries that are copied.
    ///
    /// # Errors
    /// See [`count`](Self::count).
    pub(crate) fn compact(
        &self,
        report_copied: &mut (dyn FnMut(u64) + Send),
    ) -> Result<Compaction, ListError> {
        let mut replies = self.send_command(Command::Compact)?;
        loop {
            match replies.read()? {
                CompactionStep::Copied(entries) => report_copied(entries),
                CompactionStep::Done {
                    bytes_before,
                    bytes_after,
                } => {
                    return Ok(Compaction {
                        bytes_before,
                        bytes_after,
                    });
                }
            }
        }
    }

    /// Returns the number of selected entries, and the entries.
    ///
    /// # Errors
    /// See [`count`](Self::count). The stream of entries can also fail in the middle.
    pub(crate) fn entries(
        &self,
        selection: Selection,
    ) -> Result<
        (
            u64,
            impl Iterator<Item = Result<WaitlistEntry, ListError>> + use<>,
        ),
        ListError,
    > {
        let mut replies = self.send_command(Command::entries(selection))?;
        let count = replies.read()?;
        let mut is_finished = false;
        let batches = std::iter::from_fn(move || {
            if is_finished {
                return None;
            }
            let batch: Result<Vec<WireEntry>, _> = replies.read();
            is_finished = batch.as_ref().map_or(true, Vec::is_empty);
            Some(batch)
        });
        let entries = flatten_blocks(batches);
        Ok((
            count,
            entries.map(|entry| entry.map(WireEntry::into_stored_entry)),
        ))
    }

    fn connect(&self) -> io::Result<UnixStream> {
        with_short_path(&self.data, |path| UnixStream::connect(path))
    }

    pub(super) fn send_command(&self, command: Command) -> Result<ReplyReader, ListError> {
        let request = Request {
            protocol: PROTOCOL_VERSION,
            command,
        };
        let exchange = || {
            let mut line = serde_json::to_vec(&request)?;
            line.push(b'\n');
            let mut stream = self.connect()?;
            stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
            stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
            stream.write_all(&line)?;
            Ok(ReplyReader(BufReader::with_capacity(1 << 16, stream)))
        };
        exchange().map_err(ListError::ServerNotResponding)
    }
}

/// Maximum size of the addresses in one request, in bytes. JSON needs at most six bytes for each byte, which stays
/// below the server's limit. A single command-line argument is never longer than this (execve(2)).
const ADDRESSES_MAX_BYTES: usize = 128 << 10;

/// Timeout for each read and write. Longer than the store's own timeouts.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

/// Reads the lines of a response.
pub(super) struct ReplyReader(BufReader<UnixStream>);

impl ReplyReader {
    pub(super) fn read<T: DeserializeOwned>(&mut self) -> Result<T, ListError> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line);
        read.map_err(ListError::ServerNotResponding)?;
        // The line is incomplete if the server has stopped.
        let reply: Reply<T> = serde_json::from_slice(&line)
            .map_err(|_| ListError::ServerNotResponding(io::ErrorKind::UnexpectedEof.into()))?;
        reply.map_err(|ErrorMessage(message)| ListError::RejectedByServer(message))
    }
}
