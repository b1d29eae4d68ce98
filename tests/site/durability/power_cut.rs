//! The power goes off: what the program does to its files while people sign up is recorded, disks
//! are rebuilt as a cut may have left them, and the list is opened on each.

use std::{collections::BTreeSet, path::Path, sync::LazyLock, thread, time::UNIX_EPOCH};

use landing::waitlist::{
    Email, JoinOutcome, Selection, SledWaitlist, StoreError, Waitlist, WaitlistEntry,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    disk_model::{DiskModel, Unsynced},
    env_number,
    recording::{IMPORTED, Recording, key},
    strace::{Call, Operation},
};

/// Disks that are rebuilt. `make powercut` has more of everything.
const CUTS: u64 = 240;
/// In each of the program's three lives.
const SIGN_UPS: u64 = 600;
/// Clients at once.
const CLIENTS: u64 = 6;

static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let sign_ups = env_number("POWER_CUT_SIGN_UPS", SIGN_UPS);
    Recording::record(sign_ups, env_number("POWER_CUT_CLIENTS", CLIENTS))
});

#[test]
fn acknowledged_sign_ups_survive_a_power_cut() {
    let cuts = env_number("POWER_CUTS", CUTS);
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
fn detects_lost_sign_ups_without_fdatasync() {
    let failures = RECORDING.cut(40, false);
    let lost = failures.iter().filter(|error| error.contains("missing"));
    assert!(lost.count() > 10, "{failures:?}");
}

#[test]
fn recording_includes_an_import_and_an_erasure() {
    let erased_count = |operation: &Operation| match operation {
        Operation::Erase(addresses) => addresses.len(),
        _ => 0,
    };
    let erased: usize = RECORDING
        .calls
        .iter()
        .map(|call| erased_count(&call.operation))
        .sum();
    assert_eq!(erased, IMPORTED as usize / 20);
    assert!(RECORDING.calls.iter().any(
        |call| matches!(&call.operation, Operation::Acknowledge(addresses) if addresses.len() > 100)
    ));
}

impl Recording {
    /// Rebuilds as many disks as cuts at random moments may have left, opens each, and returns what is
    /// wrong with some.
    fn cut(&self, cuts: u64, syncs_data: bool) -> Vec<String> {
        let workers = thread::available_parallelism().map_or(2, |cores| cores.get().min(4) as u64);
        thread::scope(|scope| {
            let cut = |worker| {
                scope.spawn(move || self.cut_in_worker(worker, cuts / workers, syncs_data))
            };
            let workers: Vec<_> = (0..workers).map(cut).collect();
            let failures = workers.into_iter().map(|it| it.join().expect("no panic"));
            failures.flatten().collect()
        })
    }

    fn cut_in_worker(&self, worker: u64, cuts: u64, syncs_data: bool) -> Vec<String> {
        let seed = env_number("POWER_CUT_SEED", 1) * 1000 + worker;
        let mut random = StdRng::seed_from_u64(seed);
        let calls = in_order_of_effect(&self.calls);
        // A third of them at starts and stops, where the calls are few and different.
        let is_usual = |operation: &Operation| {
            matches!(
                operation,
                Operation::Write(..) | Operation::SyncData(_) | Operation::Acknowledge(_)
            )
        };
        let (usual, special): (Vec<_>, Vec<_>) =
            (0..calls.len()).partition(|moment| is_usual(&calls[*moment].operation));
        let mut moment = |cut| {
            let moments = if cut % 3 == 0 { &special } else { &usual };
            moments[random.random_range(0..moments.len())]
        };
        let mut moments: Vec<_> = (0..cuts).map(&mut moment).collect();
        moments.sort_unstable();
        let mut moments = moments.into_iter().peekable();

        let mut disk = DiskModel::new(&self.root, syncs_data);
        let (mut acknowledged, mut gone) = (BTreeSet::new(), BTreeSet::new());
        let mut failures = Vec::new();
        for (moment, call) in calls.into_iter().enumerate() {
            disk.apply(call);
            match &call.operation {
                Operation::Acknowledge(addresses) => {
                    let keys = addresses.iter().map(|address| key(address));
                    // Of one that is being erased nothing is promised until it is.
                    acknowledged.extend(keys.filter(|key| !self.erased.contains(key)));
                }
                Operation::Erase(addresses) => {
                    gone.extend(addresses.iter().map(|address| key(address)))
                }
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
                let at = call.started;
                for it in self
                    .rejected_periods
                    .iter()
                    .filter(|it| it.lines.contains(&at))
                {
                    it.restore(&left.path().join("data/waitlist"));
                }
                if let Err(error) = self.open(left.path(), &acknowledged, &gone) {
                    failures.push(format!("after call {moment}, seed {seed}: {error}"));
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
        let before = self.verify(&list, acknowledged, gone)?;
        let last = WaitlistEntry {
            email: Email::parse(LAST).expect("valid"),
            joined_at: UNIX_EPOCH,
        };
        let runtime = Runtime::new().expect("a runtime");
        let joined = runtime.block_on(list.join(last));
        if joined != Ok(JoinOutcome::New) {
            return Err(format!("nobody can join: {joined:?}"));
        }
        drop(list);
        let after = self.verify(&open()?, acknowledged, gone)?;
        if after != before + 1 {
            return Err(format!("of {before} and one more are left {after}"));
        }
        Ok(())
    }

    /// Looks whether everybody is on the list, once and counted, and nobody who was erased.
    fn verify(
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

/// Signs up when the power is there again.
const LAST: &str = "last@example.com";

/// A sync counts when it has returned, all else as soon as it is begun.
fn in_order_of_effect(calls: &[Call]) -> Vec<&Call> {
    let effect = |call: &Call| match call.operation {
        Operation::Sync(_) | Operation::SyncData(_) => call.finished,
        _ => call.started,
    };
    let mut calls: Vec<_> = calls.iter().collect();
    calls.retain(|call| effect(call) < usize::MAX);
    calls.sort_by_key(|call| effect(call));
    calls
}

/// In memory where there is such a place: a rebuilt disk is needed for a moment only.
fn folder() -> TempDir {
    let in_memory = TempDir::new_in("/dev/shm");
    in_memory.or_else(|_| TempDir::new()).expect("a directory")
}
