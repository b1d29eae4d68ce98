//! Simulates power cuts: no acknowledged sign-up may be lost, and no erased address may come back.
//!
//! 1. [`Recording`] runs the program under strace while people sign up. It keeps every call that changes a
//!    file, syncs it, or acknowledges a sign-up.
//! 2. For each cut, [`DiskModel`] replays the calls up to a random moment. It then writes a disk that a power
//!    cut at that moment can leave behind.
//! 3. The list is opened on that disk and compared with the acknowledgements before that moment.
//!
//! As a cross-check, the same cuts on a disk whose fdatasync does nothing must lose sign-ups.

use std::{collections::BTreeSet, path::Path, thread, time::UNIX_EPOCH};

use landing::waitlist::{
    DeliveryState, Email, JoinOutcome, Ledger, OwnerList, Selection, SledWaitlist, Source,
    StoreError, Waitlist, WaitlistEntry,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::{
    disk_model::{DiskModel, Unsynced},
    env_number,
    recording::{IMPORTED, Recording, SENT, key},
    strace::{Call, Operation},
};
use crate::store::events::events;

/// Number of disks to rebuild. `make torture NAME=powercut` runs with larger numbers.
const CUTS: u64 = 160;
/// Sign-ups in each of the program's three runs.
const SIGN_UPS: u64 = 600;
/// Concurrent clients.
const CLIENTS: u64 = 6;

#[test]
fn acknowledged_sign_ups_survive_a_power_cut() {
    let sign_ups = env_number("POWER_CUT_SIGN_UPS", SIGN_UPS);
    let recording = Recording::record(sign_ups, env_number("POWER_CUT_CLIENTS", CLIENTS));
    recording.assert_has_owner_commands();

    let cuts = env_number("POWER_CUTS", CUTS);
    let failures = recording.simulate_cuts(cuts, true);
    println!(
        "{cuts} power cuts in {} calls, {} sign-ups, {} segments of the log: {} failures",
        recording.calls.len(),
        recording.sent.len(),
        recording.segments(),
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));

    // Without fdatasync, lists must get lost. Otherwise the check above would prove nothing.
    let failures = recording.simulate_cuts(40, false);
    assert!(failures.len() > 10, "{failures:?}");
}

/// What the program has promised until a moment. People are named by their keys.
#[derive(Default)]
struct Promised {
    listed: BTreeSet<String>,
    erased: BTreeSet<String>,
    /// Those who are corrected later.
    imported: BTreeSet<String>,
    /// The numbers of the deliveries that have begun.
    begun: BTreeSet<u32>,
    /// The numbers of the deliveries that the mail server has accepted.
    accepted: BTreeSet<u32>,
}

impl Recording {
    /// Checks that the program imported and erased people and compacted the list while it was recorded.
    fn assert_has_owner_commands(&self) {
        let erased_count = |operation: &Operation| match operation {
            Operation::Erase(addresses) => addresses.len(),
            _ => 0,
        };
        let operations = || self.calls.iter().map(|call| &call.operation);
        let erased: usize = operations().map(erased_count).sum();
        assert_eq!(erased, IMPORTED as usize / 20);
        let is_exchange = |operation: &&Operation| matches!(operation, Operation::Exchange(..));
        assert_eq!(operations().filter(is_exchange).count(), 2);
        let begun = operations().filter_map(|operation| match operation {
            Operation::Begin(numbers) => Some(numbers.len() as u64),
            _ => None,
        });
        assert_eq!(begun.sum::<u64>(), 2 * SENT);
        let is_correction = |operation: &&Operation| matches!(operation, Operation::Correct(..));
        assert_eq!(
            operations().filter(is_correction).count(),
            self.corrected.len()
        );
        assert!(operations().any(
            |operation| matches!(operation, Operation::Acknowledge(addresses) if addresses.len() > 100)
        ));
    }

    /// Rebuilds disks as power cuts at random moments leave them, opens the list on each, and returns the
    /// failures. With `syncs_data` unset, fdatasync has no effect.
    fn simulate_cuts(&self, cuts: u64, syncs_data: bool) -> Vec<String> {
        let workers = thread::available_parallelism().map_or(2, |cores| cores.get().min(4) as u64);
        thread::scope(|scope| {
            let spawn = |worker| {
                scope.spawn(move || self.simulate_in_worker(worker, cuts / workers, syncs_data))
            };
            let workers: Vec<_> = (0..workers).map(spawn).collect();
            let failures = workers
                .into_iter()
                .map(|worker| worker.join().expect("no panic"));
            failures.flatten().collect()
        })
    }

