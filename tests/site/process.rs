//! Runs the program as a process: starts it, sends it HTTP requests, and stops it with signals.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A temporary directory for one test, in which the program keeps its data.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a directory"))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Returns the command that serves this sandbox on a free port.
    pub(crate) fn command(&self) -> Command {
        self.wrapped_command(Command::new(env!("CARGO_BIN_EXE_landing")))
    }

    /// Completes a command that ends with the program's path, such as `strace … landing`, to one that serves
    /// this sandbox.
    pub(crate) fn wrapped_command(&self, mut command: Command) -> Command {
        command
            .env_clear()
            .current_dir(self.path())
            .args(["--addr", "127.0.0.1:0"]);
        // No rate limit, unless a test sets one.
        command.env("LANDING_SIGNUPS_PER_MINUTE", "0");
        command
    }

    pub(crate) fn serve(&self) -> ServerProcess {
        self.serve_with(&[])
    }

    /// Serves this sandbox with these options.
    pub(crate) fn serve_with(&self, options: &[&str]) -> ServerProcess {
        let mut command = self.command();
        command.args(options);
        ServerProcess::start(command)
    }
}

/// Returns the program without arguments, in a directory and with an empty environment.
pub(crate) fn landing(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_landing"));
    command.env_clear().current_dir(directory);
    command
}

/// Returns a shell that runs a script, such as `ulimit -n 40`, and then becomes the program.
pub(crate) fn landing_after(script: &str) -> Command {
    let script = format!(r#"{script}; exec "$0" "$@""#);
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_landing")]);
    shell
}

/// A running server. Dropping it kills the process.
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    pub(crate) addr: String,
    /// The lines of standard error before the server listened.
    pub(crate) startup_log: Vec<String>,
    /// Reads the lines after that, so that the server never blocks on a full pipe.
    log_reader: Option<JoinHandle<Vec<String>>>,
}

impl ServerProcess {
    pub(crate) fn start(mut command: Command) -> Self {
        Self::from_child(
            command
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts"),
        )
    }

    /// Starts a server whose standard error is read until the server listens. The test reads the rest.
    pub(crate) fn start_with_unread_stderr(mut command: Command) -> (Self, BufReader<ChildStderr>) {
        Self::from_child_unread(
            command
                .stderr(Stdio::piped())
                .spawn()
                .expect("the program starts"),
        )
    }

    /// Takes over a process that was started with a pipe as its standard error.
    pub(crate) fn from_child(child: Child) -> Self {
        let (mut server, log) = Self::from_child_unread(child);
        let lines = log.lines().map_while(Result::ok);
        server.log_reader = Some(thread::spawn(move || lines.collect()));
        server
    }

    /// Starts a server that writes its log to a file.
    pub(crate) fn start_with_log_file(mut command: Command, log: &Path) -> Self {
        let before = fs::metadata(log).map_or(0, |log| log.len() as usize);
        let child = command.spawn().expect("the program starts");
        let mut addr = String::new();
        wait_until("the server listens", || {
            let text = fs::read_to_string(log).unwrap_or_default();
            let text = text.get(before..).unwrap_or_default();
            let address = text.split_once("serving on http://").map(|(_, rest)| rest);
            let address = address.and_then(|rest| rest.split_once(','));
            addr = address.map_or("", |(address, _)| address).to_owned();
            !addr.is_empty()
        });
        Self {
            child,
            addr,
            startup_log: Vec::new(),
            log_reader: None,
        }
    }

    fn from_child_unread(mut child: Child) -> (Self, BufReader<ChildStderr>) {
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let server = Self::wait_until_serving(child, &mut log);
        (server, log)
    }

    /// Takes over a process whose standard error is read until the server listens.
    pub(crate) fn wait_until_serving(child: Child, log: &mut impl BufRead) -> Self {
        let mut lines = log.by_ref().lines().map_while(Result::ok);
        let mut startup_log = Vec::new();
        let serving = lines.find_map(|line| {
            let Some((_, rest)) = line.split_once("serving on http://") else {
                startup_log.push(line);
                return None;
            };
            Some(rest.split(',').next().unwrap_or(rest).to_owned())
        });
        Self {
            child,
            addr: serving.unwrap_or_else(|| panic!("the server does not start: {startup_log:?}")),
            startup_log,
            log_reader: None,
        }
    }

