//! Removes, replaces, overwrites and links the files of a list while it is served.
//!
//! The server must keep the list locked. If its files change, it must exit instead of acknowledging sign-ups
//! that the next start would not find.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use super::strace::landing_with_fault;
use crate::process::{Sandbox, ServerProcess, landing, landing_after, wait_for_exit, write_locked};

/// Starts a server and signs up 20 people.
fn serve_with_entries() -> (Sandbox, ServerProcess) {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    for number in 0..20 {
        assert_eq!(server.join(&format!("{number}@example.com")), "201");
    }
    (sandbox, server)
}

fn run_landing(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = landing(sandbox.path());
    command.args(args).output().expect("the program runs")
}

/// Imports people, whose addresses begin with `prefix` and a number.
fn import(sandbox: &Sandbox, prefix: &str, people: usize) {
    let people: Vec<_> = (0..people)
        .map(|number| format!("{prefix}{number}@example.com"))
        .collect();
    fs::write(sandbox.path().join("people.txt"), people.join("\n")).expect("writable");
    let output = run_landing(sandbox, &["import", "people.txt"]);
    assert!(output.status.success());
}

fn assert_in_use(output: &Output) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("is in use by"), "{stderr}");
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
        scope.spawn(|| assert_in_use(&run_landing(&sandbox, &["count"])));
        assert_in_use(&sandbox.command().output().expect("the program runs"));
    });
    assert_complete(&sandbox, server);
}

#[test]
fn list_is_locked_for_a_second_directory_that_links_to_it() {
    let (sandbox, server) = serve_with_entries();
    let other = sandbox.path().join("other");
    fs::create_dir(&other).expect("writable");
    symlink("../data/waitlist", other.join("waitlist")).expect("writable");
    let output = run_landing(&sandbox, &["count", "--store", "other"]);
    assert_in_use(&output);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let holder = format!("process {}", server.child.id());
    assert!(
        stderr.contains(&holder),
        "the holder is not named: {stderr}"
    );
    assert_complete(&sandbox, server);
}

#[test]
fn stops_when_its_files_are_removed() {
    for request in ["sign-up", "readiness"] {
        let (sandbox, mut server) = serve_with_entries();
        fs::remove_dir_all(sandbox.path().join("data")).expect("permitted");
        let response = if request == "sign-up" {
            server.join("lost@example.com")
        } else {
            server.request("GET", "/readyz", "")
        };
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
        import(&backup, "old-", people);

        let (sandbox, mut server) = serve_with_entries();
        for name in ["conf", "db", "mark"] {
            let path = |sandbox: &Sandbox| sandbox.path().join("data/waitlist").join(name);
            let bytes = fs::read(path(&backup)).expect("readable");
            fs::write(path(&sandbox), bytes).expect("writable");
        }
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
        let mut count = landing_with_fault(&format!("clone,clone3:error=EAGAIN:when={thread}"));
        let mut count = count
            .arg("count")
            .env_clear()
            .current_dir(sandbox.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        wait_for_exit(&mut count);
        assert!(
            run_landing(&sandbox, &["count"]).status.success(),
            "thread {thread}"
        );
    }
}

#[test]
fn reports_a_file_size_limit_as_an_error() {
    let sandbox = Sandbox::new();
    let people: Vec<_> = (0..30_000)
        .map(|number| format!("{number}@example.com"))
        .collect();
    fs::write(sandbox.path().join("people.txt"), people.join("\n")).expect("writable");
    let output = landing_after("ulimit -f 2048")
        .args(["import", "people.txt"])
        .env_clear()
        .current_dir(sandbox.path())
        .output()
        .expect("the program runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot read or write the waitlist"),
        "{stderr}"
    );
    assert!(run_landing(&sandbox, &["count"]).status.success());
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
            let output = run_landing(&sandbox, &["check", "--json", "--store", &copy]);
            let [stdout, stderr] =
                [&output.stdout, &output.stderr].map(|it| String::from_utf8_lossy(it));
            if output.status.success() {
                let entries = stdout.strip_prefix(r#"{"entries":"#).expect("a report");
                let (entries, _) = entries.split_once(',').expect("a number");
                let entries: u64 = entries.parse().expect("a number");
                assert!(entries >= before, "{entries} of {before}");
            } else {
                assert!(
                    stderr.contains("put a copy of the data directory"),
                    "{stderr}"
                );
            }
        }
        is_over.store(true, Ordering::SeqCst);
    });
}

/// Without its mark, the program cannot know whether the log has lost its end.
#[test]
fn damaged_mark_is_reported_once() {
    let (sandbox, server) = serve_with_entries();
    drop(server);
    let mark = sandbox.path().join("data/waitlist/mark");
    let mut bytes = fs::read(&mark).expect("readable");
    bytes[7] ^= 1;
    write_locked(&mark, &bytes);
    for is_damaged in [true, false] {
        let output = run_landing(&sandbox, &["count"]);
        assert_eq!(output.stdout, b"20\n");
        let stderr = String::from_utf8_lossy(&output.stderr);
        let warning = "data/waitlist/mark is damaged";
        assert_eq!(stderr.contains(warning), is_damaged, "{stderr}");
    }
}
