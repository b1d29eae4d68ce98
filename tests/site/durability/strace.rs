//! Runs the program under strace: records its calls in order, and injects faults into them.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    thread::sleep,
    time::Duration,
};

use regex::Regex;

use crate::process::{Sandbox, signal};

/// The calls that change files, sync them, or exchange data with clients.
const CALLS: &str = "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,\
    truncate,ftruncate,write,writev,pwrite64,pwritev,fsync,fdatasync,link,linkat,symlink,symlinkat,sendmsg,recvfrom,sendto,fadvise64";

/// A recorded call. Its times are line numbers of the recording, in which calls start and return.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) started: usize,
    /// `usize::MAX` if the program was killed during the call.
    pub(super) finished: usize,
    pub(super) operation: Operation,
}

/// An operation that matters after a power cut.
#[derive(Debug)]
pub(super) enum Operation {
    Create(PathBuf),
    MakeDirectory(PathBuf),
    Rename(PathBuf, PathBuf),
    /// Two names in a directory are exchanged in one step.
    Exchange(PathBuf, PathBuf),
    Remove(PathBuf),
    /// A write at an offset, or at the end of the file.
    Write(PathBuf, Option<u64>, Vec<u8>),
    SetLen(PathBuf, u64),
    /// fsync of a file or a directory.
    Sync(PathBuf),
    /// fdatasync of a file.
    SyncData(PathBuf),
    /// A response that says that these addresses are on the list.
    Acknowledge(Vec<String>),
    /// A response that says that these addresses are erased.
    Erase(Vec<String>),
    /// A response that says that the first address is now the second.
    Correct(String, String),
    /// A response that says that these deliveries of the message have begun.
    Begin(Vec<u32>),
    /// A response that says that the mail server has accepted these deliveries of the message.
    Accept(Vec<u32>),
}

/// Returns the program under strace, which records its calls in `log`. `options` are further options of
/// strace. The process that starts is the program itself, not strace.
pub(super) fn traced(sandbox: &Sandbox, log: &Path, options: &[&str]) -> Command {
    let trace = format!("trace={CALLS}");
    let record = ["--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", &trace];
    let options = [&record, options].concat();
    sandbox.wrapped_command(landing_under_strace(log, &options))
}

/// Returns the program with a fault in strace's syntax. A call fails (`fsync:error=EIO:when=3`), or the
/// program gets a signal at a call (`fsync:signal=KILL:when=3`).
pub(crate) fn with_fault(sandbox: &Sandbox, fault: &str) -> Command {
    sandbox.wrapped_command(landing_with_fault(fault))
}

/// Like [`with_fault`], without arguments, directory and environment.
pub(super) fn landing_with_fault(fault: &str) -> Command {
    let (calls, _) = fault.split_once(':').expect("a call and its fault");
    let [trace, inject] = [format!("trace={calls}"), format!("inject={fault}")];
    // With --seccomp-bpf, strace loses a signal at any call except the first one.
    landing_under_strace(Path::new("/dev/null"), &["-e", &trace, "-e", &inject])
}

/// Returns the program for which the disk of a store is full: it cannot write the store's files.
pub(super) fn landing_with_full_disk(store: &Path) -> Command {
    let [log, mark] = ["db", "mark"].map(|name| store.join(name).display().to_string());
    let mut options = vec!["-P", &log, "-P", &mark];
    options.extend(["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=ENOSPC"]);
    landing_under_strace(Path::new("/dev/null"), &options)
}

fn landing_under_strace(log: &Path, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-q"]).args(options);
    strace
        .arg("-o")
        .args([log.as_os_str(), env!("CARGO_BIN_EXE_landing").as_ref()]);
    strace
}