    fn simulate_in_worker(&self, worker: u64, cuts: u64, syncs_data: bool) -> Vec<String> {
        let seed = env_number("POWER_CUT_SEED", 1) * 1000 + worker;
        let mut random = StdRng::seed_from_u64(seed);
        let calls = in_order_of_effect(&self.calls);
        let mut moments = random_moments(&calls, cuts, &mut random)
            .into_iter()
            .peekable();

        let mut disk = DiskModel::new(&self.root, syncs_data);
        let mut promised = Promised::default();
        let is_corrected = |key: &String| self.corrected.iter().any(|(old, _)| old == key);
        let mut failures = Vec::new();
        for (moment, call) in calls.into_iter().enumerate() {
            disk.apply(call);
            match &call.operation {
                Operation::Acknowledge(addresses) => {
                    let keys = addresses.iter().map(|address| key(address));
                    let (corrected, keys): (Vec<_>, Vec<_>) = keys.partition(is_corrected);
                    promised.imported.extend(corrected);
                    // An address that the recording erases may be listed or not until the erasure is
                    // acknowledged.
                    let keys = keys.into_iter();
                    let keys = keys.filter(|key| !self.erased.contains(key));
                    promised.listed.extend(keys);
                }
                Operation::Erase(addresses) => {
                    let keys = addresses.iter().map(|address| key(address));
                    promised.erased.extend(keys);
                }
                Operation::Correct(old, new) => {
                    promised.imported.remove(&key(old));
                    promised.erased.insert(key(old));
                    promised.listed.insert(key(new));
                }
                Operation::Begin(numbers) => promised.begun.extend(numbers),
                Operation::Accept(numbers) => promised.accepted.extend(numbers),
                _ => {}
            }
            while moments.next_if_eq(&moment).is_some() {
                let unsynced = match random.random_range(0..8) {
                    0 => Unsynced::Lost,
                    1 => Unsynced::Kept,
                    _ => Unsynced::Torn,
                };
                let rebuilt = in_memory_directory();
                disk.write_out(rebuilt.path(), unsynced, &mut random);
                for period in &self.rejected_periods {
                    if period.lines.contains(&call.started) {
                        period.restore(&rebuilt.path().join("data/waitlist"));
                    }
                }
                if let Err(error) = self.check_disk(rebuilt.path(), &promised) {
                    failures.push(format!("after call {moment}, seed {seed}: {error}"));
                }
            }
        }
        failures
    }

    /// Opens the list on a disk and verifies it, adds an entry, opens the list again, and verifies it once
    /// more.
    fn check_disk(&self, root: &Path, promised: &Promised) -> Result<(), String> {
        let open = || SledWaitlist::open(&root.join("data")).map_err(|error| error.to_string());
        let list = open()?;
        let before = self.verify(&list, promised)?;
        let last = WaitlistEntry::new(Email::parse(LAST).expect("valid"), UNIX_EPOCH);
        let runtime = Runtime::new().expect("a runtime");
        let joined = runtime.block_on(list.join(last));
        if joined != Ok(JoinOutcome::New) {
            return Err(format!("a sign-up after the cut fails: {joined:?}"));
        }
        drop(list);
        let after = self.verify(&open()?, promised)?;
        if after != before + 1 {
            return Err(format!("{before} entries and one more became {after}"));
        }
        Ok(())
    }

