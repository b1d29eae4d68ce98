//! The program under strace: what it did to its files and told its clients, in the order it did.

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

/// Calls that change files, make them durable, or speak with clients.
const CALLS: &str = "open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir,\
    truncate,ftruncate,write,writev,pwrite64,pwritev,fsync,fdatasync,link,linkat,symlink,symlinkat,sendmsg,recvfrom,sendto,fadvise64";

/// What the program did. Lines count the begins and ends of all calls.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) started: usize,
    /// Never, when the program was killed meanwhile.
    pub(super) finished: usize,
    pub(super) operation: Operation,
}

/// A operation that matters after a power cut.
#[derive(Debug)]
pub(super) enum Operation {
    Create(PathBuf),
    MakeFolder(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    /// At an offset, or after what is there.
    Write(PathBuf, Option<u64>, Vec<u8>),
    SetLen(PathBuf, u64),
    /// fsync of a file or a folder.
    Sync(PathBuf),
    /// fdatasync of a file.
    SyncData(PathBuf),
    /// Somebody was told that these addresses are on the list.
    Acknowledge(Vec<String>),
    /// The owner was told that these are not any more.
    Erase(Vec<String>),
}

/// The program, with all that it does written to `log`, and more options for strace. The process that
/// is started is the program itself.
pub(super) fn traced(sandbox: &Sandbox, log: &Path, options: &[&str]) -> Command {
    let trace = format!("trace={CALLS}");
    let record = ["--seccomp-bpf", "-y", "-xx", "-s", "1000000", "-e", &trace];
    strace(sandbox, log, &[&record, options].concat())
}

/// The program with calls that fail, as `strace -e inject` has it: `fsync:error=EIO:when=3`; or at which it
/// gets a signal: `fsync:signal=KILL:when=3`.
pub(super) fn with_fault(sandbox: &Sandbox, failure: &str) -> Command {
    let (call, _) = failure.split_once(':').expect("a call and how it fails");
    let [trace, inject] = [format!("trace={call}"), format!("inject={failure}")];
    strace(
        sandbox,
        Path::new("/dev/null"),
        // With --seccomp-bpf a signal at any but the first call is lost.
        &["-e", &trace, "-e", &inject],
    )
}

fn strace(sandbox: &Sandbox, log: &Path, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-q"]).args(options);
    strace
        .arg("-o")
        .args([log.as_os_str(), env!("CARGO_BIN_EXE_landing").as_ref()]);
    sandbox.wrapped_command(strace)
}

/// Reads a log of a process that has ended, and appends what it did to the recording.
pub(super) fn read(log: &Path, recording: &mut Vec<Call>) {
    let first = recording
        .iter()
        .map(|call| call.started + 1)
        .max()
        .unwrap_or(0);
    let text = fs::read_to_string(log).expect("strace writes it");
    let mut under_way: HashMap<&str, (usize, String)> = HashMap::new();
    let mut requests = HashMap::new();
    for (line, text) in (first..).zip(text.lines()) {
        let (thread, text) = text.split_once(' ').expect("a thread's id");
        let text = text.trim_start();
        if let Some(begin) = text.strip_suffix("<unfinished ...>") {
            under_way.insert(thread, (line, begin.trim_end().to_owned()));
            continue;
        }
        let (started, call) = match text
            .strip_prefix("<... ")
            .and_then(|it| it.split_once("resumed>"))
        {
            Some((_, end)) => {
                let (started, begin) = under_way.remove(thread).expect("it was begun");
                (started, begin + end)
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
    // The process was killed in the middle of these. What a write has done by then is in the file, and
    // a later life builds upon it.
    let end = first + text.lines().count();
    for (started, call) in under_way.into_values() {
        let operation = parse_call(&format!("{call}) = 0"), &mut requests);
        recording.extend(operation.map(|operation| match operation {
            Operation::Write(path, Some(at), meant) => Call {
                started,
                finished: end,
                operation: Operation::Write(
                    path.clone(),
                    Some(at),
                    read_range(&path, at, meant.len()),
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

/// What stands in a file now, of so many bytes from an offset.
fn read_range(path: &Path, at: u64, length: usize) -> Vec<u8> {
    let content = fs::read(path).unwrap_or_default();
    let from = content.len().min(at as usize);
    let to = content.len().min(at as usize + length);
    content[from..to].to_owned()
}

/// Waits until strace has written down the end of a process.
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
    panic!("process {process} does not end");
}

static CALL: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\w+)\((.*)\) += (-?\d+)"));
static TEXT: LazyLock<Regex> = LazyLock::new(|| regex(r#""((?:\\x[0-9a-f]{2})*)""#));
static OPENED: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:AT_FDCWD|\d+)<([^>]*)>"));
static QUOTED: LazyLock<Regex> = LazyLock::new(|| regex(r#""([^"]*)""#));
static EMAIL: LazyLock<Regex> = LazyLock::new(|| regex(r#"\{"email":"([^"]*)"\}"#));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern")
}

/// What a call did, if it did and it matters. Remembers what each connection asked for last.
fn parse_call(call: &str, requests: &mut HashMap<PathBuf, String>) -> Option<Operation> {
    let [name, arguments, result] = CALL.captures(call)?.extract().1;
    if result.starts_with('-') {
        return None;
    }
    let opened = OPENED.captures(arguments).map(|it| path(&bytes(&it[1])));
    let texts: Vec<_> = TEXT
        .captures_iter(arguments)
        .map(|it| bytes(&it[1]))
        .collect();
    // A path as it is given, against the folder that is named before it.
    let named = |at: usize| {
        Some(
            opened
                .clone()
                .unwrap_or_default()
                .join(path(texts.get(at)?)),
        )
    };
    let last_number = || arguments.rsplit(", ").next()?.parse().ok();
    Some(match name {
        "open" | "openat" | "creat" if arguments.contains("O_CREAT") => {
            Operation::Create(named(0)?)
        }
        // To a log in memory, which a power cut takes with it.
        "symlink" => Operation::Create(named(1)?),
        "mkdir" | "mkdirat" => Operation::MakeFolder(named(0)?),
        "rename" | "renameat" | "renameat2" => Operation::Rename(named(0)?, named(1)?),
        "unlink" | "unlinkat" | "rmdir" => Operation::Remove(named(0)?),
        "ftruncate" => Operation::SetLen(opened?, last_number()?),
        "fsync" => Operation::Sync(opened?),
        "fdatasync" => Operation::SyncData(opened?),
        "pwrite64" => Operation::Write(opened?, Some(last_number()?), texts.concat()),
        "recvfrom" => {
            let received = String::from_utf8_lossy(&texts.concat()).into_owned();
            let so_far = requests.entry(opened?).or_default();
            so_far.push_str(&received);
            if let Some(email) = EMAIL.captures_iter(so_far).last() {
                *so_far = email[0].to_owned();
            }
            return None;
        }
        "write" | "writev" | "sendto" => {
            let (to, written) = (opened?, texts.concat());
            let asked = || requests.get(&to).expect("a request comes first");
            if written.starts_with(b"HTTP/1.1 201 ") || written.starts_with(b"HTTP/1.1 409 ") {
                let email = &EMAIL.captures(asked()).expect("a sign-up")[1];
                Operation::Acknowledge(vec![email.to_owned()])
            } else if written.starts_with(br#"{"Ok":["#) {
                let emails = QUOTED.captures_iter(asked()).map(|it| it[1].to_owned());
                let emails = emails.filter(|word| word.contains('@')).collect();
                if asked().contains(r#""ask":{"Erase""#) {
                    Operation::Erase(emails)
                } else {
                    Operation::Acknowledge(emails)
                }
            } else {
                Operation::Write(to, None, written)
            }
        }
        // The last one is there so that it can be made to fail.
        "open" | "openat" | "creat" | "fadvise64" => return None,
        // A call that is recorded, and that the disk of the tests would not know.
        other => panic!("the program calls {other}: {call}"),
    })
}

/// Texts are written as `\x61\x62…`.
fn bytes(text: &str) -> Vec<u8> {
    let digits = text.split("\\x").skip(1);
    digits
        .map(|digits| u8::from_str_radix(digits, 16).expect("two digits"))
        .collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}