    /// Sends one request and returns the whole response, or an empty string if the server exits first.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).expect("the server listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("the server reads");
        std::io::read_to_string(stream).unwrap_or_default()
    }

    /// Signs up and returns the status, or an empty string if there was no response.
    pub(crate) fn join(&self, email: &str) -> String {
        let response = self.request(
            "POST",
            "/api/waitlist",
            &format!(r#"{{"email":"{email}"}}"#),
        );
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// Returns the number of entries that the API reports.
    pub(crate) fn count(&self) -> u64 {
        let response = self.request("GET", "/api/waitlist/count", "");
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        let count = body.strip_prefix(r#"{"count":"#);
        let count = count.and_then(|rest| rest.strip_suffix('}'));
        count
            .and_then(|count| count.parse().ok())
            .unwrap_or_else(|| panic!("not a count: {response}"))
    }

    /// Returns whether all threads of the server have slept for a while, longer than the log pauses between two writes. So
    /// the server has nothing more to do, and its log nothing more to write.
    pub(crate) fn is_idle(&self) -> bool {
        let threads = self.thread_states();
        thread::sleep(Duration::from_millis(30));
        let are_asleep = threads.iter().all(|it| it.contains("State:\tS"));
        are_asleep && threads == self.thread_states()
    }

    /// Returns the state of each thread, and how often it has gone to sleep.
    fn thread_states(&self) -> Vec<String> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("Linux");
        let statuses = tasks
            .flatten()
            .map(|task| std::fs::read_to_string(task.path().join("status")).unwrap_or_default());
        let is_of_interest = |line: &&str| {
            line.starts_with("State:") || line.starts_with("voluntary_ctxt_switches:")
        };
        let of_interest = |status: String| {
            let lines: Vec<_> = status.lines().filter(is_of_interest).collect();
            lines.join("\n")
        };
        statuses.map(of_interest).collect()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Suspends the process. When this returns, none of its threads runs any more.
    pub(crate) fn suspend(&self) {
        self.signal("-STOP");
        wait_until("all threads are stopped", || {
            self.thread_states()
                .iter()
                .all(|it| it.contains("State:\tT"))
        });
    }

    /// Waits until the process exits, and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self) -> Option<i32> {
        wait_for_exit(&mut self.child)
    }

    /// Stops the server with SIGTERM, and returns the lines it logged since it listened. Works once.
    pub(crate) fn stop(&mut self) -> Vec<String> {
        self.signal("-TERM");
        assert_eq!(self.wait_for_exit(), Some(0));
        self.log()
    }

    /// Waits until the server no longer listens: it has begun to stop.
    pub(crate) fn wait_until_stopping(&self) {
        wait_until("the server no longer listens", || {
            TcpStream::connect(&self.addr).is_err()
        });
    }

    /// Connects to the server, and sends bytes.
    pub(crate) fn send(&self, bytes: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.addr).expect("the server listens");
        stream
            .write_all(bytes.as_bytes())
            .expect("the server reads");
        stream
    }

    /// Waits until the process exits, and returns the lines it logged since it listened. Works once.
    pub(crate) fn log(&mut self) -> Vec<String> {
        let log_reader = self.log_reader.take().expect("the first call");
        log_reader.join().expect("no panic")
    }

    /// Like [`Self::log`], without the lines of requests.
    pub(crate) fn log_without_requests(&mut self) -> Vec<String> {
        let mut log = self.log();
        log.retain(|line| !line.contains(" answered "));
        log
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Maximum time that a test waits for an event. Longer than any event takes.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until a condition holds.
///
/// # Panics
/// If the condition does not hold within [`TEST_TIMEOUT`].
pub(crate) fn wait_until(condition: &str, holds: impl FnMut() -> bool) {
    wait_up_to(TEST_TIMEOUT, condition, holds);
}

/// Like [`wait_until`], with another limit.
pub(crate) fn wait_up_to(limit: Duration, condition: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < limit,
            "timed out waiting until {condition}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until a process exits, at most [`TEST_TIMEOUT`], and returns its exit code.
pub(crate) fn wait_for_exit(child: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("the process exits", || {
        status = child.try_wait().expect("a child process");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

/// Sends a signal, such as `-TERM`, to a process.
pub(crate) fn signal(process: u32, name: &str) {
    assert!(signal_if_running(process, name), "{process} has ended");
}

/// Sends a signal to a process that may end at any time. Returns whether it was still there.
pub(crate) fn signal_if_running(process: u32, name: &str) -> bool {
    let kill = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    kill.expect("kill runs").success()
}

/// Waits until a process has stopped (SIGSTOP), or has ended. Returns whether it has stopped.
pub(crate) fn has_stopped(process: u32) -> bool {
    let mut state = None;
    wait_until("the process stops or ends", || {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mut lines = status.lines();
        state = lines.find_map(|line| line.strip_prefix("State:\t")?.chars().next());
        matches!(state, None | Some('T' | 'Z' | 'X'))
    });
    state == Some('T')
}

/// Writes a file of a list that this process opens afterwards. Another thread may start a program at the same time,
/// which holds a copy of the open file for a moment. If it closes that copy after the list was opened, the list takes
/// it for another program's write. So the file is locked, and opening the list waits until the copy is closed too.
pub(crate) fn write_locked(path: &Path, bytes: &[u8]) {
    let mut file = File::create(path).expect("writable");
    file.lock().expect("an unlocked file");
    file.write_all(bytes).expect("writable");
}

/// Calls `request` fifty times a second while the server restarts twice. `request` panics if it fails.
pub(crate) fn restart_under_requests(
    mut server: ServerProcess,
    start: impl Fn() -> ServerProcess,
    request: impl Fn() + Sync,
) {
    let (responses, is_done) = (AtomicUsize::new(0), AtomicBool::new(false));
    let wait_for_responses = |more: usize| {
        let before = responses.load(Ordering::Relaxed);
        wait_until("more requests are served", || {
            responses.load(Ordering::Relaxed) >= before + more
        });
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..5)
            .map(|_| {
                scope.spawn(|| {
                    while !is_done.load(Ordering::Relaxed) {
                        request();
                        responses.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(100));
                    }
                })
            })
            .collect();
        for _ in 0..2 {
            wait_for_responses(20);
            server.signal("-TERM");
            assert_eq!(server.wait_for_exit(), Some(0));
            server = start();
        }
        wait_for_responses(20);
        is_done.store(true, Ordering::Relaxed);
        for client in clients {
            client.join().expect("no failed request");
        }
    });
}
