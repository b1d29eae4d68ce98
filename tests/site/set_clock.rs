//! The clock of the machine is set while the server runs.

use std::{fs, process::Command};

use jiff::{Timestamp, fmt::rfc2822};

use crate::process::{Sandbox, ServerProcess};

/// Replaces the clock of the program that loads it: the file `hours-back` sets it back by an hour for each of its bytes.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    struct stat file;
    long result = syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME && stat("hours-back", &file) == 0) {
        now->tv_sec -= 3600 * file.st_size;
    }
    return result;
}
"#;

/// Returns the time in the `Date` of a response.
fn date(server: &ServerProcess) -> Timestamp {
    let response = server.request("GET", "/healthz", "");
    let line = response
        .lines()
        .find_map(|line| line.strip_prefix("date: "));
    let date = rfc2822::parse(line.expect("a date"));
    date.expect("a valid date").timestamp()
}

/// hyper keeps the date until the second is over by the clock. After the clock was set back, that was an hour later.
#[test]
fn date_follows_a_clock_that_is_set_back() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path().join("clock.c"), CLOCK).expect("writable");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"])
        .current_dir(sandbox.path())
        .status();
    assert!(compiled.expect("cc, which links this test too").success());
    let mut command = sandbox.command();
    command.env("LD_PRELOAD", sandbox.path().join("clock.so"));
    let server = ServerProcess::start(command);
    // Every thread of the server has responded.
    let before = (0..50).map(|_| date(&server)).max().expect("responses");
    fs::write(sandbox.path().join("hours-back"), "1").expect("writable");
    for _ in 0..50 {
        let behind = before.duration_since(date(&server)).as_secs();
        assert!((3000..=3600).contains(&behind), "{behind}");
    }
}
