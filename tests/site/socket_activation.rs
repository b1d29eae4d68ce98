//! Socket activation: the test holds the socket, as systemd does, and passes it to the program.

use std::{
    fs::File,
    io::{self, Write},
    net::{TcpListener, TcpStream},
    os::fd::OwnedFd,
    process::{Command, Stdio},
};

use crate::process::{Sandbox, ServerProcess, restart_under_requests};

/// Returns the program in a sandbox with `file` as descriptor 3, and with variables such as those of systemd. `$$` in
/// them is the id of the process.
pub(crate) fn activated(sandbox: &Sandbox, file: impl Into<OwnedFd>, variables: &str) -> Command {
    let mut shell = Command::new("sh");
    // Standard input is the only descriptor that a test can pass on.
    let script = format!(r#"{variables} exec "$0" "$@" 3<&0 </dev/null"#);
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_landing")]);
    let mut command = sandbox.wrapped_command(shell);
    command.stdin(Stdio::from(file.into()));
    command
}

/// The variables with which systemd passes one socket.
pub(crate) const ONE_SOCKET: &str = "LISTEN_PID=$$ LISTEN_FDS=1";

/// Requests the page on a new connection.
fn get(addr: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(addr)?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n")?;
    io::read_to_string(stream)
}

#[test]
fn no_request_fails_while_the_program_restarts() {
    let sandbox = Sandbox::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = socket.local_addr().expect("a bound socket").to_string();
    let start = || {
        let socket = socket.try_clone().expect("a second handle");
        ServerProcess::start(activated(&sandbox, socket, ONE_SOCKET))
    };
    let server = start();
    assert_eq!(server.addr, addr);
    restart_under_requests(server, start, || {
        let response = get(&addr).expect("no reset");
        assert!(response.starts_with("HTTP/1.1 200 "), "{response:.100}");
    });
}

#[test]
fn inherited_socket_replaces_addr_and_is_logged() {
    let sandbox = Sandbox::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = socket.local_addr().expect("a bound socket").to_string();
    let server = ServerProcess::start(activated(&sandbox, socket, ONE_SOCKET));
    assert_eq!(server.addr, addr);
    let log = server.startup_log.join("\n");
    assert!(
        log.contains("using the socket of the service manager"),
        "{log}"
    );
}

/// The variables of another process, as a shell may inherit them.
#[test]
fn socket_for_another_process_is_ignored() {
    for variables in ["LISTEN_PID=1 LISTEN_FDS=1", "LISTEN_FDS=1", "LISTEN_PID=$$"] {
        let sandbox = Sandbox::new();
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = socket.local_addr().expect("a bound socket").to_string();
        let server = ServerProcess::start(activated(&sandbox, socket, variables));
        assert_ne!(server.addr, addr, "{variables}");
    }
}

#[test]
fn unusable_socket_is_reported_and_nothing_is_created() {
    let file = |_: &Sandbox| OwnedFd::from(File::open("/dev/null").expect("a device"));
    let connected = |_: &Sandbox| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let addr = listener.local_addr().expect("a bound socket");
        OwnedFd::from(TcpStream::connect(addr).expect("a listener"))
    };
    type Descriptor = fn(&Sandbox) -> OwnedFd;
    for (descriptor, variables, message) in [
        (file as Descriptor, ONE_SOCKET, "fd 3 is not a socket"),
        (connected, ONE_SOCKET, "fd 3 does not listen"),
        (file, "LISTEN_PID=$$ LISTEN_FDS=many", "invalid LISTEN_FDS"),
        (file, "LISTEN_PID=me LISTEN_FDS=1", "invalid LISTEN_PID"),
        (file, "LISTEN_PID=$$ LISTEN_FDS=900", "Bad file descriptor"),
    ] {
        let sandbox = Sandbox::new();
        let mut command = activated(&sandbox, descriptor(&sandbox), variables);
        let output = command.output().expect("the program runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{error}");
        let reason = format!("cannot use the socket of the service manager: {message}");
        assert!(error.contains(&reason), "{error}");
        assert!(error.contains("check the .socket unit"), "{error}");
        assert!(!sandbox.path().join("data").exists(), "{error}");
    }
}

#[test]
fn several_sockets_are_reported() {
    let sandbox = Sandbox::new();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let variables = "exec 4</dev/null; LISTEN_PID=$$ LISTEN_FDS=2";
    let output = activated(&sandbox, socket, variables).output();
    let output = output.expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("passes 2 sockets"), "{error}");
    assert!(error.contains("keep one ListenStream="), "{error}");
    assert!(!sandbox.path().join("data").exists());
}