/// Reads the log of a process that has exited, and appends its calls to the recording.
pub(super) fn read(log: &Path, recording: &mut Vec<Call>) {
    let first = recording
        .iter()
        .map(|call| call.started + 1)
        .max()
        .unwrap_or(0);
    let text = fs::read_to_string(log).expect("readable");
    let mut unfinished: HashMap<&str, (usize, String)> = HashMap::new();
    let mut requests = HashMap::new();
    for (line, text) in (first..).zip(text.lines()) {
        let (thread, text) = text.split_once(' ').expect("a thread's id");
        let text = text.trim_start();
        if let Some(start) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (line, start.trim_end().to_owned()));
            continue;
        }
        let (started, call) = match text
            .strip_prefix("<... ")
            .and_then(|text| text.split_once("resumed>"))
        {
            Some((_, end)) => {
                let (started, start) = unfinished.remove(thread).expect("a started call");
                (started, start + end)
            }
            None => (line, text.to_owned()),
        };
        let operation = parse_call(&call, &mut requests);
        recording.extend(operation.map(|operation| Call {
            started,
            finished: line,
            operation,
        }));
    }
    // The process was killed during these calls. The file shows which part of a write has happened. The next
    // run continues from there.
    let end = first + text.lines().count();
    for (started, call) in unfinished.into_values() {
        let operation = parse_call(&format!("{call}) = 0"), &mut requests);
        recording.extend(operation.map(|operation| match operation {
            Operation::Write(path, Some(offset), intended) => Call {
                started,
                finished: end,
                operation: Operation::Write(
                    path.clone(),
                    Some(offset),
                    read_range(&path, offset, intended.len()),
                ),
            },
            operation => Call {
                started,
                finished: usize::MAX,
                operation,
            },
        }));
    }
    recording.sort_by_key(|call| call.started);
}

/// Reads up to `length` bytes of a file from an offset.
fn read_range(path: &Path, offset: u64, length: usize) -> Vec<u8> {
    let content = fs::read(path).unwrap_or_default();
    let from = content.len().min(offset as usize);
    let to = content.len().min(offset as usize + length);
    content[from..to].to_owned()
}

/// Waits until strace has recorded the exit of a process.
pub(super) fn wait_for_end(log: &Path, process: u32) {
    let is_the_end = |line: &str| {
        line.strip_prefix(&process.to_string())
            .is_some_and(|rest| rest.trim_start().starts_with("+++ "))
    };
    for _ in 0..1_000 {
        let text = fs::read_to_string(log).unwrap_or_default();
        if text.lines().rev().take(100).any(is_the_end) {
            return;
        }
        sleep(Duration::from_millis(20));
    }
    signal(process, "-KILL");
    panic!("process {process} does not exit");
}

