//! Suppressed addresses: how a batch changes them, and how they are read.

use std::collections::BTreeSet;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::{
    super::{
        error::StoreError,
        queue::Request,
        source::Source,
        suppression::{AddressHash, Departure, ListKey, SuppressionItem, Suppressions},
    },
    batch::Batch,
    connector::Connector,
    entries::SORT_TIMEOUT,
    error::Failure,
    rows::column,
    sql, suppression_sql,
    writer::{Writer, hash_bytes, list_keys},
};

impl Batch {
    /// Adds the suppressions of other lists.
    pub(super) async fn add_suppressions(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let items = self.requests.iter().filter_map(|request| match request {
            Request::AddSuppressions(items, _) => Some(items),
            _ => None,
        });
        let (mut keys, mut hashes, mut departures) = (Vec::new(), Vec::new(), Vec::new());
        for item in items.flatten() {
            match item {
                SuppressionItem::Key(key) if keys.contains(key) => {}
                SuppressionItem::Key(key) => keys.push(*key),
                SuppressionItem::Address(hash) => hashes.push(*hash),
                SuppressionItem::Departure(departure) => departures.push(departure),
            }
        }
        writer.add_departures(&departures).await?;
        if keys.is_empty() && hashes.is_empty() {
            return Ok(());
        }
        writer.add_suppressions(keys, &hashes).await
    }

    /// Lifts the suppressions of those addresses that are on the list.
    pub(super) async fn lift_listed(&mut self, writer: &mut Writer) -> Result<(), Failure> {
        let keys = self.requests.iter().filter_map(|request| match request {
            Request::LiftListed(keys, _) => Some(keys),
            _ => None,
        });
        let keys: BTreeSet<_> = keys.flatten().map(String::as_bytes).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let keys: Vec<_> = keys.into_iter().collect();
        writer.lift_listed(&keys).await?;
        let rows = writer.query(sql::FIND_LISTED, &[&keys]).await?;
        let listed: Vec<Vec<u8>> = column(&rows, 0)?;
        let listed = listed
            .iter()
            .map(|key| String::from_utf8_lossy(key).into_owned());
        self.lifted_keys = listed.collect();
        Ok(())
    }
}

impl Writer {
    /// Lifts the suppressions of those addresses that are listed.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    pub(super) async fn lift_listed(&mut self, keys: &[&[u8]]) -> Result<(), Failure> {
        if self.list_keys.is_empty() {
            return Ok(());
        }
        let (keys, hashes) = self.hashes_of(keys.iter().copied());
        let (slot, epoch) = (self.slot(), self.epoch());
        let params: [&(dyn ToSql + Sync); 4] = [&keys, &hashes, &slot, &epoch];
        self.insert_in_epoch(suppression_sql::LIFT_LISTED, &params)
            .await
            .map(drop)
    }

    /// Erases sign-ups like [`erase`](Self::erase), and suppresses these addresses: with `new_key`, if the list has no
    /// key.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    pub(super) async fn erase_and_suppress(
        &mut self,
        keys: &[Vec<u8>],
        ids: &[Uuid],
        (addresses, new_key): (&[&[u8]], ListKey),
    ) -> Result<Vec<Uuid>, Failure> {
        let known = self.list_keys.first().copied();
        let new_keys = if known.is_some() {
            vec![]
        } else {
            vec![new_key]
        };
        let key = known.unwrap_or(new_key);
        let addresses = addresses.iter();
        let hashes = addresses.map(|address| hash_bytes(&key, address)).collect();
        self.change_suppressions((keys, ids), new_keys, hashes)
            .await
    }

    /// Adds the departures of other lists.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    async fn add_departures(&mut self, departures: &[&Departure]) -> Result<(), Failure> {
        if departures.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = departures.iter().map(|it| it.id).collect();
        let sources = departures.iter().map(|it| it.source.as_ref());
        let sources: Vec<_> = sources.map(|it| it.map(Source::as_str)).collect();
        self.query(suppression_sql::ADD_DEPARTURES, &[&ids, &sources])
            .await
            .map(drop)
    }

    /// Adds keys and suppressions.
    ///
    /// # Errors
    /// Like [`join`](Self::join).
    pub(super) async fn add_suppressions(
        &mut self,
        mut keys: Vec<ListKey>,
        hashes: &[AddressHash],
    ) -> Result<(), Failure> {
        keys.retain(|key| !self.list_keys.contains(key));
        let hashes = hashes.iter().map(|hash| hash.as_bytes().to_owned());
        let added = self.change_suppressions((&[], &[]), keys, hashes.collect());
        added.await.map(drop)
    }

    /// Runs [`suppression_sql::ERASE_AND_SUPPRESS`]. Returns the ids of the sign-ups that were erased.
    async fn change_suppressions(
        &mut self,
        (keys, ids): (&[Vec<u8>], &[Uuid]),
        new_keys: Vec<ListKey>,
        mut hashes: Vec<Vec<u8>>,
    ) -> Result<Vec<Uuid>, Failure> {
        // The order prevents deadlocks between instances.
        hashes.sort_unstable();
        let (slot, epoch) = (self.slot(), self.epoch());
        let added: Vec<_> = new_keys.iter().map(ListKey::as_bytes).collect();
        let departures: Vec<_> = keys.iter().map(|_| Uuid::new_v4()).collect();
        let params: [&(dyn ToSql + Sync); 7] =
            [&keys, &ids, &slot, &epoch, &added, &hashes, &departures];
        let erased = self.change_and_raise_epochs(suppression_sql::ERASE_AND_SUPPRESS, &params);
        let erased = erased.await?;
        self.list_keys.extend(new_keys);
        Ok(erased)
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
