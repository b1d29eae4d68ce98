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
    Ask, PROTOCOL, Person, Reply, Request, TOGETHER, advice,
    socket::{self, Bound},
    time,
};
use crate::waitlist::{Email, InvalidEmail, Joined, Selection, Waitlist};

/// Largest request, in bytes: many times what [`TOGETHER`] of the longest entries take.
const REQUEST_MAX: u64 = 1 << 20;

/// Connections served at a time; further ones wait in the kernel. Each takes a file and the memory for a
/// request, which the site needs too.
const CONNECTIONS_MAX: usize = 8;

/// Timeout for a request to arrive. Commands send it in one piece as soon as they are connected.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a command that stops reading its response: shorter than the other commands wait for a place.
const READER_TIMEOUT: Duration = Duration::from_secs(30);

/// The socket while it is served. It goes with this.
pub(crate) struct Control {
    serving: JoinHandle<()>,
    /// Dropped last: until then the file exists, and connecting to it is refused.
    _bound: Bound,
}

impl Drop for Control {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers on the socket in the data directory, which this process must hold. Needs a runtime.
///
/// # Errors
/// When the socket can't be made there, or another process listens on it.
pub(crate) fn listen(data: &Path, list: Arc<dyn Waitlist>) -> io::Result<Control> {
    let (listener, bound) = socket::bind(data)?;
    Ok(Control {
        serving: tokio::spawn(serve(listener, list)),
        _bound: bound,
    })
}

async fn serve(listener: UnixListener, list: Arc<dyn Waitlist>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut answering = JoinSet::new();
    loop {
        let connection = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        tokio::select! {
            connection = connection => match connection {
                // Who goes away early needs no answer.
                (Ok(place), Ok((stream, _))) => {
                    drop(answering.spawn(answer(stream, Arc::clone(&list), place)));
                }
                // Of file handles, say: they come back.
                _ => sleep(Duration::from_millis(100)).await,
            },
            Some(_) = answering.join_next() => {}
        }
    }
}

/// Reads one request and answers it. Holds `place` until the response is sent.
async fn answer(
    mut stream: UnixStream,
    list: Arc<dyn Waitlist>,
    place: OwnedSemaphorePermit,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut reader = BufReader::new(&mut stream).take(REQUEST_MAX);
    timeout(REQUEST_TIMEOUT, reader.read_until(b'\n', &mut line)).await??;
    let answer = match parse(&line) {
        Ok(Ask::Count) => to_line(&Reply::Ok(list.count())),
        Ok(Ask::Erasures) => to_line(&list.erasures().await.map_err(advice)),
        Ok(Ask::Join(people)) => to_line(&join(&*list, people).await),
        Ok(Ask::Erase(addresses)) => to_line(&erase(&*list, addresses).await),
        Ok(Ask::Entries {
            since,
            until,
            newest_first,
        }) => {
            let selection = Selection {
                since: since.map(time),
                until: until.map(time),
                newest_first,
            };
            let stream = stream.into_std()?;
            stream.set_nonblocking(false)?;
            stream.set_write_timeout(Some(READER_TIMEOUT))?;
            // It reads the disk, and waits for who reads the answer.
            thread::Builder::new().spawn(move || {
                let _until_its_end = place;
                send_entries(stream, list, selection)
            })?;
            return Ok(());
        }
        Err(why) => to_line(&Reply::<()>::Err(why)),
    };
    timeout(READER_TIMEOUT, stream.write_all(&answer)).await?
}

fn parse(line: &[u8]) -> Reply<Ask> {
    let request = serde_json::from_slice::<Request>(line).ok();
    match request.filter(|request| request.protocol == PROTOCOL) {
        Some(request) => Ok(request.ask),
        None => Err(
            "the server that runs here is of another version than this command: restart it".into(),
        ),
    }
}

async fn join(list: &dyn Waitlist, people: Vec<Person>) -> Reply<Vec<bool>> {
    let entries = people.into_iter().map(Person::parse);
    let entries = entries.collect::<Result<_, InvalidEmail>>();
    let entries = entries.map_err(|why| why.to_string())?;
    let joined = list.join_all(entries).await.map_err(advice)?;
    Ok(joined.iter().map(|it| *it == Joined::New).collect())
}

async fn erase(list: &dyn Waitlist, addresses: Vec<String>) -> Reply<Vec<bool>> {
    // What stands there that is no address must be got rid of too.
    let emails: Vec<_> = addresses
        .iter()
        .map(|address| Email::kept(address))
        .collect();
    list.erase(&emails).await.map_err(advice)
}

fn send_entries(
    stream: BlockingStream,
    list: Arc<dyn Waitlist>,
    selection: Selection,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, stream);
    let entries = list.entries(selection).map_err(advice);
    // Who reads slowly must not keep the list from being closed.
    drop(list);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(why) => return out.write_all(&to_line(&Reply::<u64>::Err(why))),
    };
    out.write_all(&to_line(&Reply::Ok(entries.listed())))?;
    loop {
        let people = entries.by_ref().take(TOGETHER);
        let people = people.map(|entry| {
            entry
                .as_ref()
                .map(Person::from)
                .map_err(|error| advice(error.clone()))
        });
        let people: Reply<Vec<_>> = people.collect();
        out.write_all(&to_line(&people))?;
        if people.is_ok_and(|people| !people.is_empty()) {
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
