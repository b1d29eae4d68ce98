//! A model of the disk that a power cut leaves behind: all synced data, and any part of the unsynced data.
//!
//! The model assumes only what POSIX guarantees:
//!
//! - A write survives if an fsync or fdatasync of its file started after the write had returned, and has
//!   returned itself. A name survives if its directory was synced in the same way.
//! - Unsynced writes may be lost, whole or by single sectors. Later writes may survive earlier ones.
//! - `sync_file_range` guarantees nothing.
//!
//! In one respect the model assumes more, because every journalling file system guarantees it: the name
//! changes in one directory survive in their order.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rand::{RngExt, rngs::StdRng};

use super::strace::{Call, Operation};
use crate::process::write_locked;

/// The unit that disks write atomically, in bytes.
const SECTOR: usize = 512;

/// The fate of the unsynced changes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unsynced {
    Lost,
    Kept,
    /// Random parts survive.
    Torn,
}

/// The files below a directory, with their synced contents and their unsynced changes.
pub(super) struct DiskModel {
    root: PathBuf,
    /// The first one is the root directory.
    nodes: Vec<Node>,
    /// Whether fdatasync has an effect.
    syncs_data: bool,
}

/// A file or a directory. Each unsynced change has the line of the recording at which it returned.
enum Node {
    File {
        synced: Vec<u8>,
        changes: Vec<(usize, Change)>,
        /// The length after all changes.
        len: u64,
    },
    Directory {
        synced: Names,
        changes: Vec<(usize, NameChange)>,
        /// The names after all changes.
        current: Names,
    },
}

/// The names in a directory, each with the index of its node.
type Names = BTreeMap<String, usize>;

#[derive(Clone)]
enum Change {
    Write(u64, Vec<u8>),
    SetLen(u64),
}

#[derive(Clone)]
enum NameChange {
    Add(String, usize),
    Remove(String),
    Rename(String, String),
    Exchange(String, String),
}

impl DiskModel {
    /// Creates the model of an empty directory.
    pub(super) fn new(root: &Path, syncs_data: bool) -> Self {
        Self {
            root: root.to_owned(),
            nodes: vec![Node::empty_directory()],
            syncs_data,
        }
    }

    /// Applies a recorded call.
    pub(super) fn apply(&mut self, call: &Call) {
        match &call.operation {
            Operation::Create(path) if self.find(path).is_none() => {
                self.add(path, call, Node::empty_file())
            }
            Operation::MakeDirectory(path) => self.add(path, call, Node::empty_directory()),
            Operation::Rename(from, to) => self.rename(from, to, call, NameChange::Rename),
            Operation::Exchange(one, other) => self.rename(one, other, call, NameChange::Exchange),
            Operation::Remove(path) => {
                if let Some((directory, name)) = self.parent_and_name(path) {
                    self.change_names(directory, call, NameChange::Remove(name));
                }
            }
            Operation::Write(path, offset, bytes) => {
                let change = |len| Change::Write(offset.unwrap_or(len), bytes.clone());
                self.change_file(path, call, change);
            }
            Operation::SetLen(path, len) => self.change_file(path, call, |_| Change::SetLen(*len)),
            Operation::Sync(path) => self.sync(path, call.started),
            Operation::SyncData(path) if self.syncs_data => self.sync(path, call.started),
            Operation::Create(_)
            | Operation::SyncData(_)
            | Operation::Acknowledge(_)
            | Operation::Erase(_)
            | Operation::Correct(..)
            | Operation::Begin(_)
            | Operation::Accept(_) => {}
        }
    }

    /// Writes a disk that a power cut can leave behind at this point.
    pub(super) fn write_out(&self, to: &Path, unsynced: Unsynced, random: &mut StdRng) {
        self.write_node(0, to, unsynced, random);
    }

    fn write_node(&self, node: usize, to: &Path, unsynced: Unsynced, random: &mut StdRng) {
        match &self.nodes[node] {
            Node::File {
                synced, changes, ..
            } => {
                let mut bytes = synced.clone();
                for (_, change) in changes {
                    match unsynced {
                        Unsynced::Lost => {}
                        Unsynced::Kept => change.apply(&mut bytes),
                        Unsynced::Torn => change.apply_torn(&mut bytes, random),
                    }
                }
                write_locked(to, &bytes);
            }
            Node::Directory {
                synced, changes, ..
            } => {
                let kept = match unsynced {
                    Unsynced::Lost => 0,
                    Unsynced::Kept => changes.len(),
                    Unsynced::Torn => random.random_range(0..=changes.len()),
                };
                let mut names = synced.clone();
                for (_, change) in &changes[..kept] {
                    change.apply(&mut names);
                }
                fs::create_dir_all(to).expect("writable");
                for (name, node) in names {
                    self.write_node(node, &to.join(name), unsynced, random);
                }
            }
        }
    }

