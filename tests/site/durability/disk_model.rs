//! What a disk may hold after a power cut: what was synced, and any parts of what was not.
//!
//! The rules are those that POSIX leaves: a write survives for sure when an fsync or fdatasync of its
//! file was begun after the write had returned, and has returned; a name when its folder was synced
//! so. What is not synced may be lost, by whole writes or by single sectors, and later writes may
//! survive earlier ones; the changes of names in one folder survive in their order, as every
//! journalling file system has it. `sync_file_range` promises nothing.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rand::{RngExt, rngs::StdRng};

use super::strace::{Call, Operation};

/// The unit that disks write whole.
const SECTOR: usize = 512;

/// What became of what was not synced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unsynced {
    Lost,
    Kept,
    /// Some of it, in pieces.
    Torn,
}

/// The files below a folder, through all that was done to them.
pub(super) struct DiskModel {
    root: PathBuf,
    /// The folder itself comes first.
    nodes: Vec<Node>,
    /// fdatasync does what it says.
    syncs_data: bool,
}

/// Changes that are not synced stand with the line when they were done.
enum Node {
    File {
        synced: Vec<u8>,
        changes: Vec<(usize, Change)>,
        /// With all changes.
        len: u64,
    },
    Folder {
        synced: Names,
        changes: Vec<(usize, NameChange)>,
        /// With all changes.
        now: Names,
    },
}

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
}

impl DiskModel {
    /// An empty folder.
    pub(super) fn new(root: &Path, syncs_data: bool) -> Self {
        Self {
            root: root.to_owned(),
            nodes: vec![Node::folder()],
            syncs_data,
        }
    }

    /// Does what the program did, a sync at its end and the rest at its begin.
    pub(super) fn apply(&mut self, call: &Call) {
        match &call.operation {
            Operation::Create(path) if self.find(path).is_none() => {
                self.add(path, call, Node::file())
            }
            Operation::MakeFolder(path) => self.add(path, call, Node::folder()),
            Operation::Rename(from, to) => {
                if let (Some((folder, from)), Some((other, to))) =
                    (self.parent_and_name(from), self.parent_and_name(to))
                {
                    assert_eq!(folder, other, "the rules know no rename between folders");
                    self.change_names(folder, call, NameChange::Rename(from, to));
                }
            }
            Operation::Remove(path) => {
                if let Some((folder, name)) = self.parent_and_name(path) {
                    self.change_names(folder, call, NameChange::Remove(name));
                }
            }
            Operation::Write(path, at, bytes) => {
                let change = |len| Change::Write(at.unwrap_or(len), bytes.clone());
                self.change_file(path, call, change);
            }
            Operation::SetLen(path, len) => self.change_file(path, call, |_| Change::SetLen(*len)),
            Operation::Sync(path) => self.sync(path, call.started),
            Operation::SyncData(path) if self.syncs_data => self.sync(path, call.started),
            Operation::Create(_)
            | Operation::SyncData(_)
            | Operation::Acknowledge(_)
            | Operation::Erase(_) => {}
        }
    }

    /// Writes a disk that a power cut may leave now.
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
                fs::write(to, bytes).expect("writable");
            }
            Node::Folder {
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

    /// The file or folder at a path, when it is below the root.
    fn find(&self, path: &Path) -> Option<usize> {
        let mut node = 0;
        for name in path.strip_prefix(&self.root).ok()? {
            let Node::Folder { now, .. } = &self.nodes[node] else {
                return None;
            };
            node = *now.get(name.to_str()?)?;
        }
        Some(node)
    }

    /// The folder and the name of a path.
    fn parent_and_name(&self, path: &Path) -> Option<(usize, String)> {
        let name = path.file_name()?.to_str()?.to_owned();
        Some((self.find(path.parent()?)?, name))
    }

    fn add(&mut self, path: &Path, call: &Call, node: Node) {
        if let Some((folder, name)) = self.parent_and_name(path) {
            let change = NameChange::Add(name, self.nodes.len());
            self.nodes.push(node);
            self.change_names(folder, call, change);
        }
    }

    fn change_names(&mut self, folder: usize, call: &Call, change: NameChange) {
        if let Node::Folder { changes, now, .. } = &mut self.nodes[folder] {
            change.apply(now);
            changes.push((call.finished, change));
        }
    }

    fn change_file(&mut self, path: &Path, call: &Call, change: impl FnOnce(u64) -> Change) {
        if let Some(node) = self.find(path)
            && let Node::File { changes, len, .. } = &mut self.nodes[node]
        {
            let change = change(*len);
            *len = match &change {
                Change::Write(at, bytes) => (*len).max(at + bytes.len() as u64),
                Change::SetLen(len) => *len,
            };
            changes.push((call.finished, change));
        }
    }

    /// What was done before this line is durable.
    fn sync(&mut self, path: &Path, line: usize) {
        let Some(node) = self.find(path) else { return };
        match &mut self.nodes[node] {
            Node::File {
                synced, changes, ..
            } => {
                for (_, change) in changes.extract_if(.., |(done, _)| *done < line) {
                    change.apply(synced);
                }
            }
            Node::Folder {
                synced, changes, ..
            } => {
                for (_, change) in changes.extract_if(.., |(done, _)| *done < line) {
                    change.apply(synced);
                }
            }
        }
    }
}

impl Node {
    fn file() -> Self {
        Self::File {
            synced: Vec::new(),
            changes: Vec::new(),
            len: 0,
        }
    }

    fn folder() -> Self {
        Self::Folder {
            synced: Names::new(),
            changes: Vec::new(),
            now: Names::new(),
        }
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetLen(len) => bytes.resize(*len as usize, 0),
            Self::Write(at, new) => put(bytes, *at as usize, new),
        }
    }

    /// Wholly, not at all, up to somewhere, or in single sectors.
    fn apply_torn(&self, bytes: &mut Vec<u8>, random: &mut StdRng) {
        let Self::Write(at, new) = self else {
            if random.random() {
                self.apply(bytes);
            }
            return;
        };
        let (at, end) = (*at as usize, *at as usize + new.len());
        let end_of_sector = |at: usize| (at / SECTOR + 1) * SECTOR;
        match random.random_range(0..4) {
            0 => {}
            1 => put(bytes, at, new),
            2 => {
                let end = end_of_sector(random.random_range(at..=end)).min(end);
                put(bytes, at, &new[..end - at]);
            }
            _ => {
                let mut from = at;
                while from < end {
                    let to = end_of_sector(from).min(end);
                    if random.random() {
                        put(bytes, from, &new[from - at..to - at]);
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
        }
    }
}

/// Puts bytes at a place; what lies between is zero.
fn put(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    let end = at + new.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(new);
}
