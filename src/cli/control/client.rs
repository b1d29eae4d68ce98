//! The command's end.

use std::{
    io::{self, BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::{Ask, PROTOCOL, Person, Reply, Request, socket::with_path};
use crate::waitlist::{Email, Entry, Selection};

/// The list of a server that runs.
#[derive(Debug)]
pub(crate) struct Remote {
    data: PathBuf,
}

impl Remote {
    /// The server that holds the list in the data directory `data`, if one does.
    ///
    /// # Errors
    /// When it can't be told, most of all because the directory is somebody else's.
    pub(crate) fn find(data: &Path) -> io::Result<Option<Self>> {
        let remote = Self {
            data: data.to_owned(),
        };
        match remote.connect() {
            Ok(_) => Ok(Some(remote)),
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
        self.ask(Ask::Count)?.next()
    }

    /// How many were ever erased.
    ///
    /// # Errors
    /// See [`count`](Self::count).
    pub(crate) fn erasures(&self) -> Result<u64, String> {
        self.ask(Ask::Erasures)?.next()
    }

    /// Puts entries on the list and says whether each is new, once they are durable. At most
    /// [`TOGETHER`](super::TOGETHER) should come at a time.
    ///
    /// # Errors
    /// See [`count`](Self::count); some may be on the list.
    pub(crate) fn join_all(&self, entries: &[Entry]) -> Result<Vec<bool>, String> {
        let people = entries.iter().map(Person::from).collect();
        self.ask(Ask::Join(people))?.next()
    }

    /// Takes addresses off the list and says whether each was on it.
    ///
    /// # Errors
    /// See [`count`](Self::count); some may be off the list.
    pub(crate) fn erase(&self, emails: &[Email]) -> Result<Vec<bool>, String> {
        let mut erased = Vec::with_capacity(emails.len());
        let (mut rest, mut bytes) = (emails, 0);
        while !rest.is_empty() {
            let together = rest.iter().take_while(|email| {
                bytes += email.as_typed().len();
                bytes <= ERASE_BYTES
            });
            let (some, others) = rest.split_at(together.count().max(1));
            let addresses = some.iter().map(|email| email.as_typed().to_owned());
            let gone: Vec<bool> = self.ask(Ask::Erase(addresses.collect()))?.next()?;
            erased.extend(gone);
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
    ) -> Result<(u64, impl Iterator<Item = Result<Entry, String>> + use<>), String> {
        let mut lines = self.ask(Ask::entries(selection))?;
        let count = lines.next()?;
        let mut is_over = false;
        let people = std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let people: Result<Vec<Person>, _> = lines.next();
            is_over = people.as_ref().map_or(true, Vec::is_empty);
            Some(people)
        });
        let entries = people.flat_map(|people| {
            let (people, error) = match people {
                Ok(people) => (people, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            let entries = people.into_iter().map(|person| Ok(person.kept()));
            entries.chain(error)
        });
        Ok((count, entries))
    }

    fn connect(&self) -> io::Result<UnixStream> {
        with_path(&self.data, |path| UnixStream::connect(path))
    }

    fn ask(&self, ask: Ask) -> Result<Lines, String> {
        let request = Request {
            protocol: PROTOCOL,
            ask,
        };
        let send = || {
            let mut line = serde_json::to_vec(&request)?;
            line.push(b'\n');
            let mut stream = self.connect()?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            stream.write_all(&line)?;
            Ok(Lines(BufReader::with_capacity(1 << 16, stream)))
        };
        send().map_err(|error: io::Error| format!("{GONE} ({error})"))
    }
}

/// Maximum size of the addresses in one request, in bytes. JSON needs at most six bytes for each, which stays
/// below the server's limit. A single argument is never longer than this (execve(2)).
const ERASE_BYTES: usize = 128 << 10;

/// How long a server may be silent: longer than the list may take for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

const GONE: &str = "the server does not answer; if it was stopped, run this again";

/// What it answers.
struct Lines(BufReader<UnixStream>);

impl Lines {
    fn next<T: DeserializeOwned>(&mut self) -> Reply<T> {
        let mut line = Vec::new();
        let read = self.0.read_until(b'\n', &mut line);
        read.map_err(|error| format!("{GONE} ({error})"))?;
        serde_json::from_slice(&line).map_err(|_| GONE.to_owned())?
    }
}
