//! Machines in a network: a network namespace for each, all connected to a bridge.
//!
//! The test runs in a new network namespace, see [`enter_network`]. So the machines have the addresses of the
//! documentation, and the network of the test's machine is left unchanged.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

use crate::process::wait_until;

/// Is set for the program of the tests when it runs in the namespace.
const INSIDE: &str = "FAILOVER_NETWORK";

/// Lines that begin like this are printed, whether the test fails or not.
pub(in crate::instances) const REPORT: &str = "failover: ";

/// Runs a test again in a new network namespace, and returns whether this is that run.
///
/// # Panics
/// If the test fails there.
pub(super) fn enter_network(test: &str) -> bool {
    if env::var_os(INSIDE).is_some() {
        create_bridge();
        return true;
    }
    let mut unshare = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        unshare.args(["--user", "--map-root-user"]);
    }
    let mut run = unshare
        .arg("--net")
        .arg(env::current_exe().expect("a program"))
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        // With a single thread, the test runner would print the name of the test in front of the first line.
        .env("RUST_TEST_THREADS", "2")
        .stdout(Stdio::piped())
        .spawn()
        .expect("unshare starts");
    let out = BufReader::new(run.stdout.take().expect("a pipe"));
    for line in out.lines().map_while(Result::ok) {
        if line.starts_with(REPORT) {
            // `cargo test` hides what a test prints, but not this.
            let _ = writeln!(io::stderr(), "{line}");
        } else {
            println!("{line}");
        }
    }
    let status = run.wait().expect("a child process");
    assert!(
        status.success(),
        "{status}: if unshare is not permitted, run this as root, or allow network namespaces"
    );
    false
}

/// The addresses of the instances and the balancers, as in the documentation.
fn create_bridge() {
    ip("link set lo up");
    ip("link add switch type bridge");
    ip("link set switch up");
    for host in [1, 2, 3, 8] {
        ip(&format!("address add 10.0.0.{host}/24 dev switch"));
    }
}

fn ip(arguments: &str) {
    run("ip", &arguments.split(' ').collect::<Vec<_>>());
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status();
    assert!(
        status.is_ok_and(|it| it.success()),
        "{program} {arguments:?}"
    );
}

/// A machine with the address 10.0.0.10 plus its number. Its processes are killed when this value is dropped, or when
/// this process exits for any reason.
pub(super) struct Machine {
    number: usize,
    /// A shell in the namespace, which waits until its standard input is closed.
    namespace_holder: Child,
    _holder_stdin: ChildStdin,
    /// Identifies the namespace.
    namespace: PathBuf,
}

/// Waits until standard input is closed, and then kills everything else in the namespace.
const HOLDER_SCRIPT: &str = r#"
    echo ready
    cat >/dev/null
    own=$(readlink /proc/$$/ns/net)
    for process in /proc/[0-9]*; do
        if [ "$(readlink "$process/ns/net" 2>/dev/null)" = "$own" ] && [ "$process" != /proc/$$ ]; then
            kill -KILL "${process#/proc/}" 2>/dev/null
        fi
    done
"#;

impl Machine {
    pub(super) fn start(number: usize) -> Self {
        let mut namespace_holder = Command::new("unshare")
            .args(["--net", "sh", "-c", HOLDER_SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("unshare starts");
        let stdin = namespace_holder.stdin.take().expect("a pipe");
        let mut line = String::new();
        let mut out = BufReader::new(namespace_holder.stdout.take().expect("a pipe"));
        out.read_line(&mut line).expect("readable");
        assert_eq!(line, "ready\n");
        let pid = namespace_holder.id();
        let namespace = fs::read_link(format!("/proc/{pid}/ns/net")).expect("readable");
        let machine = Self {
            number,
            namespace_holder,
            _holder_stdin: stdin,
            namespace,
        };
        let link = machine.link();
        ip(&format!(
            "link add {link} type veth peer name eth0 netns {pid}"
        ));
        ip(&format!("link set {link} master switch up"));
        for arguments in [
            "link set lo up".to_owned(),
            format!("address add {}/24 dev eth0", machine.address()),
            "link set eth0 up".to_owned(),
        ] {
            let mut inside = machine.as_root("ip");
            let status = inside.args(arguments.split(' ')).status();
            assert!(status.is_ok_and(|it| it.success()), "ip {arguments}");
        }
        machine
    }

    pub(super) fn address(&self) -> String {
        format!("10.0.0.1{}", self.number)
    }

    /// Returns the name of the machine's end of the cable at the switch.
    fn link(&self) -> String {
        format!("db{}", self.number)
    }

    fn as_root(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.namespace_holder.id()));
        command.arg(program);
        command
    }

    /// Returns a command that runs a program on this machine as a user who is not root. PostgreSQL refuses to run as
    /// root.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.as_root("unshare");
        command.args(["--user", "--map-user=1000", "--map-group=1000"]);
        command.arg(program);
        command
    }

    /// Returns the ids of all processes of the machine.
    fn processes(&self) -> Vec<u32> {
        let namespace_holder = self.namespace_holder.id();
        let processes = fs::read_dir("/proc").expect("Linux").flatten();
        let pids = processes.filter_map(|it| it.file_name().to_str()?.parse().ok());
        pids.filter(|pid: &u32| {
            let process = Path::new("/proc").join(pid.to_string());
            let is_inside = fs::read_link(process.join("ns/net"))
                .is_ok_and(|namespace| namespace == self.namespace);
            is_inside && *pid != namespace_holder && parent(*pid) != Some(namespace_holder)
        })
        .collect()
    }

    /// Kills all processes, and waits until none is left.
    pub(super) fn kill(&self) {
        wait_until("all processes of the machine have ended", || {
            let left = self.processes();
            send(&left, Signal::KILL);
            left.is_empty()
        });
    }

    /// Stops all processes of the machine, or those whose command line contains `pattern`. Returns their ids.
    pub(super) fn stop(&self, pattern: &str) -> Vec<u32> {
        let mut stopped = Vec::new();
        // PostgreSQL may start processes in between.
        loop {
            let mut others = self.processes();
            others.retain(|pid| !stopped.contains(pid) && command_line(*pid).contains(pattern));
            if others.is_empty() {
                return stopped;
            }
            send(&others, Signal::STOP);
            stopped.extend(others);
        }
    }

    /// Lets processes that were stopped continue.
    pub(super) fn resume(stopped: &[u32]) {
        send(stopped, Signal::CONT);
    }

    /// Unplugs the machine from the network, or connects it again.
    pub(super) fn set_isolated(&self, is_isolated: bool) {
        let state = if is_isolated { "down" } else { "up" };
        ip(&format!("link set {} {state}", self.link()));
    }
}

/// Sends a signal to processes, some of which may have ended.
fn send(pids: &[u32], signal: Signal) {
    for pid in pids {
        let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
        let _ = kill_process(pid.expect("the id of a process"), signal);
    }
}

fn command_line(pid: u32) -> String {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&line).replace('\0', " ")
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("PPid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        let _ = self.namespace_holder.kill();
        let _ = self.namespace_holder.wait();
    }
}
