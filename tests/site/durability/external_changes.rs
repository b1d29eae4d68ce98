//! Removes, replaces, overwrites and links the files of a list while it is served.
//!
//! The server must keep the list locked. If its files change, it must exit instead of acknowledging sign-ups
//! that the next start would not find.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use super::strace::landing_with_fault;
use crate::{
    ended::RunToEnd,
    process::{Sandbox, ServerProcess, landing, signal, wait_for_exit},
};

/// Starts a server and signs up 20 people.
fn serve_with_entries() -> (Sandbox, ServerProcess) {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    for number in 0..20 {
        assert_eq!(server.join(&format!("{number}@example.com")), "201");
    }
    (sandbox, server)
}

/// Returns `landing count` of a list in the sandbox.
fn count(sandbox: &Sandbox, store: &str) -> Command {
    let mut command = landing(sandbox.path());
    command.args(["count", "--store", store]);
    command
}

/// Imports people.
fn import(sandbox: &Sandbox, people: usize) {
    let people = (0..people).map(|number| format!("old-{number}@example.com\n"));
    let mut import = landing(sandbox.path());
    import
        .arg("import")
        .run_with_input(people.collect::<String>())
        .success();
}

/// Checks that the list of [`serve_with_entries`] is complete, now and after the next start.
fn assert_complete(sandbox: &Sandbox, server: ServerProcess) {
    assert_eq!(server.join("after@example.com"), "201");
    assert_eq!(server.count(), 21);
    drop(server);
    assert_eq!(sandbox.serve().count(), 21);
}

#[test]
fn served_list_stays_locked_without_its_lock_file() {
    let (sandbox, server) = serve_with_entries();
    fs::remove_file(sandbox.path().join("data/lock")).expect("permitted");
    // With the control socket, the command would ask the server.
    fs::remove_file(sandbox.path().join("data/control")).expect("permitted");
    // Each of the two waits 15 seconds for the lock.
    thread::scope(|scope| {
        for mut command in [count(&sandbox, "data"), sandbox.command()] {
            scope.spawn(move || {
                let error = command.run().failure().stderr();
                assert!(error.contains("is in use by"), "{error}");
            });
        }
    });
    assert_complete(&sandbox, server);
}

#[test]
fn list_is_locked_for_a_second_directory_that_links_to_it() {
    let (sandbox, server) = serve_with_entries();
    let other = sandbox.path().join("other");
    fs::create_dir(&other).expect("writable");
    symlink("../data/waitlist", other.join("waitlist")).expect("writable");
    let error = count(&sandbox, "other").run().failure().stderr();
    let holder = format!("is in use by process {}", server.child.id());
    assert!(error.contains(&holder), "the holder is not named: {error}");
    assert_complete(&sandbox, server);
}

#[test]
fn stops_when_its_files_are_removed() {
    for request in ["sign-up", "readiness", "none", "end"] {
        let (sandbox, mut server) = serve_with_entries();
        fs::remove_dir_all(sandbox.path().join("data")).expect("permitted");
        let response = match request {
            "sign-up" => server.join("lost@example.com"),
            "readiness" => server.request("GET", "/readyz", ""),
            _ => String::new(),
        };
        if request == "end" {
            signal(server.child.id(), "-TERM");
        }
        assert_eq!(response, "", "{request}");
        assert_stopped(&mut server);
    }
}

#[test]
fn stops_when_its_log_is_replaced() {
    let (sandbox, mut server) = serve_with_entries();
    let log = sandbox.path().join("data/waitlist/db");
    let copy = log.with_extension("copy");
    fs::copy(&log, &copy).expect("writable");
    fs::rename(&copy, &log).expect("writable");
    assert_eq!(server.join("lost@example.com"), "");
    assert_stopped(&mut server);
    // The copy has all acknowledged sign-ups.
    assert_eq!(sandbox.serve().count(), 20);
}

