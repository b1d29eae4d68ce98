//! Restores a backup. The list is built in another data directory beside its place, and then takes the place of the empty
//! one, if there is one. So a kill at any moment leaves the empty list, the restored one, or none, and the next start
//! removes what is beside.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use super::{
    super::{
        store::{BackupItem, RestoreError},
        suppression::ListKey,
    },
    SledWaitlist,
    committer::{Job, SledCommitter},
    error::{SledOpenError, io_error},
    files::{STORE_DIR, remove_dir_if_exists, sync_tree},
    items::RecordItem,
    lock::lock_data_dir,
};

/// The data directory of the new list, in that of the list.
pub(super) const RESTORE_DIR: &str = "waitlist.restore";
/// The old store in it.
const OLD_STORE_DIR: &str = "old";

/// The line of the first item in a backup. Each line has one.
const FIRST_LINE: u64 = 2;
/// Number of items that are restored with one sync. More than sign-ups may be: before the list is in its place, no power
/// cut can damage it.
const ITEMS_PER_SYNC: usize = 4096;

/// Removes what an interrupted restore has left in a data directory. It has the addresses of everybody in the backup.
pub(super) fn remove_leftovers(data: &Path) -> io::Result<()> {
    remove_dir_if_exists(&data.join(RESTORE_DIR))
}

impl SledWaitlist {
    /// Restores a backup into the data directory `data`, which must have an empty list or none. Everything is restored,
    /// durably, or nothing, whatever interrupts it. Deliveries that had begun are unknown. It blocks on the disk.
    ///
    /// # Errors
    /// [`RestoreError`]. Except after [`RestoreError::NotSynced`], the list is as empty as before, or missing.
    pub fn restore(
        data: &Path,
        list_key: ListKey,
        items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> Result<(), RestoreError> {
        let exists = data.join(STORE_DIR).try_exists().map_err(io_error(data))?;
        let list = exists.then(|| Self::open(data)).transpose()?;
        // A list that is missing is not created: until the restore is complete, no start may create an empty one.
        let _lock = (!exists).then(|| lock_data_dir(data)).transpose()?;
        let is_empty = |committer: &mut SledCommitter| committer.contents.is_empty();
        if let Some(list) = &list
            && !list
                .queue
                .blocking_request(|reply| Job::new(0, reply, is_empty))?
        {
            return Err(RestoreError::NotEmpty);
        }
        remove_leftovers(data).map_err(io_error(data))?;
        let beside = data.join(RESTORE_DIR);
        let restored = Self::open_with_list_key(&beside, list_key).map_err(RestoreError::from);
        let restored = restored.and_then(|new| new.add_items(items));
        let exchanged = restored.and_then(|()| {
            let exchange = || {
                sync_tree(&beside)?;
                if list.is_some() {
                    fs::rename(data.join(STORE_DIR), beside.join(OLD_STORE_DIR))?;
                }
                fs::rename(beside.join(STORE_DIR), data.join(STORE_DIR))
            };
            exchange().map_err(io_error(data))?;
            let synced = File::open(data).and_then(|data| data.sync_all());
            synced.map_err(RestoreError::NotSynced)
        });
        // If this fails, the next start removes it.
        let _ = remove_leftovers(data);
        exchanged
    }

    /// Adds the items of a backup, which are durable when it returns.
    fn add_items(
        self,
        mut items: impl Iterator<Item = io::Result<BackupItem>>,
    ) -> Result<(), RestoreError> {
        let mut line = FIRST_LINE;
        loop {
            let some: io::Result<Vec<_>> = items.by_ref().take(ITEMS_PER_SYNC).collect();
            let some = some.map_err(RestoreError::Backup)?;
            if some.is_empty() {
                return Ok(());
            }
            let next = line + some.len() as u64;
            let add = move |committer: &mut SledCommitter| {
                let mut items = (line..).zip(some);
                items.try_for_each(|(line, item)| {
                    let contradiction = |reason| RestoreError::Contradiction { line, reason };
                    committer.restore(item).map_err(contradiction)
                })
            };
            self.queue
                .blocking_request(|reply| Job::new(1, reply, add))??;
            line = next;
        }
    }
}

impl SledCommitter {
    /// Adds an item of a backup. Fails with a reason if the list has it already, or cannot have it.
    fn restore(&mut self, item: BackupItem) -> Result<(), &'static str> {
        match item {
            BackupItem::Suppressed(hash) if self.contents.suppressions.contains_hash(hash) => {
                return Err("this suppressed address is in it twice");
            }
            BackupItem::Suppressed(hash) => self.append([RecordItem::Suppressed(hash)]),
            BackupItem::Departure(it) if self.contents.suppressions.contains_departure(it.id) => {
                return Err("this departure is in it twice");
            }
            BackupItem::Departure(it) => self.append([RecordItem::Departure(it)]),
            BackupItem::Message(message) if self.contents.ledger.find(&message.id).is_some() => {
                return Err("this message is in it twice");
            }
            BackupItem::Message(message) => self
                .add_message(message)
                .map_err(|_| "a list in a directory has at most 65,536 messages")?,
            BackupItem::Delivery(message, delivery) => {
                let message = self.contents.ledger.find(&message);
                let message = message.ok_or("the message of this delivery is not before it")?;
                self.add_delivery(message, delivery);
            }
            BackupItem::Person(entry) if self.contents.people.contains(&entry.email.key()) => {
                return Err("this person is in it twice");
            }
            // Unlike a sign-up, this lifts no suppression.
            BackupItem::Person(entry) => self.append(self.items_of(entry)),
        }
        Ok(())
    }
}

impl From<SledOpenError> for RestoreError {
    fn from(error: SledOpenError) -> Self {
        Self::Open(error.into())
    }
}
