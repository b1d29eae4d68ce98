//! Changes and reads the suppressed addresses.

use tokio_postgres::types::ToSql;

use super::{
    super::{
        email::Email,
        error::StoreError,
        source::Source,
        suppression::{AddressHash, Departure, Suppressions},
    },
    change::Change,
    connector::Connector,
    error::Failure,
    list_key::read_key,
    pool::{Operation, Pool},
    rows::{column, get},
    sql, suppression_sql,
    timeouts::WHOLE_LIST_TIMEOUT,
    writer::hash_bytes,
};

/// Suppresses those addresses that are not listed, or await a confirmation. Returns, for each, whether it is suppressed.
pub(super) async fn suppress(pool: &Pool, emails: &[Email]) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys = &keys;
    pool.change(Suppress { keys }).await
}

struct Suppress<'a> {
    keys: &'a [String],
}

impl Operation for Suppress<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<Vec<bool>, Failure> {
        let keys: Vec<_> = self.keys.iter().map(String::as_bytes).collect();
        let hashes = keys.iter().map(|key| hash_bytes(&change.list_key, key));
        let hashes: Vec<_> = hashes.collect();
        let (slot, epoch) = (change.slot, change.epoch);
        let params: [&(dyn ToSql + Sync); 4] = [&keys, &hashes, &slot, &epoch];
        let row = change
            .raise_epoch_of_locked_list(suppression_sql::SUPPRESS, &params)
            .await?;
        let listed: Vec<Vec<u8>> = get(&row, 2)?;
        let is_listed = |key: &&[u8]| listed.iter().any(|it| it == key);
        Ok(keys.iter().map(|key| !is_listed(key)).collect())
    }
}

/// Lifts the suppressions of addresses. Returns, for each, whether it is listed.
pub(super) async fn lift(pool: &Pool, emails: &[Email]) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys = &keys;
    pool.change(Lift { keys }).await
}

struct Lift<'a> {
    keys: &'a [String],
}

impl Operation for Lift<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<Vec<bool>, Failure> {
        let keys: Vec<_> = self.keys.iter().map(String::as_bytes).collect();
        let hashes = keys.iter().map(|key| hash_bytes(&change.list_key, key));
        let hashes: Vec<_> = hashes.collect();
        let (slot, epoch) = (change.slot, change.epoch);
        let params: [&(dyn ToSql + Sync); 3] = [&hashes, &slot, &epoch];
        change.raise_epoch(suppression_sql::LIFT, &params).await?;
        let listed = change.find_listed(&keys).await?;
        Ok(keys.iter().map(|key| listed.contains_key(*key)).collect())
    }
}

/// Returns whether an address is suppressed. Like a change, this waits until all earlier commits are durable: a person is
/// told so.
pub(super) async fn is_suppressed(pool: &Pool, email: &Email) -> Result<bool, StoreError> {
    let key = &email.key();
    pool.change(IsSuppressed { key }).await
}

struct IsSuppressed<'a> {
    key: &'a str,
}

impl Operation for IsSuppressed<'_> {
    type Output = bool;

    async fn attempt(&mut self, change: &mut Change<'_>) -> Result<bool, Failure> {
        let hash = hash_bytes(&change.list_key, self.key.as_bytes());
        let statement = suppression_sql::IS_SUPPRESSED;
        let row = change.connection.query_one(statement, &[&hash]).await?;
        get(&row, 0)
    }
}

/// Reads all suppressions.
pub(super) async fn read(connector: &Connector) -> Result<Suppressions, StoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let mut suppressions = Suppressions::new(read_key(&mut connection).await?);
    let rows = connection.query_within(WHOLE_LIST_TIMEOUT, suppression_sql::READ_SUPPRESSED, &[]);
    for hash in column::<&[u8]>(&rows.await?, 0)? {
        if let Some(hash) = AddressHash::from_slice(hash) {
            suppressions.suppress(hash);
        }
    }
    let rows = connection.query_within(WHOLE_LIST_TIMEOUT, suppression_sql::READ_DEPARTURES, &[]);
    for row in rows.await? {
        let source: Option<&str> = get(&row, 1)?;
        suppressions.add_departure(Departure {
            id: get(&row, 0)?,
            source: source.map(Source::from_stored),
        });
    }
    Ok(suppressions)
}