static CALL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\w+)\((.*)\) += (-?\d+)"));
static HEX_STRING: LazyLock<Regex> = LazyLock::new(|| regex(r#""((?:\\x[0-9a-f]{2})*)""#));
static OPENED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:AT_FDCWD|\d+)<([^>]*)>"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#""([^"]*)""#));
static DELIVERY: LazyLock<Regex> = LazyLock::new(|| regex(r#"\{"number":(\d+),"recipient""#));
static ACCEPTED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"\{"number":(\d+),"recipient":[^}]*,"attempt":\d+,"status":\{"state":"Accepted""#)
});
static EMAIL: LazyLock<Regex> = LazyLock::new(|| regex(r#"\{"email":"([^"]*)"\}"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("valid")
}

/// Returns the operation of a call, if the call succeeded and matters. Remembers the last request of each
/// connection.
fn parse_call(call: &str, requests: &mut HashMap<PathBuf, String>) -> Option<Operation> {
    let [name, arguments, result] = CALL.captures(call)?.extract().1;
    if result.starts_with('-') {
        return None;
    }
    let opened = OPENED
        .captures(arguments)
        .map(|found| path(&decode_hex(&found[1])));
    let strings: Vec<_> = HEX_STRING
        .captures_iter(arguments)
        .map(|found| decode_hex(&found[1]))
        .collect();
    // A path argument, relative to the directory argument before it.
    let path_argument = |index: usize| {
        let directory = opened.clone().unwrap_or_default();
        Some(directory.join(path(strings.get(index)?)))
    };
    let last_number = || arguments.rsplit(", ").next()?.parse().ok();
    Some(match name {
        "open" | "openat" | "creat" if arguments.contains("O_CREAT") => {
            Operation::Create(path_argument(0)?)
        }
        // A link to a log in memory, whose contents do not survive a power cut.
        "symlink" => Operation::Create(path_argument(1)?),
        "mkdir" | "mkdirat" => Operation::MakeDirectory(path_argument(0)?),
        "renameat2" if arguments.contains("RENAME_EXCHANGE") => {
            Operation::Exchange(path_argument(0)?, path_argument(1)?)
        }
        "rename" | "renameat" | "renameat2" => {
            Operation::Rename(path_argument(0)?, path_argument(1)?)
        }
        "unlink" | "unlinkat" | "rmdir" => Operation::Remove(path_argument(0)?),
        "ftruncate" => Operation::SetLen(opened?, last_number()?),
        "fsync" => Operation::Sync(opened?),
        "fdatasync" => Operation::SyncData(opened?),
        "pwrite64" => Operation::Write(opened?, Some(last_number()?), strings.concat()),
        "recvfrom" => {
            let received = String::from_utf8_lossy(&strings.concat()).into_owned();
            let request = requests.entry(opened?).or_default();
            request.push_str(&received);
            if let Some(email) = EMAIL.captures_iter(request).last() {
                *request = email[0].to_owned();
            }
            return None;
        }
        "write" | "writev" | "sendto" => {
            let (to, written) = (opened?, strings.concat());
            let request = || requests.get(&to).expect("a request before the response");
            if written.starts_with(b"HTTP/1.1 201 ") || written.starts_with(b"HTTP/1.1 409 ") {
                let email = &EMAIL.captures(request()).expect("a sign-up")[1];
                Operation::Acknowledge(vec![email.to_owned()])
            } else if written.starts_with(br#"{"Ok":"Corrected""#) {
                let strings = QUOTED.captures_iter(request());
                let mut emails = strings.map(|found| found[1].to_owned());
                let mut next = || emails.find(|string| string.contains('@'));
                Operation::Correct(next()?, next()?)
            } else if written.starts_with(br#"{"Ok":["#)
                && request().contains(r#""call":{"Method":{"begin_deliveries""#)
            {
                Operation::Begin(numbers(&DELIVERY, request()))
            } else if written.starts_with(br#"{"Ok":null"#)
                && request().contains(r#""call":{"Method":{"finish_deliveries""#)
            {
                Operation::Accept(numbers(&ACCEPTED, request()))
            } else if written.starts_with(br#"{"Ok":["#) && request().contains(r#""find""#) {
                // The reply promises nothing.
                Operation::Write(to, None, written)
            } else if written.starts_with(br#"{"Ok":["#) {
                let strings = QUOTED.captures_iter(request());
                let emails = strings.map(|found| found[1].to_owned());
                let emails = emails.filter(|string| string.contains('@')).collect();
                if request().contains(r#""call":{"Method":{"erase""#) {
                    Operation::Erase(emails)
                } else {
                    Operation::Acknowledge(emails)
                }
            } else {
                Operation::Write(to, None, written)
            }
        }
        // fadvise64 is traced only because a test makes it fail.
        "open" | "openat" | "creat" | "fadvise64" => return None,
        other => panic!("the disk model does not know the call {other}: {call}"),
    })
}

/// Returns the numbers of the deliveries in a request.
fn numbers(pattern: &Regex, request: &str) -> Vec<u32> {
    let found = pattern.captures_iter(request);
    found.map(|it| it[1].parse().expect("a number")).collect()
}

/// Decodes `\x61\x62…`, strace's notation of strings.
fn decode_hex(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|digits| u8::from_str_radix(digits, 16).expect("two digits"))
        .collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
