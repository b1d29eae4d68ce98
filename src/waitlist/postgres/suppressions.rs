//! Changes and reads the suppressed addresses.

use tokio_postgres::types::ToSql;

use super::{
    super::{
        email::Email,
        error::StoreError,
        source::Source,
        suppression::{AddressHash, Departure, Suppressions},
    },
    connection::Connection,
    connector::Connector,
    entries::SORT_TIMEOUT,
    error::Failure,
    list_key::read_key,
    moment::Moment,
    pool::{Operation, Pool},
    rows::{column, get},
    sql,
    state::State,
    suppression_sql,
    writer::hash_bytes,
};

/// Suppresses those addresses that are not listed, or await a confirmation. Returns, for each, whether it is suppressed.
pub(super) async fn suppress(
    pool: &Pool,
    state: &State,
    emails: &[Email],
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys = &keys;
    pool.run(Suppress { state, keys }).await
}

struct Suppress<'a> {
    state: &'a State,
    keys: &'a [String],
}

impl Operation for Suppress<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, connection: &mut Connection) -> Result<Vec<bool>, Failure> {
        let Moment {
            connection,
            slot,
            epoch,
            list_key,
            ..
        } = Moment::read(connection, self.state).await?;
        let keys: Vec<_> = self.keys.iter().map(String::as_bytes).collect();
        let hashes: Vec<_> = keys.iter().map(|key| hash_bytes(&list_key, key)).collect();
        let params: [&(dyn ToSql + Sync); 4] = [&keys, &hashes, &slot, &epoch];
        let suppressing =
            connection.run_transaction(sql::LOCK_LIST, suppression_sql::SUPPRESS, &params);
        let row = suppressing.await?.ok_or(Failure::StaleSlot)?;
        self.state.set_slot(slot, get(&row, 0)?);
        self.state.note_epoch(get(&row, 1)?);
        let listed: Vec<Vec<u8>> = get(&row, 2)?;
        let is_listed = |key: &&[u8]| listed.iter().any(|it| it == key);
        Ok(keys.iter().map(|key| !is_listed(key)).collect())
    }
}

/// Lifts the suppressions of addresses. Returns, for each, whether it is listed.
pub(super) async fn lift(
    pool: &Pool,
    state: &State,
    emails: &[Email],
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = emails.iter().map(Email::key).collect();
    let keys = &keys;
    pool.run(Lift { state, keys }).await
}

struct Lift<'a> {
    state: &'a State,
    keys: &'a [String],
}

impl Operation for Lift<'_> {
    type Output = Vec<bool>;

    async fn attempt(&mut self, connection: &mut Connection) -> Result<Vec<bool>, Failure> {
        let mut moment = Moment::read(connection, self.state).await?;
        let keys: Vec<_> = self.keys.iter().map(String::as_bytes).collect();
        let hashes = keys.iter().map(|key| hash_bytes(&moment.list_key, key));
        let hashes: Vec<_> = hashes.collect();
        let (slot, epoch) = (moment.slot, moment.epoch);
        let params: [&(dyn ToSql + Sync); 3] = [&hashes, &slot, &epoch];
        moment.raise_epoch(suppression_sql::LIFT, &params).await?;
        let listed = moment.find_listed(&keys).await?;
        Ok(keys.iter().map(|key| listed.contains_key(*key)).collect())
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
        let hash = hash_bytes(&moment.list_key, self.key.as_bytes());
        let statement = suppression_sql::IS_SUPPRESSED;
        let row = moment.connection.query_opt(statement, &[&hash]).await?;
        get(&row.ok_or(Failure::StaleSlot)?, 0)
    }
}

/// Reads all suppressions.
pub(super) async fn read(connector: &Connector) -> Result<Suppressions, StoreError> {
    let mut connection = connector.connect().await?;
    connection.execute(sql::NO_STATEMENT_TIMEOUT).await?;
    let mut suppressions = Suppressions::new(read_key(&mut connection).await?);
    let rows = connection.query_within(SORT_TIMEOUT, suppression_sql::READ_SUPPRESSED, &[]);
    for hash in column::<&[u8]>(&rows.await?, 0)? {
        if let Some(hash) = AddressHash::from_slice(hash) {
            suppressions.suppress(hash);
        }
    }
    let rows = connection.query_within(SORT_TIMEOUT, suppression_sql::READ_DEPARTURES, &[]);
    for row in rows.await? {
        let source: Option<&str> = get(&row, 1)?;
        suppressions.add_departure(Departure {
            id: get(&row, 0)?,
            source: source.map(Source::from_stored),
        });
    }
    Ok(suppressions)
}
