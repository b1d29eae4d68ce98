//! The program, running: started as a command, asked over HTTP, stopped by signals.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use landing::wire::BUILD_ID;
use tempfile::TempDir;

use crate::fixtures::write_site;

/// A directory with the program's site and data.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self(TempDir::new().expect("a directory"));
        write_site(&sandbox.0.path().join("site"), BUILD_ID);
        sandbox
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The program as it is called here, on a free port.
    pub(crate) fn command(&self) -> Command {
        self.wrapped_command(Command::new(env!("CARGO_BIN_EXE_landing")))
    }

    /// The program called by another one, whose last argument names it.
    pub(crate) fn wrapped_command(&self, mut command: Command) -> Command {
        command.env_clear().current_dir(self.path()).args([
            "--addr",
            "127.0.0.1:0",
            "--site-root",
            "site",
        ]);
        // Tests sign up as often as they like, unless they are about that.
        command.env("LANDING_SIGNUPS_PER_MINUTE", "0");
        command
    }

    pub(crate) fn serve(&self) -> ServerProcess {
        ServerProcess::start(self.command())
    }
}

/// A program that serves; killed at the end.
pub(crate) struct ServerProcess {
    pub(crate) child: Child,
    pub(crate) addr: String,
    /// What it said before it served.
    pub(crate) startup_log: Vec<String>,
    /// Reads what it says after that, so that it never waits for it.
    log_reader: Option<JoinHandle<Vec<String>>>,
}

impl ServerProcess {
    pub(crate) fn start(mut command: Command) -> Self {
        Self::from_child(command.stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    /// A program whose standard error is read until it serves, and then only by the test.
    pub(crate) fn start_with_unread_stderr(mut command: Command) -> (Self, BufReader<ChildStderr>) {
        Self::from_child_unread(command.stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    /// A program that was started, with its standard error piped.
    pub(crate) fn from_child(child: Child) -> Self {
        let (mut server, log) = Self::from_child_unread(child);
        let lines = log.lines().map_while(Result::ok);
        server.log_reader = Some(thread::spawn(move || lines.collect()));
        server
    }

    /// A program that writes its log to a file.
    pub(crate) fn start_with_log_file(mut command: Command, log: &Path) -> Self {
        let before = fs::metadata(log).map_or(0, |log| log.len() as usize);
        let child = command.spawn().expect("it starts");
        let mut addr = String::new();
        wait_until("it serves", || {
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
        let mut log = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut lines = log.by_ref().lines().map_while(Result::ok);
        let mut startup_log = Vec::new();
        let serving = lines.find_map(|line| {
            let Some((_, rest)) = line.split_once("serving on http://") else {
                startup_log.push(line);
                return None;
            };
            Some(rest.split(',').next().unwrap_or(rest).to_owned())
        });
        let server = Self {
            child,
            addr: serving.unwrap_or_else(|| panic!("it does not serve: {startup_log:?}")),
            startup_log,
            log_reader: None,
        };
        (server, log)
    }

    /// Sends one request and returns the whole response.
    pub(crate) fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.addr).expect("it listens");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("it reads");
        // A program that dies meanwhile answers nothing.
        std::io::read_to_string(stream).unwrap_or_default()
    }

    /// The status, or nothing when there was no response.
    pub(crate) fn join(&self, email: &str) -> String {
        let response = self.request(
            "POST",
            "/api/waitlist",
            &format!(r#"{{"email":"{email}"}}"#),
        );
        response.split(' ').nth(1).unwrap_or_default().to_owned()
    }

    pub(crate) fn count(&self) -> String {
        let response = self.request("GET", "/api/waitlist/count", "");
        response.rsplit("\r\n").next().expect("a body").to_owned()
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }

    /// Waits for its end and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self) -> Option<i32> {
        wait_for_exit(&mut self.child)
    }

    /// Waits for its end and returns what it said since it served.
    pub(crate) fn log(&mut self) -> Vec<String> {
        let log_reader = self.log_reader.take().expect("asked once");
        log_reader.join().expect("it reads lines")
    }

    /// The same without the lines of requests.
    pub(crate) fn log_without_requests(&mut self) -> Vec<String> {
        let mut log = self.log();
        log.retain(|line| !line.contains(" answered "));
        log
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Longer than anything takes that is waited for.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until something holds, and fails when it does not within [`TEST_TIMEOUT`].
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(
            begun.elapsed() < TEST_TIMEOUT,
            "it took too long until {what}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

/// The exit code of a process, which must end within [`TEST_TIMEOUT`].
pub(crate) fn wait_for_exit(child: &mut Child) -> Option<i32> {
    let mut status = None;
    wait_until("the process ends", || {
        status = child.try_wait().expect("it is ours");
        status.is_some()
    });
    status.and_then(|status| status.code())
}

/// Sends a process a signal.
pub(crate) fn signal(process: u32, name: &str) {
    let kill = Command::new("kill")
        .args([name, &process.to_string()])
        .status();
    assert!(kill.expect("kill runs").success());
}
