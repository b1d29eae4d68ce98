//! Records what the program does to its files: starts that fail, and three lives in which people sign up.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use landing::waitlist::Email;
use tokio::runtime::Runtime;

use super::{
    sign_up,
    strace::{self, Call, Operation},
};
use crate::process::{Sandbox, ServerProcess, signal};

/// People whom the owner imports.
pub(super) const IMPORTED: u64 = 800;

/// What a program did to its files, from its first start on.
pub(super) struct Recording {
    pub(super) root: PathBuf,
    pub(super) calls: Vec<Call>,
    /// Every address that was sent, by its key.
    pub(super) sent: BTreeSet<String>,
    /// Those that were to be erased.
    pub(super) erased: BTreeSet<String>,
    /// When the list was one that is refused, and what makes it whole again.
    pub(super) rejected_periods: Vec<RejectedPeriod>,
}

/// A time in which some files of the list had other contents.
pub(super) struct RejectedPeriod {
    pub(super) lines: Range<usize>,
    /// These files before it, or that one was not there.
    pub(super) before: BTreeMap<String, Option<Vec<u8>>>,
}

impl RejectedPeriod {
    /// Makes the list one that is accepted.
    pub(super) fn restore(&self, store: &Path) {
        for (name, bytes) in &self.before {
            let file = store.join(name);
            match bytes {
                Some(bytes) => fs::write(file, bytes).expect("writable"),
                None => drop(fs::remove_file(file)),
            }
        }
    }
}

impl Recording {
    /// Some starts that fail, and three lives in each of which people sign up: at the end of
    /// the first one the program is told to stop, and near the end of the second one it is killed. In
    /// the third one the owner imports and erases meanwhile.
    pub(super) fn record(sign_ups: u64, clients: u64) -> Self {
        let sandbox = Sandbox::new();
        let mut recording = Self {
            root: sandbox.path().to_owned(),
            calls: Vec::new(),
            sent: BTreeSet::new(),
            erased: BTreeSet::new(),
            rejected_periods: Vec::new(),
        };
        // Starts that fail while the list is created, and just after.
        recording.record_failed_start(&sandbox, "fsync:error=EIO:when=3");
        recording.record_failed_start(&sandbox, "rename:error=EIO");
        recording.record_failed_start(&sandbox, "fadvise64:error=EIO");
        for life in 0..3 {
            if life > 0 {
                recording.record_failed_starts(&sandbox);
            }
            let log = sandbox.path().join(format!("log{life}"));
            let server = ServerProcess::start(traced(&sandbox, &log, &[]));
            let process = server.child.id();

            let addresses: Vec<_> = (0..sign_ups).map(|one| address(life, one)).collect();
            let keys = addresses.iter().map(|address| key(address));
            recording.sent.extend(keys);
            let addresses = (0..sign_ups).zip(addresses).map(move |(number, address)| {
                if life == 1 && number == sign_ups * 9 / 10 {
                    thread::spawn(move || signal(process, "-KILL"));
                }
                address
            });
            let runtime = Runtime::new().expect("a runtime");
            thread::scope(|scope| {
                if life == 2 {
                    scope.spawn(|| recording.import_and_erase(&sandbox));
                }
                runtime.block_on(sign_up(&server.addr, clients, addresses));
            });
            if life != 1 {
                signal(process, "-TERM");
            }
            strace::wait_for_end(&log, process);
            strace::read(&log, &mut recording.calls);
            if life == 1 {
                recording.add_unrecorded_writes(&sandbox);
            }
        }
        recording
    }

    /// What the killed program has written is in its files, also a write that strace missed at the kill.
    fn add_unrecorded_writes(&mut self, sandbox: &Sandbox) {
        for name in ["db", "mark"] {
            let path = sandbox.path().join("data/waitlist").join(name);
            let bytes = fs::read(&path).expect("readable");
            let line = self.next_line();
            self.calls.push(Call {
                started: line,
                finished: line,
                operation: Operation::Write(path, Some(0), bytes),
            });
        }
    }

    /// Starts that fail on a list that is there: the disk fails or is full at some step, or the files
    /// are of another format, damaged, or older than the mark.
    fn record_failed_starts(&mut self, sandbox: &Sandbox) {
        for failure in DISK_FAILURES {
            self.record_failed_start(sandbox, failure);
        }
        for change in REJECTED_CHANGES {
            self.record_rejected_start(sandbox, change);
        }
    }

    /// A start on a list with a change for which it is refused: it writes nothing. Then the change is
    /// taken back.
    fn record_rejected_start(&mut self, sandbox: &Sandbox, change: fn(&Path)) {
        let store = sandbox.path().join("data/waitlist");
        let before = contents(&store);
        change(&store);
        let changed = contents(&store);
        let from = self.next_line();
        self.write(&store, &before, &changed);
        self.record_failed_start(sandbox, "");
        assert!(contents(&store) == changed, "a refused start has written");
        restore(&store, &before);
        self.write(&store, &changed, &before);
        let names = before.keys().chain(changed.keys());
        let names = names.filter(|name| before.get(*name) != changed.get(*name));
        self.rejected_periods.push(RejectedPeriod {
            lines: from..self.next_line(),
            before: names
                .map(|name| (name.clone(), before.get(name).cloned()))
                .collect(),
        });
    }

    /// A start that fails: as told, or in the end because the site's files are not there.
    fn record_failed_start(&mut self, sandbox: &Sandbox, failure: &str) {
        let log = sandbox.path().join(format!("refused{}", self.calls.len()));
        let inject = format!("inject={failure}");
        let options: &[&str] = match failure {
            "" => &[],
            _ => &["-e", &inject],
        };
        let [site, away] = ["site", "away"].map(|name| sandbox.path().join(name));
        fs::rename(&site, &away).expect("ours");
        let mut start = traced(sandbox, &log, options)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        strace::wait_for_end(&log, start.id());
        assert_eq!(start.wait().expect("it ends").code(), Some(1), "{failure}");
        fs::rename(&away, &site).expect("ours");
        strace::read(&log, &mut self.calls);
    }

