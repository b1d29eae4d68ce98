//! Makes the disk fail, fill up and hang while the program runs, and takes file descriptors away.
//!
//! The program must exit with an error instead of acknowledging a sign-up that it cannot store. The next
//! start on a working disk must find every acknowledged sign-up.

use std::{collections::BTreeSet, fs, thread, time::Duration};

use tokio::{runtime::Runtime, time::timeout};

use super::{
    acknowledged_in, listed_keys, sign_up,
    strace::{landing_with_fault, landing_with_full_disk, with_fault},
};
use crate::{
    ended::RunToEnd,
    process::{Sandbox, ServerProcess, TEST_TIMEOUT, landing_after, signal, wait_until},
};

/// Failures of sled's log under load, in strace's syntax. `when=20` fails call number 20, `when=20+` that call
/// and all later ones.
const FAILURES: [&str; 6] = [
    "fdatasync:error=EIO:when=20+",
    "fdatasync:error=EIO:when=1",
    "fdatasync:error=ENOSPC:when=20+",
    "pwrite64:error=ENOSPC:when=20+",
    "pwrite64:error=EIO:when=20",
    "sync_file_range:error=EIO:when=20",
];

#[test]
fn failed_write_or_sync_exits_and_loses_no_acknowledged_sign_up() {
    for failure in FAILURES {
        let sandbox = Sandbox::new();
        // Creates the list, so that the failure hits a running server.
        sandbox.serve().signal("-TERM");
        let mut server = ServerProcess::start(with_fault(&sandbox, failure));
        let addresses = (0..100_000).map(|number| format!("{number}@example.com"));
        let runtime = Runtime::new().expect("a runtime");
        let responses = runtime.block_on(sign_up(&server.addr, 8, addresses));

        assert_eq!(server.wait_for_exit(), Some(1), "{failure}");
        let mut stderr = server.log_without_requests();
        stderr.retain(|line| !line.starts_with("strace: "));
        let is_one_line =
            stderr.len() == 1 && stderr[0].contains("cannot read or write the waitlist");
        assert!(is_one_line, "{failure}: {stderr:?}");
        let reason = if failure.contains("ENOSPC") {
            "No space left on device (os error 28)"
        } else {
            "Input/output error (os error 5)"
        };
        let named = format!("cannot read or write the waitlist: {reason}; ");
        assert!(stderr[0].contains(&named), "{failure}: {stderr:?}");

        // On a working disk, sign-ups succeed again, and no acknowledged one is missing.
        let acknowledged: BTreeSet<_> = acknowledged_in(&responses).map(str::to_owned).collect();
        let server = sandbox.serve();
        assert_eq!(server.join("after@example.com"), "201", "{failure}");
        drop(server);
        let listed = listed_keys(&sandbox.path().join("data"));
        assert!(acknowledged.is_subset(&listed), "{failure}");
    }
}

#[test]
fn failed_sync_is_a_json_line_in_a_json_log() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut command = with_fault(&sandbox, "fdatasync:error=ENOSPC:when=1");
    command.args(["--log", "json"]);
    let mut server = ServerProcess::start(command);
    assert_eq!(server.join("ann@example.com"), "");
    assert_eq!(server.wait_for_exit(), Some(1));
    let mut log = server.log();
    log.retain(|line| !line.starts_with("strace: "));
    let lines = log.iter().map(|line| serde_json::from_str(line));
    let lines: Vec<serde_json::Value> = lines.collect::<Result<_, _>>().expect("JSON");
    let message = lines.iter().find(|line| line["level"] == "ERROR");
    let message = message.and_then(|line| line["message"].as_str());
    let message = message.unwrap_or_default();
    assert!(
        message.starts_with("cannot read or write the waitlist: No space left on device"),
        "{log:?}"
    );
}

/// A file size limit of 1 MiB cuts the last write short, as a disk does when it fills up.
#[test]
fn short_write_exits_and_loses_no_acknowledged_sign_up() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let command = landing_after("trap '' XFSZ; ulimit -f 1024");
    let mut server = ServerProcess::start(sandbox.wrapped_command(command));
    let addresses = (0..100_000).map(|number| format!("{number}-{}@example.com", "a".repeat(50)));
    let runtime = Runtime::new().expect("a runtime");
    let responses = runtime.block_on(sign_up(&server.addr, 8, addresses));
    assert_eq!(server.wait_for_exit(), Some(1));
    let acknowledged: Vec<_> = acknowledged_in(&responses).collect();
    assert!(acknowledged.len() > 100);

    let server = sandbox.serve();
    for address in acknowledged.iter().step_by(50).chain(acknowledged.last()) {
        assert_eq!(server.join(address), "409");
    }
}

/// The disk fills up in the middle.
#[test]
fn import_on_a_full_disk_says_why_it_ends() {
    let sandbox = Sandbox::new();
    let people = (0..20_000).map(|number| format!("{number}@example.com\n"));
    let mut import = landing_with_fault("pwrite64:error=ENOSPC:when=40+");
    let import = import.arg("import").env_clear().current_dir(sandbox.path());
    let stderr = import.run_with_input(people.collect::<String>());
    let stderr = stderr.failure().stderr();
    assert!(stderr.contains("No space left on device"), "{stderr}");
    let listed = listed_keys(&sandbox.path().join("data")).len();
    assert!(0 < listed && listed < 20_000, "{listed}");
}

