//! Other programs and people remove, replace and share the files of a list that is served.

use std::{
    fs,
    os::unix::fs::symlink,
    process::{Command, Output, Stdio},
};

use crate::process::{Place, Running, ended};

fn served() -> (Place, Running) {
    let place = Place::new();
    let server = place.serve();
    for number in 0..20 {
        assert_eq!(server.join(&format!("{number}@example.com")), "201");
    }
    (place, server)
}

fn owner(place: &Place, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(place.path()).args(args);
    command.output().expect("it runs")
}

fn assert_in_use(done: &Output) {
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("is in use by"), "{told}");
}

/// Everybody is there, also after the next start.
fn assert_whole(place: &Place, server: Running) {
    assert_eq!(server.join("after@example.com"), "201");
    assert_eq!(server.count(), r#"{"count":21}"#);
    drop(server);
    assert_eq!(place.serve().count(), r#"{"count":21}"#);
}

#[test]
fn without_its_lock_file_a_served_list_is_still_locked() {
    let (place, server) = served();
    fs::remove_file(place.path().join("data/lock")).expect("ours");
    // Else the command would ask the server.
    fs::remove_file(place.path().join("data/control")).expect("ours");
    assert_in_use(&owner(&place, &["count"]));
    assert_in_use(&place.command().output().expect("it runs"));
    assert_whole(&place, server);
}

#[test]
fn a_list_is_locked_also_for_another_data_directory_that_leads_to_it() {
    let (place, server) = served();
    let other = place.path().join("other");
    fs::create_dir(&other).expect("writable");
    symlink("../data/waitlist", other.join("waitlist")).expect("writable");
    let done = owner(&place, &["count", "--store", "other"]);
    assert_in_use(&done);
    let told = String::from_utf8_lossy(&done.stderr);
    let holder = format!("process {}", server.child.id());
    assert!(told.contains(&holder), "it names the holder: {told}");
    assert_whole(&place, server);
}

#[test]
fn when_its_files_are_removed_nobody_signs_up_and_it_stops() {
    for request in ["sign-up", "readiness"] {
        let (place, mut server) = served();
        fs::remove_dir_all(place.path().join("data")).expect("ours");
        let answer = if request == "sign-up" {
            server.join("lost@example.com")
        } else {
            server.ask("GET", "/readyz", "")
        };
        assert_eq!(answer, "", "{request}");
        assert_stopped(&mut server);
    }
}

#[test]
fn when_other_files_take_the_place_of_its_own_nobody_signs_up_and_it_stops() {
    let (place, mut server) = served();
    let log = place.path().join("data/waitlist/db");
    let copy = log.with_extension("copy");
    fs::copy(&log, &copy).expect("writable");
    fs::rename(&copy, &log).expect("writable");
    assert_eq!(server.join("lost@example.com"), "");
    assert_stopped(&mut server);
    // The copy has everybody who was told so.
    assert_eq!(place.serve().count(), r#"{"count":20}"#);
}

/// As `cp -r backup/. data/` does it, or `truncate`: the same files with other contents.
#[test]
fn when_its_files_are_overwritten_nobody_signs_up_and_it_stops() {
    let (place, server) = served();
    drop(server);
    let log = place.path().join("data/waitlist/db");
    let backup = fs::read(&log).expect("readable");
    for contents in [&backup[..], b""] {
        let mut server = place.serve();
        // Enough for a longer file.
        for number in 0..6_000 {
            let people: Vec<_> = (0..500)
                .map(|one| format!("{number}-{one}@example.com"))
                .collect();
            fs::write(place.path().join("people.txt"), people.join("\n")).expect("writable");
            assert!(owner(&place, &["import", "people.txt"]).status.success());
            if fs::metadata(&log).expect("readable").len() > backup.len() as u64 + (600 << 10) {
                break;
            }
        }
        fs::write(&log, contents).expect("writable");
        assert_eq!(server.join("lost@example.com"), "");
        assert_stopped(&mut server);
        fs::remove_dir_all(place.path().join("data")).expect("ours");
    }
}

/// sled's log grows in steps, so an older copy of a small list is as long as the list itself.
#[test]
fn stops_when_a_backup_of_the_same_or_a_larger_size_is_copied_over_its_files() {
    for people in [10, 8_000] {
        let backup = Place::new();
        let list: Vec<_> = (0..people)
            .map(|one| format!("old-{one}@example.com"))
            .collect();
        fs::write(backup.path().join("people.txt"), list.join("\n")).expect("writable");
        assert!(owner(&backup, &["import", "people.txt"]).status.success());

        let (place, mut server) = served();
        for name in ["conf", "db", "mark"] {
            let path = |place: &Place| place.path().join("data/waitlist").join(name);
            let bytes = fs::read(path(&backup)).expect("readable");
            fs::write(path(&place), bytes).expect("writable");
        }
        assert_eq!(server.join("lost@example.com"), "", "{people}");
        assert_stopped(&mut server);
        // The server has left the backup alone. Its own snapshot belongs to the other list.
        for entry in fs::read_dir(place.path().join("data/waitlist")).expect("readable") {
            let path = entry.expect("readable").path();
            if path.display().to_string().contains("/snap.") {
                fs::remove_file(path).expect("ours");
            }
        }
        let count = format!(r#"{{"count":{people}}}"#);
        assert_eq!(place.serve().count(), count);
    }
}

#[test]
fn stops_when_its_mark_is_renamed_or_replaced() {
    for link in [false, true] {
        let (place, mut server) = served();
        let mark = place.path().join("data/waitlist/mark");
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
fn when_its_mark_is_removed_nobody_signs_up_and_it_stops() {
    let (place, mut server) = served();
    fs::remove_file(place.path().join("data/waitlist/mark")).expect("ours");
    assert_eq!(server.join("lost@example.com"), "");
    assert_stopped(&mut server);
}

/// A process limit of a container, for example. The list must not stay locked.
#[test]
fn a_command_that_cannot_start_a_thread_ends_and_leaves_the_list_free() {
    let (place, server) = served();
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
        let count = strace.env_clear().current_dir(place.path());
        let mut count = count
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        ended(&mut count);
        assert!(
            owner(&place, &["count"]).status.success(),
            "thread {thread}"
        );
    }
}

#[test]
fn a_file_size_limit_is_an_error_like_any_other() {
    let place = Place::new();
    let people: Vec<_> = (0..30_000)
        .map(|one| format!("{one}@example.com"))
        .collect();
    fs::write(place.path().join("people.txt"), people.join("\n")).expect("writable");
    let limited = r#"ulimit -f 2048; exec "$0" import people.txt"#;
    let mut shell = Command::new("sh");
    shell.args(["-c", limited, env!("CARGO_BIN_EXE_landing")]);
    let done = shell
        .env_clear()
        .current_dir(place.path())
        .output()
        .expect("it runs");
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("can't be read or written"), "{told}");
    assert!(owner(&place, &["count"]).status.success());
}

fn assert_stopped(server: &mut Running) {
    assert_eq!(server.ended(), Some(3));
    let words = server.last_words();
    let told = words
        .iter()
        .any(|line| line.contains("were removed, replaced or overwritten"));
    assert!(told, "{words:?}");
}