    /// Records that somebody else writes the files of a folder, synced.
    fn write(&mut self, folder: &Path, before: &Files, after: &Files) {
        let mut operations = Vec::new();
        for (name, bytes) in after {
            let path = folder.join(name);
            match before.get(name) {
                Some(former) if former == bytes => continue,
                Some(_) => {}
                None => operations.push(Operation::Create(path.clone())),
            }
            operations.push(Operation::SetLen(path.clone(), bytes.len() as u64));
            operations.push(Operation::Write(path.clone(), Some(0), bytes.clone()));
            operations.push(Operation::Sync(path));
        }
        let gone = before.keys().filter(|name| !after.contains_key(*name));
        operations.extend(gone.map(|name| Operation::Remove(folder.join(name))));
        operations.push(Operation::Sync(folder.to_owned()));
        let first = self.next_line();
        let calls = (first..).zip(operations).map(|(line, operation)| Call {
            started: line,
            finished: line,
            operation,
        });
        self.calls.extend(calls);
    }

    fn next_line(&self) -> usize {
        self.calls
            .iter()
            .map(|call| call.started + 1)
            .max()
            .unwrap_or(0)
    }

    /// Imports people, and erases some who are in many records.
    fn import_and_erase(&mut self, sandbox: &Sandbox) {
        let people: Vec<_> = (0..IMPORTED).map(|number| address(9, number)).collect();
        let keys = people.iter().map(|address| key(address));
        self.sent.extend(keys);
        let erased: Vec<_> = (0..IMPORTED)
            .step_by(20)
            .map(|number| address(9, number))
            .collect();
        self.erased
            .extend(erased.iter().map(|address| key(address)));
        let file = sandbox.path().join("people.txt");
        fs::write(&file, people.join("\n")).expect("writable");
        for args in [
            vec!["import".into(), file.display().to_string()],
            [vec!["erase".into()], erased].concat(),
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
            let data = sandbox.path().join("data");
            let done = command.args(args).arg("--data").arg(data).output();
            assert!(done.expect("it runs").status.success());
        }
    }

    /// Segments of sled's log that were begun: each is 512 KiB.
    pub(super) fn segments(&self) -> usize {
        let begins = |call: &&Call| {
            matches!(&call.operation, Operation::Write(path, Some(at), _)
                if path.ends_with("waitlist/db") && at % (512 << 10) == 0)
        };
        self.calls.iter().filter(begins).count()
    }
}

/// The program, recorded, on the list of this place.
fn traced(sandbox: &Sandbox, log: &Path, options: &[&str]) -> Command {
    let mut command = strace::traced(sandbox, log, options);
    command.arg("--data").arg(sandbox.path().join("data"));
    command
}

/// How a disk fails while a list is opened. strace counts the calls of each thread: the copy is made by
/// the first one, the second one opens the copy, and a third one the list itself, with more calls.
pub(super) const DISK_FAILURES: [&str; 8] = [
    "mkdir:error=ENOSPC:when=2+",
    "copy_file_range:error=ENOSPC:when=1+",
    "pwrite64:error=ENOSPC:when=1+",
    "rename:error=ENOSPC:when=1",
    "fsync:error=EIO:when=2+",
    "pwrite64:error=ENOSPC:when=2+",
    "fsync:error=EIO:when=4+",
    "fsync:error=EIO:when=6",
];

/// Changes of a store for which a start refuses it: another format, files of another program, and marks
/// that are ahead of the list, by its last number and by its erasures.
pub(super) const REJECTED_CHANGES: [fn(&Path); 4] = [
    |store| {
        let database = ::sled::open(store).expect("sled opens");
        let format = u64::MAX.to_be_bytes();
        database.insert("format", &format).expect("writable");
    },
    |store| fs::write(store.join("conf"), [b'?'; 40]).expect("writable"),
    |store| set_mark(store, [AHEAD, 0]),
    |store| set_mark(store, [0, AHEAD]),
];

const AHEAD: u64 = u64::MAX / 2;

/// Each number stands with its complement.
fn set_mark(store: &Path, numbers: [u64; 2]) {
    let numbers = numbers.map(|number| [number.to_be_bytes(), (!number).to_be_bytes()]);
    fs::write(store.join("mark"), numbers.as_flattened().as_flattened()).expect("writable");
}

/// The files of a store by their names.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

pub(super) fn contents(store: &Path) -> Files {
    fs::read_dir(store)
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.is_file())
        .map(|path| {
            let name = path.file_name().expect("it has one").to_string_lossy();
            (name.into_owned(), fs::read(&path).expect("readable"))
        })
        .collect()
}

/// Makes the files of a store what they were.
pub(super) fn restore(store: &Path, files: &Files) {
    for name in contents(store).keys() {
        if !files.contains_key(name) {
            fs::remove_file(store.join(name)).expect("ours");
        }
    }
    for (name, bytes) in files {
        fs::write(store.join(name), bytes).expect("writable");
    }
}

/// Of many lengths; each tenth is one before it in another spelling.
fn address(life: u64, number: u64) -> String {
    if number % 10 == 9 {
        return address(life, number - 9).to_uppercase();
    }
    let filling = "x".repeat(number as usize * 7 % 50);
    let domain = "twenty-letters-long.".repeat(number as usize % 9);
    format!("{life}-{number}{filling}@{domain}example.com")
}

pub(super) fn key(address: &str) -> String {
    Email::parse(address).expect("an address").key()
}