#[test]
fn commands_on_a_full_disk_say_so() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.serve().join("ann@example.com"), "201");
    let store = sandbox.path().join("data/waitlist");
    for args in ["count", "erase ann@example.com", "compact"] {
        let mut command = landing_with_full_disk(&store);
        command.env_clear().current_dir(sandbox.path());
        let stderr = command.args(args.split(' ')).run().failure().stderr();
        let is_precise = stderr.contains("No space left on device")
            && stderr.contains("bytes left; free")
            && stderr.contains(&*sandbox.path().join("data").display().to_string());
        assert!(is_precise, "{args}: {stderr}");
    }
    assert_eq!(sandbox.serve().join("ann@example.com"), "409");
}

/// The disk is full or fails, when a list is opened or created.
#[test]
fn reports_a_failed_start_and_the_next_one_succeeds() {
    let (full, broken) = ("No space left on device", "Input/output error");
    for (has_list, failure, reason) in [
        (true, "pwrite64:error=ENOSPC:when=1+", full),
        (true, "fsync:error=EIO:when=1+", broken),
        (true, "copy_file_range:error=ENOSPC:when=1+", full),
        (false, "mkdir:error=EROFS:when=1", "Read-only file system"),
        (false, "mkdir:error=ENOSPC:when=2", full),
        (false, "pwrite64:error=ENOSPC:when=1", full),
        (false, "fsync:error=EIO:when=3", broken),
        (false, "rename:error=EIO:when=1", broken),
    ] {
        let sandbox = Sandbox::new();
        if has_list {
            assert_eq!(sandbox.serve().join("ann@example.com"), "201");
        }
        let stderr = with_fault(&sandbox, failure).run().failure().stderr();
        assert!(stderr.contains(reason), "{failure}: {stderr}");
        if has_list {
            assert!(
                !stderr.contains("restore"),
                "advises to replace an intact list: {stderr}"
            );
            let trial = sandbox.path().join("data/waitlist.trial");
            assert!(
                !trial.exists(),
                "{failure}: the trial copy still takes up space"
            );
        } else {
            assert!(stderr.contains("--store"), "no advice: {stderr}");
        }
        let status = if has_list { "409" } else { "201" };
        assert_eq!(sandbox.serve().join("ann@example.com"), status, "{failure}");
    }
}

/// The first sync takes 11 seconds, one more than the server waits for the store.
#[test]
fn hanging_disk_returns_503() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let server = ServerProcess::start(with_fault(
        &sandbox,
        "fdatasync:delay_enter=11000000:when=1",
    ));
    let response = server.request("POST", "/api/waitlist", r#"{"email":"ann@example.com"}"#);
    assert!(response.starts_with("HTTP/1.1 503 "), "{response}");
    assert!(response.contains("retry-after: 1"), "{response}");
    // The entry is stored in the end. The next response for the address waits for that.
    assert_eq!(server.join("ann@example.com"), "409");
}

/// The first signal lets open requests finish, the second one drops them, and the third one does not wait for
/// the disk.
#[test]
fn third_signal_exits_while_the_disk_hangs() {
    let sandbox = Sandbox::new();
    sandbox.serve().signal("-TERM");
    let mut server = ServerProcess::start(with_fault(
        &sandbox,
        "fdatasync:delay_enter=90000000:when=1",
    ));
    thread::scope(|scope| {
        scope.spawn(|| server.join("ann@example.com"));
        let status_field = |name: &str| {
            let status = fs::read_to_string(format!("/proc/{}/status", server.child.id()));
            let status = status.expect("a process or a zombie");
            let value = status.lines().find_map(|line| line.strip_prefix(name));
            value.expect("a field of Linux").trim().to_owned()
        };
        for _ in 0..3 {
            thread::sleep(Duration::from_millis(500));
            server.signal("-TERM");
        }
        wait_until("the process is a zombie", || {
            status_field("State:").starts_with('Z')
        });
        // strace holds back the exit code until the thread that syncs continues.
        signal(status_field("TracerPid:").parse().expect("an id"), "-KILL");
    });
    assert_eq!(server.wait_for_exit(), Some(1));
}

/// The program may open 40 files, and 100 clients connect.
#[test]
fn serves_all_clients_despite_too_few_file_descriptors() {
    let sandbox = Sandbox::new();
    let command = sandbox.wrapped_command(landing_after("ulimit -n 40"));
    let server = ServerProcess::start(command);
    let runtime = Runtime::new().expect("a runtime");
    let addresses = (0..200).map(|number| format!("{number}@example.com"));
    let sign_ups = async { timeout(TEST_TIMEOUT, sign_up(&server.addr, 100, addresses)).await };
    let responses = runtime.block_on(sign_ups);
    let responses = responses.expect("clients without a connection get one later");
    assert_eq!(acknowledged_in(&responses).count(), 200);
    assert_eq!(server.join("after@example.com"), "201");
    for address in acknowledged_in(&responses) {
        assert_eq!(server.join(address), "409");
    }
}
