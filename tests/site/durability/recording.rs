//! Records what the program does to its files: three runs in which people sign up, and starts that fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, BufReader},
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use landing::waitlist::Email;
use tokio::runtime::Runtime;

use super::{
    sign_up_from,
    store_files::{Files, contents, restore},
    strace::{self, Call, Operation},
};
use crate::{
    mail::smtp_server::SmtpServer,
    process::{Sandbox, ServerProcess, landing, signal, write_locked},
    raw_store::open_database,
    store::webhook_endpoint::SECRET,
};

/// The page of an invitation, from which everybody signs up.
const INVITED: &str = "/?ref=invite-0123456789abcdef";

/// When the imported people confirmed their addresses, if they have.
pub(super) const CONFIRMED_AT: &str = "2026-11-02T08:00:00.000Z";
/// Number of people that the recorded import adds.
pub(super) const IMPORTED: u64 = 800;

/// Number of people who get a message, before a compaction and after it.
pub(super) const SENT: u64 = 120;

/// The calls of a program since its first start, with everything needed to judge the list afterwards.
pub(super) struct Recording {
    pub(super) root: PathBuf,
    pub(super) calls: Vec<Call>,
    /// The keys of all addresses that were sent.
    pub(super) sent: BTreeSet<String>,
    /// The keys of all addresses that the program was asked to erase.
    pub(super) erased: BTreeSet<String>,
    /// The old and the new key of each address that the program was asked to correct.
    pub(super) corrected: Vec<(String, String)>,
    /// The source, and whether the address is confirmed, of the keys of the imported people.
    pub(super) facts: BTreeMap<String, (String, bool)>,
    pub(super) rejected_periods: Vec<RejectedPeriod>,
}

/// A period in which files of the list were changed in such a way that a start rejects the list.
pub(super) struct RejectedPeriod {
    pub(super) lines: Range<usize>,
    /// The files before the change. `None` if a file did not exist.
    pub(super) before: BTreeMap<String, Option<Vec<u8>>>,
}

impl RejectedPeriod {
    /// Undoes the change.
    pub(super) fn restore(&self, store: &Path) {
        for (name, bytes) in &self.before {
            let file = store.join(name);
            match bytes {
                Some(bytes) => write_locked(&file, bytes),
                None => drop(fs::remove_file(file)),
            }
        }
    }
}

impl Recording {
    /// Records three runs in which people sign up, and starts that fail before each of them.
    ///
    /// 1. The first run ends with SIGTERM. Afterwards, the list gets the format of the version before this one, so that
    ///    the second run begins with its migration.
    /// 2. The second run is killed near its end.
    /// 3. During the third run, the owner imports and erases people, and compacts the list. It ends with SIGTERM.
    pub(super) fn record(sign_ups: u64, clients: u64) -> Self {
        let sandbox = Sandbox::new();
        let mut recording = Self {
            root: sandbox.path().to_owned(),
            calls: Vec::new(),
            sent: BTreeSet::new(),
            erased: BTreeSet::new(),
            corrected: Vec::new(),
            facts: BTreeMap::new(),
            rejected_periods: Vec::new(),
        };
        // Starts that fail while the list is created, and just after.
        recording.record_failed_start(&sandbox, "fsync:error=EIO:when=3");
        recording.record_failed_start(&sandbox, "rename:error=EIO");
        recording.record_failed_start(&sandbox, "fadvise64:error=EIO");
        for run in 0..3 {
            if run > 0 {
                recording.record_failed_starts(&sandbox);
            }
            let log = sandbox.path().join(format!("log{run}"));
            let server = ServerProcess::start(traced(&sandbox, &log, &[]));
            let process = server.child.id();

            let addresses: Vec<_> = (0..sign_ups).map(|number| address(run, number)).collect();
            let keys = addresses.iter().map(|address| key(address));
            recording.sent.extend(keys);
            let addresses = (0..sign_ups).zip(addresses).map(move |(number, address)| {
                if run == 1 && number == sign_ups * 9 / 10 {
                    thread::spawn(move || signal(process, "-KILL"));
                }
                address
            });
            let runtime = Runtime::new().expect("a runtime");
            thread::scope(|scope| {
                if run == 2 {
                    scope.spawn(|| recording.import_and_erase(&sandbox));
                }
                runtime.block_on(sign_up_from(INVITED, &server.addr, clients, addresses));
            });
            if run != 1 {
                signal(process, "-TERM");
            }
            strace::wait_for_end(&log, process);
            strace::read(&log, &mut recording.calls);
            if run == 1 {
                recording.add_unrecorded_writes(&sandbox);
            }
        }
        recording
    }

