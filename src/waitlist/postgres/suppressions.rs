//! Reads the suppressed addresses.

use uuid::Uuid;

use super::{
    super::{
        email::Email,
        error::StoreError,
        source::Source,
        suppression::{AddressHash, Departure, SuppressionItem, Suppressions},
    },
    connector::Connector,
    entries::SORT_TIMEOUT,
    ledger::read_keys,
    pool::Pool,
    rows::column,
    sql, suppression_sql,
    writer::{hash_bytes, list_keys},
};

/// Returns whether an address is suppressed.
pub(super) async fn is_suppressed(pool: &Pool, email: &Email) -> Result<bool, StoreError> {
    let (keys, address) = (read_keys(pool).await?, email.key());
    let hashes = keys.iter().map(|key| hash_bytes(key, address.as_bytes()));
    let hashes: Vec<_> = hashes.collect();
    let rows = pool
        .query(suppression_sql::IS_SUPPRESSED, &[&hashes])
        .await?;
    Ok(column(&rows, 0)?.first() == Some(&true))
}

/// Reads all suppressions.
pub(super) async fn read(connector: &Connector) -> Result<Suppressions, StoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let rows = connection.query_within(SORT_TIMEOUT, suppression_sql::READ_SUPPRESSED, &[]);
    let rows = rows.await?;
    let hashes: Vec<Vec<u8>> = column(&rows, 0)?;
    // Read after the hashes, so that none of their keys is missing.
    let keys = connection
        .query(suppression_sql::READ_LIST_KEYS, &[])
        .await?;
    let keys = list_keys(&keys)?;
    let keys = keys.into_iter().map(SuppressionItem::Key);
    let hashes = hashes
        .iter()
        .filter_map(|hash| AddressHash::from_slice(hash));
    let departures = connection.query_within(SORT_TIMEOUT, suppression_sql::READ_DEPARTURES, &[]);
    let departures = departures.await?;
    let ids: Vec<Uuid> = column(&departures, 0)?;
    let sources: Vec<Option<String>> = column(&departures, 1)?;
    let departures = ids.into_iter().zip(sources).map(|(id, source)| Departure {
        id,
        source: source.as_deref().map(Source::from_stored),
    });
    Ok(keys
        .chain(hashes.map(SuppressionItem::Address))
        .chain(departures.map(SuppressionItem::Departure))
        .collect())
}
