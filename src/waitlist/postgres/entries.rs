//! Reads a snapshot of the list, also while it is written to, and the suppressions.

use std::{
    pin::pin,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use futures_util::StreamExt;
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    time::timeout,
};
use tokio_postgres::{IsolationLevel, types::ToSql};

use super::{
    super::{
        entry::{AddressFilter, EntryStream, Selection, Source, WaitlistEntry, flatten_blocks},
        error::StoreError,
        store_panic::store_task,
        suppression::{AddressHash, Departure, Suppressions},
    },
    connection::Connection,
    connector::Connector,
    rows::{column, entry_from_row, get},
    sql,
    timeouts::{BEGIN_TIMEOUT, CALLER_TIMEOUT, WHOLE_LIST_TIMEOUT},
    writer::read_key,
};

/// Number of entries in a block, which is passed to the caller as a whole.
const BLOCK_ENTRIES: usize = 512;
/// Maximum number of blocks that wait for the caller.
const QUEUED_BLOCKS_MAX: usize = 4;

/// The latest time that is stored: 9999-12-31T23:59:59.999Z.
const LAST_TIME_SINCE_EPOCH: Duration = Duration::from_millis(253_402_300_799_999);

type Block = Result<Vec<WaitlistEntry>, StoreError>;

/// Returns the selected entries, and their number at the same moment. It blocks, so do not call it from a task.
///
/// # Errors
/// [`StoreError`], which can also occur midway, as an item of the stream.
pub(super) fn entries(
    runtime: &Handle,
    connector: Arc<Connector>,
    selection: Selection,
) -> Result<EntryStream, StoreError> {
    let (count_sender, count_receiver) = oneshot::channel();
    let (block_sender, mut blocks) = mpsc::channel(QUEUED_BLOCKS_MAX);
    let mut reader = Reader {
        connector,
        selection,
        count_sender: Some(count_sender),
        block_sender,
    };
    runtime.spawn(store_task(async move {
        if let Err(error) = reader.read().await {
            reader.fail(error).await;
        }
    }));
    let count = count_receiver
        .blocking_recv()
        .map_err(|_| StoreError::Stopped)??;
    let mut is_over = false;
    let blocks = std::iter::from_fn(move || {
        // The last block is not full. If the channel closes before it, the reader ended before the list did.
        let next = || blocks.blocking_recv().unwrap_or(Err(StoreError::Stopped));
        let block = (!is_over).then(next)?;
        is_over = !matches!(&block, Ok(entries) if entries.len() == BLOCK_ENTRIES);
        Some(block)
    });
    Ok(EntryStream::new(count, flatten_blocks(blocks)))
}

/// The task that reads the list.
struct Reader {
    connector: Arc<Connector>,
    selection: Selection,
    /// Carries the count, or an error in its place. `None` once it is sent.
    count_sender: Option<oneshot::Sender<Result<u64, StoreError>>>,
    block_sender: mpsc::Sender<Block>,
}

impl Reader {
    async fn read(&mut self) -> Result<(), StoreError> {
        let mut connection = self.connector.connect().await?;
        let read = self.read_with(&mut connection).await;
        // The connection may have unread rows.
        connection.close();
        read
    }

    async fn read_with(&mut self, connection: &mut Connection) -> Result<(), StoreError> {
        let Selection {
            since,
            until,
            addresses,
            source,
            confirmed,
            newest_first,
        } = &self.selection;
        let since = since.unwrap_or(UNIX_EPOCH).max(UNIX_EPOCH);
        let until = until.unwrap_or(UNIX_EPOCH + LAST_TIME_SINCE_EPOCH);
        let filter = filter_bytes(addresses);
        let source = source.as_ref().map(Source::as_str);
        let parameters: [&(dyn ToSql + Sync); 5] = [&since, &until, &filter, &source, confirmed];
        let total_count = connection.qualify(TOTAL_COUNT);
        let selected_count = connection.qualify(&selected_count(addresses));
        let statement = connection.qualify(&entries_statement(addresses, *newest_first));
        let begin = async {
            let client = connection.client();
            client.batch_execute(sql::NO_STATEMENT_TIMEOUT).await?;
            let transaction = client.build_transaction();
            let transaction = transaction.isolation_level(IsolationLevel::RepeatableRead);
            let transaction = transaction.read_only(true).start().await?;
            // The first statement of the transaction takes the snapshot.
            let count = transaction.query_typed_one(&total_count, &[]).await?;
            Ok::<_, StoreError>((transaction, count.try_get(0)?))
        };
        let (transaction, mut count) = timeout(BEGIN_TIMEOUT, begin).await??;
        if !self.selection.is_everything() {
            let selected = transaction.query_one(&selected_count, &parameters);
            count = timeout(WHOLE_LIST_TIMEOUT, selected).await??.try_get(0)?;
        }
        let rows = transaction.query_raw(&statement, parameters);
        let mut rows = pin!(timeout(WHOLE_LIST_TIMEOUT, rows).await??);
        let mut block = Vec::with_capacity(BLOCK_ENTRIES);
        while let Some(row) = timeout(WHOLE_LIST_TIMEOUT, rows.next()).await? {
            block.push(entry_from_row(&row?)?);
            if block.len() == BLOCK_ENTRIES {
                self.send_block(count, std::mem::take(&mut block)).await?;
            }
        }
        self.send_block(count, block).await
    }