    /// Adds the contents of the files as writes, because strace can miss a write of a program that is killed.
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

    /// Records starts that fail on an existing list: the disk fails or is full at some step, or the files
    /// have another format, are damaged, or are older than the high-water mark.
    fn record_failed_starts(&mut self, sandbox: &Sandbox) {
        for failure in DISK_FAILURES {
            self.record_failed_start(sandbox, failure);
        }
        for change in REJECTED_CHANGES {
            self.record_rejected_start(sandbox, change);
        }
    }

    /// Records a start that rejects a changed list, checks that it writes nothing, and undoes the change.
    fn record_rejected_start(&mut self, sandbox: &Sandbox, change: fn(&Path)) {
        let store = sandbox.path().join("data/waitlist");
        let before = contents(&store);
        change(&store);
        let changed = contents(&store);
        let from = self.next_line();
        self.write(&store, &before, &changed);
        self.record_failed_start(sandbox, "");
        assert!(
            contents(&store) == changed,
            "a rejected start wrote to the list"
        );
        restore(&store, &before);
        self.write(&store, &changed, &before);
        self.add_rejected_period(from, &before, &changed);
    }

    /// Adds the period from a line to the last one, in which files were changed.
    fn add_rejected_period(&mut self, from: usize, before: &Files, changed: &Files) {
        let names = before.keys().chain(changed.keys());
        let names = names.filter(|name| before.get(*name) != changed.get(*name));
        self.rejected_periods.push(RejectedPeriod {
            lines: from..self.next_line(),
            before: names
                .map(|name| (name.clone(), before.get(name).cloned()))
                .collect(),
        });
    }

    /// Records a start that fails: with this failure, or without one because the list is rejected. Not every start makes
    /// the call that fails: one that migrates the list makes others. Then the server is stopped.
    fn record_failed_start(&mut self, sandbox: &Sandbox, failure: &str) {
        println!("a start that fails: {failure}");
        let log = sandbox.path().join(format!("rejected{}", self.calls.len()));
        let inject = format!("inject={failure}");
        let options: &[&str] = match failure {
            "" => &[],
            _ => &["-e", &inject],
        };
        let mut start = traced(sandbox, &log, options)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stderr = BufReader::new(start.stderr.take().expect("a pipe"));
        let mut lines = stderr.lines().map_while(Result::ok);
        let is_serving = lines.any(|line| line.contains("serving on"));
        if is_serving {
            assert_ne!(failure, "", "the list is not rejected");
            signal(start.id(), "-TERM");
        }
        strace::wait_for_end(&log, start.id());
        let code = start.wait().expect("the process ends").code();
        let expected = match failure {
            _ if is_serving => 0,
            // The list is rejected.
            "" => 3,
            _ => 1,
        };
        assert_eq!(code, Some(expected), "{failure}");
        strace::read(&log, &mut self.calls);
    }

