//! Other programs and people remove, replace and share the files of a list that is served.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output, Stdio},
};

use crate::process::{Sandbox, ServerProcess, wait_for_exit};

fn serve_with_entries() -> (Sandbox, ServerProcess) {
    let sandbox = Sandbox::new();
    let server = sandbox.serve();
    for number in 0..20 {
        assert_eq!(server.join(&format!("{number}@example.com")), "201");
    }
    (sandbox, server)
}

fn run_landing(sandbox: &Sandbox, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(sandbox.path()).args(args);
    command.output().expect("it runs")
}

fn assert_in_use(done: &Output) {
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("is in use by"), "{stderr}");
}

/// Everybody is there, also after the next start.
fn assert_whole(sandbox: &Sandbox, server: ServerProcess) {
    assert_eq!(server.join("after@example.com"), "201");
    assert_eq!(server.count(), r#"{"count":21}"#);
    drop(server);
    assert_eq!(sandbox.serve().count(), r#"{"count":21}"#);
}

#[test]
fn served_list_stays_locked_without_its_lock_file() {
    let (sandbox, server) = serve_with_entries();
    fs::remove_file(sandbox.path().join("data/lock")).expect("ours");
    // Else the command would ask the server.
    fs::remove_file(sandbox.path().join("data/control")).expect("ours");
    assert_in_use(&run_landing(&sandbox, &["count"]));
    assert_in_use(&sandbox.command().output().expect("it runs"));
    assert_whole(&sandbox, server);
}

#[test]
fn list_is_locked_for_a_second_directory_that_links_to_it() {
    let (sandbox, server) = serve_with_entries();
    let other = sandbox.path().join("other");
    fs::create_dir(&other).expect("writable");
    symlink("../data/waitlist", other.join("waitlist")).expect("writable");
    let done = run_landing(&sandbox, &["count", "--store", "other"]);
    assert_in_use(&done);
    let stderr = String::from_utf8_lossy(&done.stderr);
    let holder = format!("process {}", server.child.id());
    assert!(stderr.contains(&holder), "it names the holder: {stderr}");
    assert_whole(&sandbox, server);
}

#[test]
fn stops_when_its_files_are_removed() {
    for request in ["sign-up", "readiness"] {
        let (sandbox, mut server) = serve_with_entries();
        fs::remove_dir_all(sandbox.path().join("data")).expect("ours");
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
    // The copy has everybody who was told so.
    assert_eq!(sandbox.serve().count(), r#"{"count":20}"#);
}

/// As `cp -r backup/. data/` does it, or `truncate`: the same files with other contents.
#[test]
fn stops_when_its_log_is_overwritten() {
    let (sandbox, server) = serve_with_entries();
    drop(server);
    let log = sandbox.path().join("data/waitlist/db");
    let backup = fs::read(&log).expect("readable");
    for contents in [&backup[..], b""] {
        let mut server = sandbox.serve();
        // Enough for a longer file.
        for number in 0..6_000 {
            let people: Vec<_> = (0..500)
                .map(|one| format!("{number}-{one}@example.com"))
                .collect();
            fs::write(sandbox.path().join("people.txt"), people.join("\n")).expect("writable");
            assert!(
                run_landing(&sandbox, &["import", "people.txt"])
                    .status
                    .success()
            );
            if fs::metadata(&log).expect("readable").len() > backup.len() as u64 + (600 << 10) {
                break;
            }
        }
        fs::write(&log, contents).expect("writable");
        assert_eq!(server.join("lost@example.com"), "");
        assert_stopped(&mut server);
        fs::remove_dir_all(sandbox.path().join("data")).expect("ours");
    }
}

/// sled's log grows in steps, so an older copy of a small list is as long as the list itself.
#[test]
fn stops_when_a_backup_of_any_size_overwrites_its_files() {
    for people in [10, 8_000] {
        let backup = Sandbox::new();
        let list: Vec<_> = (0..people)
            .map(|one| format!("old-{one}@example.com"))
            .collect();
        fs::write(backup.path().join("people.txt"), list.join("\n")).expect("writable");
        assert!(
            run_landing(&backup, &["import", "people.txt"])
                .status
                .success()
        );

        let (sandbox, mut server) = serve_with_entries();
        for name in ["conf", "db", "mark"] {
            let path = |sandbox: &Sandbox| sandbox.path().join("data/waitlist").join(name);
            let bytes = fs::read(path(&backup)).expect("readable");
            fs::write(path(&sandbox), bytes).expect("writable");
        }
        assert_eq!(server.join("lost@example.com"), "", "{people}");
        assert_stopped(&mut server);
        // The server has left the backup alone. Its own snapshot belongs to the other list.
        for entry in fs::read_dir(sandbox.path().join("data/waitlist")).expect("readable") {
            let path = entry.expect("readable").path();
            if path.display().to_string().contains("/snap.") {
                fs::remove_file(path).expect("ours");
            }
        }
        let count = format!(r#"{{"count":{people}}}"#);
        assert_eq!(sandbox.serve().count(), count);
    }
}

#[test]
fn stops_when_its_mark_is_renamed_or_replaced() {
    for link in [false, true] {
        let (sandbox, mut server) = serve_with_entries();
        let mark = sandbox.path().join("data/waitlist/mark");
        let other = mark.with_extension("other");
        if link {
            fs::hard_link(&mark, &other).expect("writable");
            fs::remove_file(&mark).expect("ours");
        } else {
            fs::rename(&mark, &other).expect("ours");
        }
        assert_eq!(server.join("lost@example.com"), "");
        assert_stopped(&mut server);
    }
}

#[test]
fn stops_when_its_mark_is_removed() {
    let (sandbox, mut server) = serve_with_entries();
    fs::remove_file(sandbox.path().join("data/waitlist/mark")).expect("ours");
    assert_eq!(server.join("lost@example.com"), "");
    assert_stopped(&mut server);
}

/// A process limit of a container, for example. The list must not stay locked.
#[test]
fn command_without_threads_exits_and_releases_the_list() {
    let (sandbox, server) = serve_with_entries();
    drop(server);
    for thread in 1..=8 {
        let mut strace = Command::new("strace");
        let inject = format!("inject=clone,clone3:error=EAGAIN:when={thread}");
        strace.args([
            "-D",
            "-f",
            "-q",
            "-o",
            "/dev/null",
            "-e",
            "trace=clone,clone3",
            "-e",
        ]);
        strace.args([&inject, env!("CARGO_BIN_EXE_landing"), "count"]);
        let count = strace.env_clear().current_dir(sandbox.path());
        let mut count = count
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
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
        .map(|one| format!("{one}@example.com"))
        .collect();
    fs::write(sandbox.path().join("people.txt"), people.join("\n")).expect("writable");
    let limited = r#"ulimit -f 2048; exec "$0" import people.txt"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_landing")]);
    let done = shell
        .env_clear()
        .current_dir(sandbox.path())
        .output()
        .expect("it runs");
    let stderr = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("can't be read or written"), "{stderr}");
    assert!(run_landing(&sandbox, &["count"]).status.success());
}

fn assert_stopped(server: &mut ServerProcess) {
    assert_eq!(server.wait_for_exit(), Some(3));
    let words = server.log_without_requests();
    let is_logged = words
        .iter()
        .any(|line| line.contains("were removed, replaced or overwritten"));
    assert!(is_logged, "{words:?}");
}