    /// Sends an error to the caller.
    async fn fail(&mut self, error: StoreError) {
        // Sending fails if the caller has dropped the stream.
        match self.count_sender.take() {
            Some(count_sender) => drop(count_sender.send(Err(error))),
            None => drop(self.block_sender.send(Err(error)).await),
        }
    }

    /// Sends a block, and the count before the first block. Fails if the caller has dropped the stream.
    async fn send_block(
        &mut self,
        count: i64,
        block: Vec<WaitlistEntry>,
    ) -> Result<(), StoreError> {
        if let Some(count_sender) = self.count_sender.take() {
            let sent = count_sender.send(Ok(u64::try_from(count).unwrap_or(0)));
            sent.map_err(|_| StoreError::Stopped)?;
        }
        let sent = timeout(CALLER_TIMEOUT, self.block_sender.send(Ok(block))).await;
        let sent = sent.map_err(|_| StoreError::CallerTimedOut)?;
        sent.map_err(|_| StoreError::Stopped)
    }
}

/// Returns the number of entries. This statement also takes the snapshot from which the list is read.
const TOTAL_COUNT: &str = "SELECT coalesce(sum(entries), 0)::bigint FROM {schema}.waitlist_count";

/// Returns a statement that counts the selected entries, see [`entries_statement`].
fn selected_count(filter: &AddressFilter) -> String {
    let condition = condition(filter);
    format!("SELECT count(*) FROM {{schema}}.waitlist_entries WHERE {condition}")
}

/// Returns a statement that reads the selected entries, in order: since $1, before $2, with addresses that match $3,
/// with source $4 unless it is NULL, and confirmed or not as $5 says unless it is NULL.
fn entries_statement(filter: &AddressFilter, newest_first: bool) -> String {
    let condition = condition(filter);
    let order = if newest_first { "DESC" } else { "ASC" };
    format!(
        "SELECT email, joined_at, source, asked_at, confirmed_at FROM {{schema}}.waitlist_entries
        WHERE {condition}
        ORDER BY joined_at {order}, id {order}"
    )
}

fn condition(filter: &AddressFilter) -> String {
    let matches = match filter {
        AddressFilter::Any => "octet_length($3::bytea) = 0",
        AddressFilter::Address(_) => "key = $3::bytea",
        AddressFilter::Domain(_) => {
            "substring(key FROM octet_length(key) - octet_length($3::bytea) + 1) = $3::bytea"
        }
    };
    format!(
        "joined_at >= $1 AND joined_at < $2 AND {matches}
        AND ($4::text IS NULL OR source = $4::text)
        AND ($5::boolean IS NULL OR $5::boolean = (confirmed_at IS NOT NULL))"
    )
}

/// Returns the bytes for $3 of [`entries_statement`]: the key, or its end.
fn filter_bytes(filter: &AddressFilter) -> Vec<u8> {
    match filter {
        AddressFilter::Any => Vec::new(),
        AddressFilter::Address(email) => email.key().into_bytes(),
        AddressFilter::Domain(domain) => format!("@{}", domain.as_str()).into_bytes(),
    }
}

/// Reads all suppressions.
pub(super) async fn suppressions(connector: &Connector) -> Result<Suppressions, StoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let mut suppressions = Suppressions::new(read_key(&mut connection).await?);
    let rows = connection.query_within(WHOLE_LIST_TIMEOUT, sql::READ_SUPPRESSED, &[]);
    for hash in column::<&[u8]>(&rows.await?, 0)? {
        if let Some(hash) = AddressHash::from_slice(hash) {
            suppressions.suppress(hash);
        }
    }
    let rows = connection.query_within(WHOLE_LIST_TIMEOUT, sql::READ_DEPARTURES, &[]);
    for row in rows.await? {
        let source: Option<&str> = get(&row, 1)?;
        suppressions.add_departure(Departure {
            id: get(&row, 0)?,
            source: source.map(Source::from_stored),
        });
    }
    Ok(suppressions)
}
