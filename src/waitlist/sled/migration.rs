//! Migration: rewrites a list of an earlier format.
//!
//! The new store is made beside the old one, as for a compaction, and the two are exchanged in one step. A crash at any
//! moment leaves the old list or the new one, whole. The old one is removed once the new one is open.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use super::{
    super::exit::print_stderr,
    compaction,
    contents::Contents,
    database,
    earlier_formats::EarlierFormat,
    error::{OpenFailure, UnusableReason},
    files::sync_tree,
    high_water_mark::{HighWaterMark, Progress},
    record::{FORMAT_VERSION, Record},
};

/// Pause between two reports of the progress.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Rewrites the records of a store of an earlier format, beside the store. Nothing in the store is changed.
///
/// # Errors
/// If the store is damaged, is a link, or has no room beside it.
pub(super) fn convert(
    store: &Path,
    old_records: &::sled::Tree,
    format: EarlierFormat,
    minimum: Progress,
) -> Result<(), OpenFailure> {
    let parse = format.parse;
    let contents = Contents::read(old_records, minimum, parse)?;
    let end = contents.progress().end;
    let name = store.parent().unwrap_or(store).display();
    let directory = compaction::create_copy_dir(store).map_err(UnusableReason::NotUpdated)?;
    HighWaterMark::create(&directory)?;
    database::create(&directory)?;
    let (database, records) = database::open(&directory)?;
    let mut last_report = Instant::now();
    let mut record = Record::starting_at(0);
    for found in old_records {
        let (key, bytes) = found?;
        let (_, items) = parse(&key, &bytes).unwrap_or_default();
        for item in items {
            if !record.has_room(item.len()) {
                records.insert(record.key(), record.bytes())?;
                record = Record::starting_at(record.end());
            }
            record.push(item);
        }
        if last_report.elapsed() > REPORT_INTERVAL {
            last_report = Instant::now();
            print_stderr(&format!(
                "updating the waitlist in {name} to format {FORMAT_VERSION}: {} %",
                record.end() * 100 / end.max(1)
            ));
        }
    }
    if record.end() > record.first() {
        records.insert(record.key(), record.bytes())?;
    }
    database.flush()?;
    drop((database, records));
    // A copy without this mark is incomplete.
    HighWaterMark::open(&directory)?.write(contents.progress())?;
    sync_tree(&directory)?;
    Ok(())
}

/// Puts the new store in the place of the old one.
///
/// # Errors
/// If the directories cannot be exchanged. Then the old store is unchanged.
pub(super) fn finish(store: &Path) -> Result<(), UnusableReason> {
    compaction::exchange_directories(store).map_err(|error| {
        // If this fails too, the next start removes the new store.
        let _ = compaction::remove_leftovers(store);
        UnusableReason::NotUpdated(error)
    })?;
    let name = store.parent().unwrap_or(store).display();
    print_stderr(&format!(
        "updated the waitlist in {name} to format {FORMAT_VERSION}; earlier versions of this program cannot read it"
    ));
    Ok(())
}
