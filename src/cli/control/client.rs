//! The command's end.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::{Command, PROTOCOL, Reply, Request, WireEntry, socket::with_short_path};
use crate::waitlist::{Email, Selection, WaitlistEntry};

/// The list of a server that runs.
#[derive(Debug)]
pub(crate) struct ControlClient {
    data: PathBuf,
}

impl ControlClient {
    /// The server that holds the list in the data directory `data`, if one does.
    ///
    /// # Errors
    /// When it can't be told, most of all because the directory is somebody else's.
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

    /// How many are on the list.
    ///
    /// # Errors
    /// A sentence for the owner, like all of them here: the server has stopped, or can't answer.
    pub(crate) fn count(&self) -> Result<u64, String> {
        self.send_command(Command::Count)?.read()
    }

    /// How many were ever erased.
    ///
    /// # Errors
    /// See [`count`](Self::count).
    pub(crate) fn erased_count(&self) -> Result<u64, String> {
        self.send_command(Command::Erasures)?.read()
    }

    /// Puts entries on the list and says whether each is new, once they are durable. At most
    /// [`BATCH_SIZE`](super::BATCH_SIZE) should come at a time.
    ///
    /// # Errors
    /// See [`count`](Self::count); some may be on the list.
    pub(crate) fn join_all(&self, entries: &[WaitlistEntry]) -> Result<Vec<bool>, String> {
        let batch = entries.iter().map(WireEntry::from).collect();
        self.send_command(Command::Join(batch))?.read()
    }

    /// Takes addresses off the list and says whether each was on it.
    ///
    /// # Errors
    /// See [`count`](Self::count); some may be off the list.
    pub(crate) fn erase(&self, emails: &[Email]) -> Result<Vec<bool>, String> {
        let mut erased = Vec::with_capacity(emails.len());
        let (mut rest, mut bytes) = (emails, 0);
        while !rest.is_empty() {
            let fitting = rest.iter().take_while(|email| {
                bytes += email.as_typed().len();
                bytes <= ERASE_BATCH_MAX_BYTES
            });
            let (some, others) = rest.split_at(fitting.count().max(1));
            let addresses = some.iter().map(|email| email.as_typed().to_owned());
            let erased_batch: Vec<bool> = self
                .send_command(Command::Erase(addresses.collect()))?
                .read()?;
            erased.extend(erased_batch);
            (rest, bytes) = (others, 0);
        }
        Ok(erased)
    }

    /// The count, and the selected entries.
    ///
    /// # Errors
    /// See [`count`](Self::count), also in the middle.
    pub(crate) fn entries(
        &self,
        selection: Selection,
    ) -> Result<
        (
            u64,
            impl Iterator<Item = Result<WaitlistEntry, String>> + use<>,
        ),
        String,
    > {
        let mut replies = self.send_command(Command::entries(selection))?;
        let count = replies.read()?;
        let mut is_finished = false;
        let batch = std::iter::from_fn(move || {
            if is_finished {
                return None;
            }
            let batch: Result<Vec<WireEntry>, _> = replies.read();
            is_finished = batch.as_ref().map_or(true, Vec::is_empty);
            Some(batch)
        });
        let entries = batch.flat_map(|batch| {
            let (batch, error) = match batch {
                Ok(batch) => (batch, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            let entries = batch.into_iter().map(|entry| Ok(entry.into_stored_entry()));
            entries.chain(error)
        });
        Ok((count, entries))
    }

    fn connect(&self) -> io::Result<UnixStream> {
        with_short_path(&self.data, |path| UnixStream::connect(path))
    }

    fn send_command(&self, command: Command) -> Result<ReplyReader, String> {
        let request = Request {
            protocol: PROTOCOL,
            command,
        };
        let send = || {
            let mut line = serde_json::to_vec(&request)?;
            line.push(b'\n');
            let mut stream = self.connect()?;
            stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
            stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
            stream.write_all(&line)?;
            Ok(ReplyReader(BufReader::with_capacity(1 << 16, stream)))
        };
        send().map_err(|error: io::Error| format!("{NOT_RESPONDING} ({error})"))
    }
}

/// Maximum size of the addresses in one request, in bytes. JSON needs at most six bytes for each, which stays
/// below the server's limit. A single argument is never longer than this (execve(2)).
const ERASE_BATCH_MAX_BYTES: usize = 128 << 10;

/// How long a server may be silent: longer than the list may take for an answer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(60);

const NOT_RESPONDING: &str = "the server does not answer; if it was stopped, run this again";

/// What it answers.
struct ReplyReader(BufReader<UnixStream>);

impl ReplyReader {
    fn read<T: DeserializeOwned>(&mut self) -> Reply<T> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line);
        read.map_err(|error| format!("{NOT_RESPONDING} ({error})"))?;
        serde_json::from_slice(&line).map_err(|_| NOT_RESPONDING.to_owned())?
    }
}
