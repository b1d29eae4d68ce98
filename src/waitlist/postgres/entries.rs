//! Reads a snapshot of the list, also while it is written to, and the suppressions.

use std::{pin::pin, sync::Arc};

use futures_util::StreamExt;
use tokio::{runtime::Handle, sync::mpsc, time::timeout};
use tokio_postgres::{IsolationLevel, types::ToSql};

use super::{
    super::{
        entry::{EntryStream, Selection, Source, WaitlistEntry, flatten_blocks},
        error::StoreError,
        store_panic::store_task,
        suppression::{AddressHash, Departure, Suppressions},
    },
    connection::Connection,
    connector::Connector,
    rows::{column, entry_from_row, get},
    sql,
    timeouts::{BEGIN_TIMEOUT, CALLER_TIMEOUT, WHOLE_LIST_TIMEOUT},
    writer::read_list_key,
};

/// Number of entries in a block, which is passed to the caller as a whole.
const BLOCK_ENTRIES: usize = 512;
/// Maximum number of blocks that wait for the caller.
const QUEUED_BLOCKS_MAX: usize = 4;

/// The number of selected entries, and some of them.
type Block = Result<(u64, Vec<WaitlistEntry>), StoreError>;

/// Returns the selected entries, and their number at the same moment. It blocks, so do not call it from a task.
///
/// # Errors
/// [`StoreError`], which can also occur midway, as an item of the stream.
pub(super) fn entries(
    runtime: &Handle,
    connector: Arc<Connector>,
    selection: Selection,
) -> Result<EntryStream, StoreError> {
    let (block_sender, mut blocks) = mpsc::channel(QUEUED_BLOCKS_MAX);
    let reader = Reader {
        connector,
        selection,
        block_sender,
    };
    runtime.spawn(store_task(async move {
        if let Err(error) = reader.read().await {
            // Sending fails if the caller has dropped the stream.
            let _ = reader.block_sender.send(Err(error)).await;
        }
    }));
    // If the channel closes before the last block, the reader ended before the list did.
    let mut receive = move || blocks.blocking_recv().unwrap_or(Err(StoreError::Stopped));
    let (count, first) = receive()?;
    // The last block is not full.
    let mut is_over = first.len() < BLOCK_ENTRIES;
    let others = std::iter::from_fn(move || {
        let block = (!is_over).then(|| receive().map(|(_, entries)| entries))?;
        is_over = !matches!(&block, Ok(entries) if entries.len() == BLOCK_ENTRIES);
        Some(block)
    });
    let blocks = std::iter::once(Ok(first)).chain(others);
    Ok(EntryStream::new(count, flatten_blocks(blocks)))
}

/// The task that reads the list.
struct Reader {
    connector: Arc<Connector>,
    selection: Selection,
    block_sender: mpsc::Sender<Block>,
}

impl Reader {
    async fn read(&self) -> Result<(), StoreError> {
        let mut connection = self.connector.connect().await?;
        let read = self.read_with(&mut connection).await;
        // The connection may have unread rows.
        connection.close();
        read
    }

    async fn read_with(&self, connection: &mut Connection) -> Result<(), StoreError> {
        let selection = &self.selection;
        let domain = selection.domain.as_ref();
        let domain = domain.map(|it| format!("@{}", it.as_str()).into_bytes());
        let source = selection.source.as_ref().map(Source::as_str);
        let parameters: [&(dyn ToSql + Sync); 5] = [
            &selection.since,
            &selection.until,
            &domain,
            &source,
            &selection.confirmed,
        ];
        let begin = async {
            let client = &mut connection.client;
            client.batch_execute(sql::NO_STATEMENT_TIMEOUT).await?;
            let transaction = client.build_transaction();
            let transaction = transaction.isolation_level(IsolationLevel::RepeatableRead);
            let transaction = transaction.read_only(true).start().await?;
            // The first statement of the transaction takes the snapshot.
            let count = transaction.query_typed_one(TOTAL_COUNT, &[]).await?;
            Ok::<_, StoreError>((transaction, count.try_get(0)?))
        };
        let (transaction, mut count) = timeout(BEGIN_TIMEOUT, begin).await??;
        if !selection.is_everything() {
            let statement = format!("SELECT count(*) FROM waitlist_entries WHERE {SELECTED}");
            let selected = transaction.query_one(&statement, &parameters);
            count = timeout(WHOLE_LIST_TIMEOUT, selected).await??.try_get(0)?;
        }
        let order = if selection.newest_first {
            "DESC"
        } else {
            "ASC"
        };
        let statement = format!(
            "SELECT email, joined_at, source, asked_at, confirmed_at FROM waitlist_entries
            WHERE {SELECTED} ORDER BY joined_at {order}, id {order}"
        );
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

    /// Sends a block. Fails if the caller has dropped the stream.
    async fn send_block(&self, count: i64, block: Vec<WaitlistEntry>) -> Result<(), StoreError> {
        let block = Ok((u64::try_from(count).unwrap_or(0), block));
        let sent = timeout(CALLER_TIMEOUT, self.block_sender.send(block)).await;
        let sent = sent.map_err(|_| StoreError::CallerTimedOut)?;
        sent.map_err(|_| StoreError::Stopped)
    }
}

/// Returns the number of entries. This statement also takes the snapshot from which the list is read.
const TOTAL_COUNT: &str = "SELECT coalesce(sum(entries), 0)::bigint FROM waitlist_count";

/// Selects entries since $1, before $2, whose keys end in $3, with the source $4, and confirmed or not as
/// $5 says. A parameter that is NULL selects all.
const SELECTED: &str = "($1::timestamptz IS NULL OR joined_at >= $1::timestamptz)
    AND ($2::timestamptz IS NULL OR joined_at < $2::timestamptz)
    AND ($3::bytea IS NULL OR substring(key FROM octet_length(key) - octet_length($3::bytea) + 1) = $3::bytea)
    AND ($4::text IS NULL OR source = $4::text)
    AND ($5::boolean IS NULL OR $5::boolean = (confirmed_at IS NOT NULL))";

/// Reads all suppressions.
pub(super) async fn suppressions(connector: &Connector) -> Result<Suppressions, StoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let mut suppressions = Suppressions::new(read_list_key(&mut connection).await?);
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