    /// Returns the node at a path, if it exists below the root.
    fn find(&self, path: &Path) -> Option<usize> {
        let mut node = 0;
        for name in path.strip_prefix(&self.root).ok()? {
            let Node::Directory { current, .. } = &self.nodes[node] else {
                return None;
            };
            node = *current.get(name.to_str()?)?;
        }
        Some(node)
    }

    /// Returns the directory and the name of a path, if the directory exists below the root.
    fn parent_and_name(&self, path: &Path) -> Option<(usize, String)> {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((self.find(path.parent()?)?, name))
    }

    fn rename(
        &mut self,
        from: &Path,
        to: &Path,
        call: &Call,
        change: fn(String, String) -> NameChange,
    ) {
        if let (Some((directory, from)), Some((other, to))) =
            (self.parent_and_name(from), self.parent_and_name(to))
        {
            assert_eq!(
                directory, other,
                "a rename between directories is not modelled"
            );
            self.change_names(directory, call, change(from, to));
        }
    }

    fn add(&mut self, path: &Path, call: &Call, node: Node) {
        if let Some((directory, name)) = self.parent_and_name(path) {
            let change = NameChange::Add(name, self.nodes.len());
            self.nodes.push(node);
            self.change_names(directory, call, change);
        }
    }

    fn change_names(&mut self, directory: usize, call: &Call, change: NameChange) {
        let node = &mut self.nodes[directory];
        if let Node::Directory {
            changes, current, ..
        } = node
        {
            change.apply(current);
            changes.push((call.finished, change));
        }
    }

    fn change_file(&mut self, path: &Path, call: &Call, change: impl FnOnce(u64) -> Change) {
        if let Some(node) = self.find(path)
            && let Node::File { changes, len, .. } = &mut self.nodes[node]
        {
            let change = change(*len);
            *len = match &change {
                Change::Write(offset, bytes) => (*len).max(offset + bytes.len() as u64),
                Change::SetLen(len) => *len,
            };
            changes.push((call.finished, change));
        }
    }

    /// Makes the changes durable that returned before `line`, the line at which the sync started.
    fn sync(&mut self, path: &Path, line: usize) {
        let Some(node) = self.find(path) else { return };
        match &mut self.nodes[node] {
            Node::File {
                synced, changes, ..
            } => {
                for (_, change) in changes.extract_if(.., |(finished, _)| *finished < line) {
                    change.apply(synced);
                }
            }
            Node::Directory {
                synced, changes, ..
            } => {
                for (_, change) in changes.extract_if(.., |(finished, _)| *finished < line) {
                    change.apply(synced);
                }
            }
        }
    }
}

impl Node {
    fn empty_file() -> Self {
        Self::File {
            synced: Vec::new(),
            changes: Vec::new(),
            len: 0,
        }
    }

    fn empty_directory() -> Self {
        Self::Directory {
            synced: Names::new(),
            changes: Vec::new(),
            current: Names::new(),
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => bytes.resize(*len as usize, 0),
            Self::Write(offset, new) => write_at(bytes, *offset as usize, new),
        }
    }

    /// Applies the change whole, not at all, up to the end of a random sector, or in random sectors.
    fn apply_torn(&self, bytes: &mut Vec<u8>, random: &mut StdRng) {
        let Self::Write(offset, new) = self else {
            if random.random() {
                self.apply(bytes);
            }
            return;
        };
        let (start, end) = (*offset as usize, *offset as usize + new.len());
        let end_of_sector = |offset: usize| (offset / SECTOR + 1) * SECTOR;
        match random.random_range(0..4) {
            0 => {}
            1 => write_at(bytes, start, new),
            2 => {
                let end = end_of_sector(random.random_range(start..=end)).min(end);
                write_at(bytes, start, &new[..end - start]);
            }
            _ => {
                let mut from = start;
                while from < end {
                    let to = end_of_sector(from).min(end);
                    if random.random() {
                        write_at(bytes, from, &new[from - start..to - start]);
                    }
                    from = to;
                }
            }
        }
    }
}

impl NameChange {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Add(name, node) => drop(names.insert(name.clone(), *node)),
            Self::Remove(name) => drop(names.remove(name)),
            Self::Rename(from, to) => {
                if let Some(node) = names.remove(from) {
                    names.insert(to.clone(), node);
                }
            }
            Self::Exchange(one, other) => {
                if let (Some(first), Some(second)) = (names.remove(one), names.remove(other)) {
                    names.insert(other.clone(), first);
                    names.insert(one.clone(), second);
                }
            }
        }
    }
}

/// Writes bytes at an offset, and fills a gap before it with zeros.
fn write_at(bytes: &mut Vec<u8>, offset: usize, new: &[u8]) {
    let end = offset + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(new);
}
