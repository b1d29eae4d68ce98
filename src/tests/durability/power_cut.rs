//! The power goes off: what the program does to its files while people sign up is recorded, disks
//! are rebuilt as a cut may have left them, and the list is opened on each.

use std::{
    collections::BTreeSet,
    fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    thread,
    time::UNIX_EPOCH,
};

use landing::waitlist::{Email, Entry, Joined, Selection, SledWaitlist, StoreError, Waitlist};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    disk::{Disk, Unsynced},
    number, sign_up,
    strace::{self, Call, Deed},
};
use crate::running::{Place, Running, signal};

/// Disks that are rebuilt. `make powercut` has more of everything.
const CUTS: u64 = 240;
/// In each of the program's three lives.
const SIGN_UPS: u64 = 600;
/// Clients at once.
const CLIENTS: u64 = 6;
/// People whom the owner imports.
const IMPORTED: u64 = 800;

static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let sign_ups = number("POWER_CUT_SIGN_UPS", SIGN_UPS);
    Recording::make(sign_ups, number("POWER_CUT_CLIENTS", CLIENTS))
});

#[test]
fn after_a_power_cut_all_that_was_acknowledged_is_there() {
    let cuts = number("POWER_CUTS", CUTS);
    let failures = RECORDING.cut(cuts, true);
    println!(
        "{cuts} power cuts in {} calls, {} sign-ups, {} segments of the log: {} failures",
        RECORDING.calls.len(),
        RECORDING.sent.len(),
        RECORDING.segments(),
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Else the test above would prove nothing.
#[test]
fn without_the_sync_after_each_batch_sign_ups_would_be_lost() {
    let failures = RECORDING.cut(40, false);
    let lost = failures.iter().filter(|told| told.contains("missing"));
    assert!(lost.count() > 10, "{failures:?}");
}

#[test]
fn the_cuts_come_also_after_an_import_and_an_erasure() {
    let told = |deed: &Deed| match deed {
        Deed::Erase(addresses) => addresses.len(),
        _ => 0,
    };
    let erased: usize = RECORDING.calls.iter().map(|call| told(&call.deed)).sum();
    assert_eq!(erased, IMPORTED as usize / 20);
    assert!(
        RECORDING.calls.iter().any(
            |call| matches!(&call.deed, Deed::Acknowledge(addresses) if addresses.len() > 100)
        )
    );
}

/// What a program did to its files, from its first start on.
struct Recording {
    root: PathBuf,
    calls: Vec<Call>,
    /// Every address that was sent, by its key.
    sent: BTreeSet<String>,
    /// Those that were to be erased.
    erased: BTreeSet<String>,
    /// When the list was one that is refused, and what makes it whole again.
    refusable: Vec<Refusable>,
}

/// A time in which a file of the list had other contents.
struct Refusable {
    lines: Range<usize>,
    file: &'static str,
    before: Vec<u8>,
}

impl Recording {
    /// Some starts that fail, and three lives in each of which people sign up: at the end of
    /// the first one the program is told to stop, and near the end of the second one it is killed. In
    /// the third one the owner imports and erases meanwhile.
    fn make(sign_ups: u64, clients: u64) -> Self {
        let place = Place::new();
        let mut recording = Self {
            root: place.path().to_owned(),
            calls: Vec::new(),
            sent: BTreeSet::new(),
            erased: BTreeSet::new(),
            refusable: Vec::new(),
        };
        // Starts that fail while the list is created, and just after.
        recording.refuse(&place, "fsync:error=EIO:when=3");
        recording.refuse(&place, "rename:error=EIO");
        recording.refuse(&place, "fadvise64:error=EIO");
        for life in 0..3 {
            if life > 0 {
                recording.refuse_all(&place);
            }
            let log = place.path().join(format!("log{life}"));
            let server = Running::start(recorded(&place, &log, &[]));
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
                    scope.spawn(|| recording.manage(&place));
                }
                runtime.block_on(sign_up(&server.addr, clients, addresses));
            });
            if life != 1 {
                signal(process, "-TERM");
            }
            strace::wait_for_end(&log, process);
            strace::read(&log, &mut recording.calls);
        }
        recording
    }

    /// Starts that fail on a list that is there: the disk fails or is full at some step, or the files
    /// are of another format, damaged, or older than the mark.
    fn refuse_all(&mut self, place: &Place) {
        for failure in DISK_FAILURES {
            self.refuse(place, failure);
        }
        let [none, ahead] = [0, u64::MAX / 2].map(|n: u64| [n.to_be_bytes(), (!n).to_be_bytes()]);
        let contents = [
            ("conf", vec![b'?'; 40]),
            ("mark", [ahead, none].as_flattened().concat()),
            ("mark", [none, ahead].as_flattened().concat()),
        ];
        for (file, bytes) in contents {
            let path = place.path().join("data/waitlist").join(file);
            let before = fs::read(&path).expect("readable");
            let from = self.write(&path, &bytes);
            self.refuse(place, "");
            let to = self.write(&path, &before);
            self.refusable.push(Refusable {
                lines: from..to + 3,
                file,
                before,
            });
        }
    }

    /// A start that fails: as told, or in the end because the site's files are not there.
    fn refuse(&mut self, place: &Place, failure: &str) {
        let log = place.path().join(format!("refused{}", self.calls.len()));
        let inject = format!("inject={failure}");
        let options: &[&str] = match failure {
            "" => &[],
            _ => &["-e", &inject],
        };
        let [site, away] = ["site", "away"].map(|name| place.path().join(name));
        fs::rename(&site, &away).expect("ours");
        let mut start = recorded(place, &log, options)
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        strace::wait_for_end(&log, start.id());
        assert_eq!(start.wait().expect("it ends").code(), Some(1), "{failure}");
        fs::rename(&away, &site).expect("ours");
        strace::read(&log, &mut self.calls);
    }

    /// Writes a file, synced, and returns the line at which that begins.
    fn write(&mut self, path: &Path, bytes: &[u8]) -> usize {
        fs::write(path, bytes).expect("writable");
        let first = self.calls.last().map_or(0, |call| call.begun + 1);
        let deeds = [
            Deed::SetLen(path.to_owned(), bytes.len() as u64),
            Deed::Write(path.to_owned(), Some(0), bytes.to_owned()),
            Deed::Sync(path.to_owned()),
        ];
        self.calls
            .extend((first..).zip(deeds).map(|(line, deed)| Call {
                begun: line,
                done: line,
                deed,
            }));
        first
    }

    /// Imports people, and erases some who are in many records.
    fn manage(&mut self, place: &Place) {
        let people: Vec<_> = (0..IMPORTED).map(|number| address(9, number)).collect();
        let keys = people.iter().map(|address| key(address));
        self.sent.extend(keys);
        let erased: Vec<_> = (0..IMPORTED)
            .step_by(20)
            .map(|number| address(9, number))
            .collect();
        self.erased
            .extend(erased.iter().map(|address| key(address)));
        let file = place.path().join("people.txt");
        fs::write(&file, people.join("\n")).expect("writable");
        for args in [
            vec!["import".into(), file.display().to_string()],
            [vec!["erase".into()], erased].concat(),
        ] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
            let data = place.path().join("data");
            let done = command.args(args).arg("--data").arg(data).output();
            assert!(done.expect("it runs").status.success());
        }
    }

    /// Segments of sled's log that were begun: each is 512 KiB.
    fn segments(&self) -> usize {
        let begins = |call: &&Call| {
            matches!(&call.deed, Deed::Write(path, Some(at), _)
                if path.ends_with("waitlist/db") && at % (512 << 10) == 0)
        };
        self.calls.iter().filter(begins).count()
    }

    /// Rebuilds as many disks as cuts at random moments may have left, opens each, and returns what is
    /// wrong with some.
    fn cut(&self, cuts: u64, syncs_data: bool) -> Vec<String> {
        let workers = thread::available_parallelism().map_or(2, |cores| cores.get().min(4) as u64);
        thread::scope(|scope| {
            let cut =
                |worker| scope.spawn(move || self.cut_alone(worker, cuts / workers, syncs_data));
            let workers: Vec<_> = (0..workers).map(cut).collect();
            let failures = workers.into_iter().map(|it| it.join().expect("no panic"));
            failures.flatten().collect()
        })
    }

    fn cut_alone(&self, worker: u64, cuts: u64, syncs_data: bool) -> Vec<String> {
        let seed = number("POWER_CUT_SEED", 1) * 1000 + worker;
        let mut random = StdRng::seed_from_u64(seed);
        let calls = in_order_of_effect(&self.calls);
        // A third of them at starts and stops, where the calls are few and different.
        let is_usual = |deed: &Deed| {
            matches!(
                deed,
                Deed::Write(..) | Deed::SyncData(_) | Deed::Acknowledge(_)
            )
        };
        let (usual, special): (Vec<_>, Vec<_>) =
            (0..calls.len()).partition(|moment| is_usual(&calls[*moment].deed));
        let mut moment = |cut| {
            let moments = if cut % 3 == 0 { &special } else { &usual };
            moments[random.random_range(0..moments.len())]
        };
        let mut moments: Vec<_> = (0..cuts).map(&mut moment).collect();
        moments.sort_unstable();
        let mut moments = moments.into_iter().peekable();

        let mut disk = Disk::new(&self.root, syncs_data);
        let (mut acknowledged, mut gone) = (BTreeSet::new(), BTreeSet::new());
        let mut failures = Vec::new();
        for (moment, call) in calls.into_iter().enumerate() {
            disk.apply(call);
            match &call.deed {
                Deed::Acknowledge(addresses) => {
                    let keys = addresses.iter().map(|address| key(address));
                    // Of one that is being erased nothing is promised until it is.
                    acknowledged.extend(keys.filter(|key| !self.erased.contains(key)));
                }
                Deed::Erase(addresses) => gone.extend(addresses.iter().map(|address| key(address))),
                _ => {}
            }
            while moments.next_if_eq(&moment).is_some() {
                let unsynced = match random.random_range(0..8) {
                    0 => Unsynced::Lost,
                    1 => Unsynced::Kept,
                    _ => Unsynced::Torn,
                };
                let left = folder();
                disk.write_out(left.path(), unsynced, &mut random);
                let at = call.begun;
                for it in self.refusable.iter().filter(|it| it.lines.contains(&at)) {
                    let file = left.path().join("data/waitlist").join(it.file);
                    fs::write(file, &it.before).expect("writable");
                }
                if let Err(told) = self.open(left.path(), &acknowledged, &gone) {
                    failures.push(format!("after call {moment}, seed {seed}: {told}"));
                }
            }
        }
        failures
    }

    /// Opens the list on a disk, signs one more up, and opens it again: everybody is there.
    fn open(
        &self,
        root: &Path,
        acknowledged: &BTreeSet<String>,
        gone: &BTreeSet<String>,
    ) -> Result<(), String> {
        let open = || SledWaitlist::open(&root.join("data")).map_err(|error| error.to_string());
        let list = open()?;
        let before = self.look(&list, acknowledged, gone)?;
        let last = Entry {
            email: Email::parse(LAST).expect("valid"),
            joined_at: UNIX_EPOCH,
        };
        let runtime = Runtime::new().expect("a runtime");
        let joined = runtime.block_on(list.join(last));
        if joined != Ok(Joined::New) {
            return Err(format!("nobody can join: {joined:?}"));
        }
        drop(list);
        let after = self.look(&open()?, acknowledged, gone)?;
        if after != before + 1 {
            return Err(format!("of {before} and one more are left {after}"));
        }
        Ok(())
    }

    /// Looks whether everybody is on the list, once and counted, and nobody who was erased.
    fn look(
        &self,
        list: &SledWaitlist,
        promised: &BTreeSet<String>,
        gone: &BTreeSet<String>,
    ) -> Result<u64, String> {
        let unreadable = |error: StoreError| error.to_string();
        let entries = list.entries(Selection::default()).map_err(unreadable)?;
        let keys = entries.map(|entry| entry.map(|entry| entry.email.key()));
        let keys: Vec<_> = keys.collect::<Result<_, _>>().map_err(unreadable)?;
        let listed: BTreeSet<_> = keys.iter().cloned().collect();
        let count = list.count();
        if (keys.len(), listed.len() as u64) != (listed.len(), count) {
            return Err(format!("{} entries are counted as {count}", keys.len()));
        }
        if let Some(missing) = promised.difference(&listed).next() {
            return Err(format!("{missing} was acknowledged and is missing"));
        }
        if let Some(back) = gone.intersection(&listed).next() {
            return Err(format!("{back} was erased and is back"));
        }
        let is_unknown = |key: &&String| !self.sent.contains(*key) && *key != LAST;
        if let Some(unknown) = listed.iter().find(is_unknown) {
            return Err(format!("{unknown} never signed up"));
        }
        Ok(count)
    }
}

