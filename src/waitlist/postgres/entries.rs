//! Reading the list: as it was at one moment, while others write.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use futures_util::StreamExt;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::{error::Elapsed, timeout},
};
use tokio_postgres::{IsolationLevel, Row};

use super::{
    super::{Email, Entries, Entry, Selection, StoreError, queue::of_the_store},
    connection::Connection,
    connector::Connector,
    error::Failure,
    sql,
};

/// Entries that are handed on together, and how many such blocks may wait for who reads them.
const BLOCK: usize = 512;
const BLOCKS: usize = 4;

/// The end of all times that are kept: 9999-12-31T23:59:59.999Z.
const LAST: Duration = Duration::from_millis(253_402_300_799_999);

type Block = Result<Vec<Entry>, StoreError>;

/// Maximum time to begin. Over a slow line, each statement takes a while.
const BEGIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time in which the database sorts them.
const SORT_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// Maximum time that a reader may pause. Meanwhile the database keeps everything that is erased or updated.
const READER_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a reading that others' writing has made impossible is begun again.
const TRIES: usize = 5;

/// The selected entries, and the count of the same moment. Must not be called by a task.
///
/// # Errors
/// [`StoreError`], also in the middle.
pub(super) fn entries(
    runtime: &Handle,
    connector: Arc<Connector>,
    selection: Selection,
) -> Result<Entries, StoreError> {
    let (tell, told) = oneshot::channel();
    let (send, mut blocks) = mpsc::channel(BLOCKS);
    let mut reader = Reader {
        connector,
        selection,
        tell: Some(tell),
        send,
    };
    runtime.spawn(of_the_store(async move {
        for _ in 0..TRIES {
            match reader.read().await {
                Err(Stop::Conflict) if reader.tell.is_some() => {}
                Err(Stop::Conflict) => return reader.fail(StoreError::Unreadable).await,
                Err(Stop::Trouble(error)) => return reader.fail(error).await,
                Ok(()) | Err(Stop::Gone) => return,
            }
        }
        reader.fail(StoreError::Unreadable).await;
    }));
    let count = told.blocking_recv().map_err(|_| StoreError::Stopped)??;
    let mut is_over = false;
    let blocks = std::iter::from_fn(move || {
        // The last one is not full. Without it the reader was ended, and the list was not.
        let next = || blocks.blocking_recv().unwrap_or(Err(StoreError::Stopped));
        let block = (!is_over).then(next)?;
        is_over = !matches!(&block, Ok(entries) if entries.len() == BLOCK);
        Some(block)
    });
    let entries = blocks.flat_map(|block| {
        let (entries, error) = match block {
            Ok(entries) => (entries, None),
            Err(error) => (Vec::new(), Some(Err(error))),
        };
        entries.into_iter().map(Ok).chain(error)
    });
    Ok(Entries::new(count, entries))
}

/// Why a reading ends early.
enum Stop {
    /// Others were at the same rows.
    Conflict,
    Trouble(StoreError),
    /// Nobody reads any more.
    Gone,
}

impl From<Elapsed> for Stop {
    fn from(_: Elapsed) -> Self {
        Self::Trouble(StoreError::TimedOut)
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Conflict => Self::Conflict,
            failure => Self::Trouble(failure.into()),
        }
    }
}

impl From<tokio_postgres::Error> for Stop {
    fn from(error: tokio_postgres::Error) -> Self {
        Failure::from(&error).into()
    }
}

struct Reader {
    connector: Arc<Connector>,
    selection: Selection,
    /// Whom the count is to be told, or why there is none, until it is.
    tell: Option<oneshot::Sender<Result<u64, StoreError>>>,
    send: mpsc::Sender<Block>,
}

impl Reader {
    async fn read(&mut self) -> Result<(), Stop> {
        let mut connection = self.connector.connect().await?;
        let read = self.read_by(&mut connection).await;
        // Unread rows may remain in it.
        connection.close();
        read
    }

    async fn read_by(&mut self, connection: &mut Connection) -> Result<(), Stop> {
        let listed = connection.named(sql::LISTED);
        let statement = connection.named(&sql::entries(self.selection.newest_first));
        let begin = async {
            let client = connection.client();
            client.batch_execute(sql::NO_STATEMENT_TIMEOUT).await?;
            let reading = client.build_transaction();
            let reading = reading.isolation_level(IsolationLevel::RepeatableRead);
            let reading = reading.read_only(true).start().await?;
            // This statement takes the snapshot.
            let count = reading.query_typed_one(&listed, &[]).await?.try_get(0)?;
            Ok::<_, Stop>((reading, count))
        };
        let (reading, count) = timeout(BEGIN_TIMEOUT, begin).await??;

        let Selection { since, until, .. } = self.selection;
        let period = [
            since.unwrap_or(UNIX_EPOCH).max(UNIX_EPOCH),
            until.unwrap_or(UNIX_EPOCH + LAST),
        ];
        let rows = reading.query_raw(&statement, period);
        let mut rows = pin!(timeout(SORT_TIMEOUT, rows).await??);
        let mut block = Vec::with_capacity(BLOCK);
        while let Some(row) = timeout(SORT_TIMEOUT, rows.next()).await? {
            block.push(entry(&row?)?);
            if block.len() == BLOCK {
                self.hand_on(count, std::mem::take(&mut block)).await?;
            }
        }
        self.hand_on(count, block).await
    }

    async fn fail(&mut self, error: StoreError) {
        // Who has gone away needs no answer.
        match self.tell.take() {
            Some(tell) => drop(tell.send(Err(error))),
            None => drop(self.send.send(Err(error)).await),
        }
    }

    /// Reports the count with the first block: until then, reading can begin again.
    async fn hand_on(&mut self, count: i64, block: Vec<Entry>) -> Result<(), Stop> {
        if let Some(tell) = self.tell.take() {
            let told = tell.send(Ok(u64::try_from(count).unwrap_or(0)));
            told.map_err(|_| Stop::Gone)?;
        }
        let sent = timeout(READER_TIMEOUT, self.send.send(Ok(block))).await;
        let sent = sent.map_err(|_| Stop::Trouble(StoreError::ReaderTimedOut))?;
        sent.map_err(|_| Stop::Gone)
    }
}

fn entry(row: &Row) -> Result<Entry, tokio_postgres::Error> {
    Ok(Entry {
        email: Email::kept(row.try_get(0)?),
        joined_at: row.try_get(1)?,
    })
}