/// sled's log grows in steps, so an older copy of a small list is as long as the list itself.
#[test]
fn stops_when_a_backup_of_any_size_overwrites_its_files() {
    for people in [10, 8_000] {
        let backup = Sandbox::new();
        import(&backup, people);

        let (sandbox, mut server) = serve_with_entries();
        // Not `fs::write`: a program that another test starts has a copy of this open file until it runs, and the list
        // notices a write when the last copy is closed.
        let store = |sandbox: &Sandbox| sandbox.path().join("data/waitlist");
        let mut cp = Command::new("cp");
        cp.current_dir(store(&backup)).args(["conf", "db", "mark"]);
        let copied = cp.arg(store(&sandbox)).status();
        assert!(copied.expect("cp runs").success());
        assert_eq!(server.join("lost@example.com"), "", "{people}");
        assert_stopped(&mut server);
        // The server has not written to the backup. The snapshot beside it belongs to the server's own list.
        for entry in fs::read_dir(sandbox.path().join("data/waitlist")).expect("readable") {
            let path = entry.expect("readable").path();
            if path.display().to_string().contains("/snap.") {
                fs::remove_file(path).expect("permitted");
            }
        }
        assert_eq!(sandbox.serve().count(), people as u64);
    }
}

#[test]
fn stops_when_its_mark_is_renamed_or_replaced() {
    for is_linked in [false, true] {
        let (sandbox, mut server) = serve_with_entries();
        let mark = sandbox.path().join("data/waitlist/mark");
        let other = mark.with_extension("other");
        if is_linked {
            fs::hard_link(&mark, &other).expect("writable");
            fs::remove_file(&mark).expect("permitted");
        } else {
            fs::rename(&mark, &other).expect("permitted");
        }
        assert_eq!(server.join("lost@example.com"), "");
        assert_stopped(&mut server);
    }
}

/// A container may limit the number of processes, for example. The list must not stay locked.
#[test]
fn command_without_threads_exits_and_releases_the_list() {
    let (sandbox, server) = serve_with_entries();
    drop(server);
    for thread in 1..=8 {
        let mut command = landing_with_fault(&format!("clone,clone3:error=EAGAIN:when={thread}"));
        let command = command.arg("count").env_clear().current_dir(sandbox.path());
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        wait_for_exit(&mut quiet.spawn().expect("the program starts"));
        count(&sandbox, "data").run().success();
    }
}

fn assert_stopped(server: &mut ServerProcess) {
    assert_eq!(server.wait_for_exit(), Some(3));
    let log = server.log_without_requests();
    let is_logged = log
        .iter()
        .any(|line| line.contains("were removed, replaced or overwritten"));
    assert!(is_logged, "{log:?}");
}

/// Somebody copies the data directory with `cp` while people sign up. The copy may be rejected, but it must not open
/// without people who had signed up before.
#[test]
fn copy_of_a_served_directory_is_complete_or_rejected() {
    let (sandbox, server) = serve_with_entries();
    let joined = AtomicU64::new(20);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 20.. {
                if is_over.load(Ordering::SeqCst) {
                    return;
                }
                assert_eq!(server.join(&format!("{number}@example.com")), "201");
                joined.store(number + 1, Ordering::SeqCst);
            }
        });
        for round in 0..20 {
            let before = joined.load(Ordering::SeqCst);
            let copy = format!("copy{round}");
            let copied = Command::new("cp")
                .args(["-r", "data", &copy])
                .current_dir(sandbox.path())
                .status();
            // The control socket cannot be copied.
            copied.expect("cp runs");
            let checked = count(&sandbox, &copy).run();
            match checked.stdout().trim().parse::<u64>() {
                Ok(entries) => assert!(entries >= before, "{entries} of {before}"),
                Err(_) => {
                    let error = checked.failure().stderr();
                    assert!(
                        error.contains("put a copy of the data directory"),
                        "{error}"
                    );
                }
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
}