    /// Verifies that the list holds every acknowledged address once, each of the `imported` people under the old or the
    /// corrected address, no erased address and no unknown one, that nobody has lost the invitation, that every erased
    /// address is suppressed, that the events of both are recorded, that its count is right, and that no message that was
    /// begun would be sent again. Returns the count.
    fn verify(
        &self,
        list: &SledWaitlist,
        Promised {
            listed: acknowledged,
            erased,
            imported,
            begun,
            accepted,
        }: &Promised,
    ) -> Result<u64, String> {
        let unreadable = |error: StoreError| error.to_string();
        let entries = list.entries(Selection::default()).map_err(unreadable)?;
        let entries: Vec<_> = entries.collect::<Result<_, _>>().map_err(unreadable)?;
        let keys: Vec<_> = entries.iter().map(|entry| entry.email.key()).collect();
        let listed: BTreeSet<_> = keys.iter().cloned().collect();
        let count = list.count();
        if (keys.len(), listed.len() as u64) != (listed.len(), count) {
            return Err(format!("{} entries are counted as {count}", keys.len()));
        }
        if let Some(missing) = acknowledged.difference(&listed).next() {
            return Err(format!("{missing} was acknowledged and is missing"));
        }
        let mut joined = entries
            .iter()
            .filter(|it| acknowledged.contains(&it.email.key()));
        if joined.any(|it| it.source.is_none()) {
            return Err("somebody has lost the invitation".to_owned());
        }
        if let Some(back) = erased.intersection(&listed).next() {
            return Err(format!("{back} was erased and is back"));
        }
        // Corrected addresses are not suppressed.
        let suppressions = Runtime::new()
            .expect("a runtime")
            .block_on(list.suppressions());
        let suppressions = suppressions.map_err(unreadable)?;
        let is_suppressed = |key: &str| suppressions.contains(&Email::parse(key).expect("valid"));
        let mut suppressed = erased.intersection(&self.erased);
        if let Some(lost) = suppressed.find(|key| !is_suppressed(key)) {
            return Err(format!("{lost} was suppressed and no longer is"));
        }
        let events = Runtime::new().expect("a runtime").block_on(events(list));
        let recorded = events.iter().map(|(_, it)| (&*it.kind, it.email.key()));
        let recorded: BTreeSet<_> = recorded.collect();
        let joined = acknowledged.iter().map(|key| ("joined", key.clone()));
        let mut expected = joined.chain(erased.iter().map(|key| ("left", key.clone())));
        if let Some((kind, key)) = expected.find(|event| !recorded.contains(event)) {
            return Err(format!("the event that {key} {kind} is missing"));
        }
        for (key, entry) in keys.iter().zip(&entries) {
            if let Some((source, is_confirmed)) = self.facts.get(key)
                && (entry.source.as_ref().map(Source::as_str) != Some(source)
                    || entry.confirmed_at.is_some() != *is_confirmed)
            {
                return Err(format!("{key} has other facts: {entry:?}"));
            }
        }
        for (old, new) in &self.corrected {
            let is_listed = [old, new].map(|key| listed.contains(key));
            if is_listed == [true, true] || imported.contains(old) && is_listed == [false, false] {
                return Err(format!("{old}, corrected to {new}, is not listed once"));
            }
        }
        let deliveries = Runtime::new()
            .expect("a runtime")
            .block_on(list.deliveries(&"launch".parse().expect("an id"), 0));
        let deliveries = deliveries.map_err(unreadable)?;
        let state = |number: &u32| deliveries.get(*number as usize).map(|it| it.status.state);
        if let Some(number) = begun.iter().find(|number| {
            !matches!(
                state(number),
                Some(DeliveryState::Accepted | DeliveryState::Unknown)
            )
        }) {
            return Err(format!(
                "delivery {number} had begun, and is {:?}",
                state(number)
            ));
        }
        if let Some(number) = accepted
            .iter()
            .find(|number| state(number) != Some(DeliveryState::Accepted))
        {
            return Err(format!(
                "delivery {number} was accepted, and is {:?}",
                state(number)
            ));
        }
        let is_unknown = |key: &&String| !self.sent.contains(*key) && *key != LAST;
        if let Some(unknown) = listed.iter().find(is_unknown) {
            return Err(format!("{unknown} never signed up"));
        }
        Ok(count)
    }
}

/// Signs up after the power cut.
const LAST: &str = "last@example.com";

/// Returns `cuts` indices into `calls`, sorted. A third of them is at starts and stops, where the calls are
/// few and of other kinds.
fn random_moments(calls: &[&Call], cuts: u64, random: &mut StdRng) -> Vec<usize> {
    let is_usual = |operation: &Operation| {
        matches!(
            operation,
            Operation::Write(..) | Operation::SyncData(_) | Operation::Acknowledge(_)
        )
    };
    let (usual, special): (Vec<_>, Vec<_>) =
        (0..calls.len()).partition(|moment| is_usual(&calls[*moment].operation));
    let mut moments: Vec<_> = (0..cuts)
        .map(|cut| {
            let moments = if cut % 3 == 0 { &special } else { &usual };
            moments[random.random_range(0..moments.len())]
        })
        .collect();
    moments.sort_unstable();
    moments
}

/// Sorts the calls by the moment they take effect: a sync when it returns, any other call when it starts. Drops
/// calls that never take effect.
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

/// Creates a temporary directory, in memory if possible, because a rebuilt disk is needed only for a moment.
fn in_memory_directory() -> TempDir {
    let in_memory = TempDir::new_in("/dev/shm");
    in_memory.or_else(|_| TempDir::new()).expect("a directory")
}