/// The program, recorded, on the list of this place.
fn recorded(place: &Place, log: &Path, options: &[&str]) -> Command {
    let mut command = strace::recorded(place, log, options);
    command.arg("--data").arg(place.path().join("data"));
    command
}

/// How a disk fails while a list is opened. strace counts the calls of each thread: the copy is made by
/// the first one, the second one opens the copy, and a third one the list itself, with more calls.
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

/// Signs up when the power is there again.
const LAST: &str = "last@example.com";

/// A sync counts when it has returned, all else as soon as it is begun.
fn in_order_of_effect(calls: &[Call]) -> Vec<&Call> {
    let effect = |call: &Call| match call.deed {
        Deed::Sync(_) | Deed::SyncData(_) => call.done,
        _ => call.begun,
    };
    let mut calls: Vec<_> = calls.iter().collect();
    calls.retain(|call| effect(call) < usize::MAX);
    calls.sort_by_key(|call| effect(call));
    calls
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

fn key(address: &str) -> String {
    Email::parse(address).expect("an address").key()
}

/// In memory where there is such a place: a rebuilt disk is needed for a moment only.
fn folder() -> TempDir {
    let in_memory = TempDir::new_in("/dev/shm");
    in_memory.or_else(|_| TempDir::new()).expect("a directory")
}