    /// Adds the change from `before` to `after` to the recording, as synced writes of another program.
    fn write(&mut self, directory: &Path, before: &Files, after: &Files) {
        let mut operations = Vec::new();
        for (name, bytes) in after {
            let path = directory.join(name);
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
        operations.extend(gone.map(|name| Operation::Remove(directory.join(name))));
        operations.push(Operation::Sync(directory.to_owned()));
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

    /// Imports people, sends a message to some, erases and suppresses some of them, spread over many records, corrects
    /// others, and compacts the list.
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
        let file = sandbox.path().join("people.csv");
        let mut rows = String::from("email,joined_at,source,confirmed_at\n");
        for (number, person) in (0..).zip(&people) {
            let (source, is_confirmed) = (format!("source-{}", number % 7), number % 3 == 0);
            let confirmed_at = if is_confirmed { CONFIRMED_AT } else { "" };
            rows += &format!("{person},2026-11-01,{source},{confirmed_at}\n");
            // The rows of a person have the same times, so the first one counts.
            let facts = self.facts.entry(key(person));
            facts.or_insert((source, is_confirmed));
        }
        fs::write(&file, rows).expect("writable");
        let run = |args: Vec<String>| {
            let output = landing(sandbox.path()).args(args).output();
            assert!(output.expect("the program runs").status.success());
        };
        let message = sandbox.path().join("launch.md");
        fs::write(&message, "---\nsubject: Hello\n---\nHello\n").expect("writable");
        let server = SmtpServer::start();
        let send = |count: u64| {
            let args = [
                "send",
                &message.display().to_string(),
                "--yes",
                "--rate=0",
                &format!("--next={count}"),
                &format!("--smtp={}", server.url()),
                "--mail-from=hello@steward.test",
                "--origin=https://steward.test",
                "--skip-link-check",
            ];
            args.map(str::to_owned).to_vec()
        };
        for args in [
            vec!["import".into(), file.display().to_string()],
            send(SENT),
            [vec!["unsubscribe".into()], erased].concat(),
            vec!["compact".into()],
            send(SENT),
        ] {
            run(args);
        }
        for number in (1..IMPORTED).step_by(90) {
            let (old, new) = (address(9, number), corrected_address(number));
            self.sent.insert(key(&new));
            let facts = self.facts[&key(&old)].clone();
            self.facts.insert(key(&new), facts);
            self.corrected.push((key(&old), key(&new)));
            run(vec!["correct".into(), old, new]);
        }
        run(vec!["compact".into()]);
    }

    /// Returns how many segments of sled's log were started. Each has 512 KiB.
    pub(super) fn segments(&self) -> usize {
        let begins = |call: &&Call| {
            matches!(&call.operation, Operation::Write(path, Some(at), _)
                if path.ends_with("waitlist/db") && at % (512 << 10) == 0)
        };
        self.calls.iter().filter(begins).count()
    }
}

/// Returns the program under strace, on the list of the sandbox.
fn traced(sandbox: &Sandbox, log: &Path, options: &[&str]) -> Command {
    let mut command = strace::traced(sandbox, log, options);
    command.arg("--data").arg(sandbox.path().join("data"));
    // The list records events, which nobody accepts.
    command.env("LANDING_WEBHOOK", "http://127.0.0.1:1/");
    command.env("LANDING_WEBHOOK_SECRET", SECRET);
    command
}

/// Failures of the disk while a list is opened, in strace's syntax.
///
/// strace counts the calls of each thread. The first thread makes a trial copy, the second one opens the
/// copy, and a third one, with more calls, opens the list itself.
const DISK_FAILURES: [&str; 8] = [
    "mkdir:error=ENOSPC:when=2+",
    "copy_file_range:error=ENOSPC:when=1+",
    "pwrite64:error=ENOSPC:when=1+",
    "rename:error=ENOSPC:when=1",
    "fsync:error=EIO:when=2+",
    "pwrite64:error=ENOSPC:when=2+",
    "fsync:error=EIO:when=4+",
    "fsync:error=EIO:when=6",
];

/// Changes of a store for which a start rejects it: another format, files of another program, and a
/// high-water mark that is ahead of the list.
const REJECTED_CHANGES: [fn(&Path); 3] = [
    |store| {
        let database = open_database(store);
        let format = u64::MAX.to_be_bytes();
        database.insert("format", &format).expect("writable");
    },
    |store| fs::write(store.join("conf"), [b'?'; 40]).expect("writable"),
    |store| {
        let ahead = u64::MAX / 2;
        let mark = [ahead, !ahead].map(u64::to_be_bytes);
        fs::write(store.join("mark"), mark.as_flattened()).expect("writable");
    },
];

/// Returns an address. The addresses have many lengths, and each tenth repeats an earlier one in another
/// spelling.
fn address(run: u64, number: u64) -> String {
    if number % 10 == 9 {
        return address(run, number - 9).to_uppercase();
    }
    let padding = "x".repeat(number as usize * 7 % 50);
    let domain = "twenty-letters-long.".repeat(number as usize % 9);
    format!("{run}-{number}{padding}@{domain}example.com")
}

pub(super) fn key(address: &str) -> String {
    Email::parse(address).expect("an address").key()
}

/// Returns a long address. A record with one has room for few others.
fn corrected_address(number: u64) -> String {
    let label = "y".repeat(60);
    format!("corrected{number}@{label}.{label}.{label}.example.com")
}
