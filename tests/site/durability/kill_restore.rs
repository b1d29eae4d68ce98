//! A restore that is killed at each of some calls in turn, or for which each of them fails, has restored everything or
//! nothing. After a failure it says so if it was everything.

use super::strace::landing_with_fault;
use crate::{
    cli::backup_file::{NO_FACTS, delivery, hash, message, person, time, with_lines},
    ended::RunToEnd,
    postgres_server::SHARED_SERVER,
    process::{Sandbox, landing},
};

/// Enough that the stores write several times.
const PEOPLE: usize = 6_000;

/// Returns a backup of people who all have a delivery.
fn backup() -> String {
    let suppressed = format!(r#"{{"suppressed":{}}}"#, hash("gone@example.com"));
    let message = message("launch", "Hi", "null");
    let (eight, number) = (time(8, 0), |number| format!("{number}@example.com"));
    let replied = format!(r#""since":{eight},"reply":{{"code":250,"text":"Ok"}}"#);
    let deliveries = (0..PEOPLE).map(|it| delivery("launch", &number(it), "accepted", &replied, 1));
    let people = (0..PEOPLE).map(|it| person(&number(it), &eight, NO_FACTS));
    let lines = [suppressed, message].into_iter();
    with_lines(&lines.chain(deliveries).chain(people).collect::<Vec<_>>())
}

/// Runs restores into `store` with a fault at the first call, then `step` calls later, and so on, until one has no fault any
/// more. The list is new, or empty. Returns how often a restore ended before it had restored anything, and afterwards.
fn fail_at_each(
    fault: &str,
    step: usize,
    is_new: bool,
    store: impl Fn(usize) -> String,
) -> (usize, usize) {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path().join("list.backup"), backup()).expect("writable");
    std::fs::write(sandbox.path().join("empty.csv"), "email\n").expect("writable");
    let run = |args: &[&str]| landing(sandbox.path()).args(args).run();
    let (mut without_effect, mut complete) = (0, 0);
    for number in (1..).step_by(step) {
        let store = &store(number);
        if !is_new {
            run(&["import", "empty.csv", "--store", store]).success();
        }
        let fault = format!("{fault}:when={number}");
        let restore = ["restore", "list.backup", "--store", store];
        let mut failing = landing_with_fault(&fault);
        failing
            .env_clear()
            .current_dir(sandbox.path())
            .args(restore);
        let ended = failing.run();
        let is_finished = ended.get_output().status.success();
        // A list that was not created yet is not there.
        let count = run(&["count", "--store", store]).stdout();
        let people = format!("{PEOPLE}\n");
        assert!(
            [people.as_str(), "0\n", ""].contains(&&*count),
            "{fault}: {count}"
        );
        let beside = sandbox.path().join(store).join("waitlist.restore");
        if count != people {
            without_effect += 1;
            assert!(!is_finished, "{fault}");
            // No start creates an empty list in its place.
            if count.is_empty() && beside.exists() {
                let start = run(&["add", "ann@example.com", "--store", store]);
                assert_eq!(start.get_output().status.code(), Some(3), "{fault}");
            }
            run(&restore).success();
        } else if !is_finished {
            complete += 1;
            let stderr = ended.stderr();
            let is_told = ["everything was restored", "the backup was restored"];
            let is_told = is_told.iter().any(|it| stderr.contains(it));
            assert!(is_told || fault.contains("KILL"), "{ended}");
        }
        let backup = run(&["backup", "--store", store]).stdout();
        assert_eq!(backup.lines().count(), 2 * PEOPLE + 4, "{fault}");
        assert!(!beside.exists(), "{fault}");
        if is_finished {
            break;
        }
    }
    (without_effect, complete)
}

#[test]
fn restore_into_a_directory_is_all_or_nothing() {
    for (fault, is_new, faults_min) in [
        ("fsync,fdatasync:signal=KILL", true, 2),
        ("fsync,fdatasync:error=EIO", true, 2),
        ("rename:signal=KILL", true, 1),
        ("rename:signal=KILL", false, 2),
        ("unlinkat:signal=KILL", false, 2),
    ] {
        let store = |number| format!("data-{number}");
        let (without_effect, complete) = fail_at_each(fault, 1, is_new, store);
        let faults = without_effect + complete;
        assert!(faults >= faults_min, "{fault}: {faults}");
    }
}

#[test]
fn restore_into_a_database_is_all_or_nothing() {
    let store = |_| SHARED_SERVER.create_database();
    let (without_effect, _) = fail_at_each("sendto,write,writev:signal=KILL", 5, true, store);
    assert!(without_effect > 3, "{without_effect}");
}
