//! Changes and reads the suppressed addresses.

use std::collections::BTreeMap;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        email::Email,
        error::StoreError,
        source::Source,
        suppression::{AddressHash, Departure, SuppressionItem, Suppressions},
    },
    connection::Connection,
    connector::Connector,
    entries::SORT_TIMEOUT,
    error::Failure,
    moment::Moment,
    pool::{Operation, Pool},
    rows::{column, get},
    sql,
    state::State,
    suppression_sql,
    writer::{hash_bytes, list_keys},
};

/// Adds suppressions, with the keys of their hashes, and departures.
pub(super) async fn add_suppressions(
    pool: &Pool,
    state: &State,
    items: &[SuppressionItem],
) -> Result<(), StoreError> {
    let mut sources = BTreeMap::new();
    for item in items {
        if let SuppressionItem::Departure(Departure { id, source }) = item {
            sources.insert(*id, source.as_ref().map(Source::as_str));
        }
    }
    if !sources.is_empty() {
        let (ids, sources): (Vec<_>, Vec<_>) = sources.into_iter().unzip();
        pool.query(suppression_sql::ADD_DEPARTURES, &[&ids, &sources])
            .await?;
    }
    pool.run(AddSuppressions { state, items }).await
}

struct AddSuppressions<'a> {
    state: &'a State,
    items: &'a [SuppressionItem],
}

impl Operation for AddSuppressions<'_> {
    type Output = ();

    async fn attempt(&mut self, connection: &mut Connection) -> Result<(), Failure> {
        let mut moment = Moment::read(connection, self.state).await?;
        let (mut keys, mut hashes) = (Vec::new(), Vec::new());
        for item in self.items {
            match item {
                SuppressionItem::Key(key) => keys.push(*key),
                SuppressionItem::Address(hash) => hashes.push(hash.as_bytes().to_owned()),
                SuppressionItem::Departure(_) => {}
            }
        }
        keys.retain(|key| !moment.list_keys.contains(key));
        if keys.is_empty() && hashes.is_empty() {
            return Ok(());
        }
        let added = moment.erase_and_suppress((&[], &[]), &keys, hashes);
        added.await.map(drop)
    }
}

/// Lifts the suppressions of those addresses that are listed. Returns, for each, whether it is.
pub(super) async fn lift_listed(
    pool: &Pool,
    state: &State,
    emails: &[Email],
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys = &keys;
    pool.run(LiftListed { state, keys }).await
}

struct LiftListed<'a> {
    state: &'a State,
    keys: &'a [String],
}

impl Operation for LiftListed<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, connection: &mut Connection) -> Result<Vec<bool>, Failure> {
        let mut moment = Moment::read(connection, self.state).await?;
        let sought: Vec<_> = self.keys.iter().map(String::as_bytes).collect();
        let hashes = sought.iter().flat_map(|address| {
            let keys = moment.list_keys.iter();
            keys.map(|key| (*address, hash_bytes(key, address)))
        });
        let (addresses, hashes): (Vec<_>, Vec<_>) = hashes.unzip();
        if !addresses.is_empty() {
            let (slot, epoch) = (moment.slot, moment.epoch);
            let params: [&(dyn ToSql + Sync); 4] = [&addresses, &hashes, &slot, &epoch];
            moment.change(suppression_sql::LIFT_LISTED, &params).await?;
        }
        let listed = moment.find_listed(&sought).await?;
        let are_listed = sought.iter().map(|key| listed.contains_key(*key));
        Ok(are_listed.collect())
    }
}

/// Returns whether an address is suppressed. Like a change, this waits until all earlier commits are durable: a person is
/// told so.
pub(super) async fn is_suppressed(
    pool: &Pool,
    state: &State,
    email: &Email,
) -> Result<bool, StoreError> {
    let key = &email.key();
    pool.run(IsSuppressed { state, key }).await
}

struct IsSuppressed<'a> {
    state: &'a State,
    key: &'a str,
}

impl Operation for IsSuppressed<'_> {
    type Output = bool;

    async fn attempt(&mut self, connection: &mut Connection) -> Result<bool, Failure> {
        let moment = Moment::read(connection, self.state).await?;
        let keys = moment.list_keys.iter();
        let hashes: Vec<_> = keys
            .map(|key| hash_bytes(key, self.key.as_bytes()))
            .collect();
        let statement = suppression_sql::IS_SUPPRESSED;
        let row = moment.connection.query_opt(statement, &[&hashes]).await?;
        get(&row.ok_or(Failure::StaleSlot)?, 0)
    }
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
