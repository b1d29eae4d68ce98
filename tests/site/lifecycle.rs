//! Starts the program and stops it.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::{Output, Stdio},
    thread,
    time::Duration,
};

use crate::{
    postgres_server::free_port,
    process::{Sandbox, ServerProcess, landing, wait_until},
};

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn serves_with_and_without_the_serve_command() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.serve().count(), 0);
    let mut command = landing(sandbox.path());
    command.args(["serve", "--addr", "127.0.0.1:0"]);
    command.args(["--data", "other"]);
    assert_eq!(ServerProcess::start(command).count(), 0);
    assert!(sandbox.path().join("data/waitlist").is_dir());
    assert!(sandbox.path().join("other/waitlist").is_dir());
}

/// Otherwise the kernel ignores their SYN, and they repeat it after a second.
#[test]
fn connections_wait_while_a_new_list_is_created() {
    let sandbox = Sandbox::new();
    let addr = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let connect = || TcpStream::connect_timeout(&addr, Duration::from_secs(3));
    let data = sandbox.path().join("data");
    fs::create_dir(&data).expect("writable");
    let lock = File::open(&data).expect("readable");
    lock.lock().expect("a free lock");
    let mut start = landing(sandbox.path());
    start.args(["--addr", &addr.to_string()]);
    let child = start.stderr(Stdio::piped()).spawn();
    let child = child.expect("the program starts");
    let mut connections = Vec::new();
    wait_until("the program listens", || {
        connections.extend(connect());
        !connections.is_empty()
    });
    // All before the program continues.
    let others: Vec<_> = (0..3).map(|_| connect()).collect();
    drop(lock);
    let _server = ServerProcess::from_child(child);
    connections.extend(others.into_iter().map(|it| it.expect("the queue has room")));
    for mut connection in connections {
        let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        connection.write_all(request).expect("connected");
        let mut response = String::new();
        connection.read_to_string(&mut response).expect("connected");
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

#[test]
fn second_server_on_the_same_data_exits_with_an_error() {
    let sandbox = Sandbox::new();
    let first = sandbox.serve();
    let second = sandbox.command().output().expect("the program runs");
    assert_eq!(second.status.code(), Some(1));
    let message = stderr(&second);
    assert!(message.contains("data is in use by process"), "{message}");
    assert!(message.contains(&first.child.id().to_string()), "{message}");

    // The control socket still belongs to the first server.
    let count = landing(sandbox.path()).arg("count").output();
    let count = count.expect("the program runs");
    assert_eq!(
        (stderr(&count), count.status.code()),
        (String::new(), Some(0))
    );
    assert_eq!(count.stdout, b"0\n");
}

/// The service manager restarts the server. Until then the log says why there is no site.
#[test]
fn exits_with_an_error_when_the_database_stays_unreachable() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command();
    command.env("DATABASE_URL", "postgres://owner:secret@127.0.0.1:1/list");
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let stderr = stderr(&output);
    assert!(
        stderr.contains("127.0.0.1:1/list does not respond"),
        "{stderr}"
    );
    assert!(!stderr.contains("secret"), "{stderr}");
}

#[test]
fn reports_a_port_in_use_and_suggests_addr() {
    let sandbox = Sandbox::new();
    let first = sandbox.serve();
    let mut command = landing(sandbox.path());
    command.args(["--data", "other"]);
    let output = command
        .args(["--addr", &first.addr])
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("choose another address with --addr"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn sigterm_and_sigint_finish_open_requests_and_exit_0() {
    for signal in ["-TERM", "-INT"] {
        let sandbox = Sandbox::new();
        let mut server = sandbox.serve();
        let body = r#"{"email":"ann@example.com"}"#;
        let mut half = TcpStream::connect(&server.addr).expect("the server listens");
        write!(
            half,
            "POST /api/waitlist HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
            body.len(),
            &body[..10]
        )
        .expect("the server reads");
        // Once the server responds to a later request, it has started to read this one.
        server.count();
        server.signal(signal);
        wait_until("the server no longer listens", || {
            TcpStream::connect(&server.addr).is_err()
        });
        write!(half, "{}", &body[10..]).expect("the server still reads");
        let response = std::io::read_to_string(half).expect("a response");
        assert!(response.starts_with("HTTP/1.1 201"), "{signal}: {response}");
        assert_eq!(server.wait_for_exit(), Some(0), "{signal}");
        let log = server.log();
        let last = log.last().expect("a line");
        assert!(
            last.ends_with("stopped; every acknowledged sign-up is stored"),
            "{signal}: {last}"
        );
        assert_eq!(sandbox.serve().count(), 1, "{signal}");
    }
}

/// Starts a fake database that rejects each login with an error of this code. Returns its URL.
fn rejecting_database(code: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let addr = listener.local_addr().expect("a bound socket");
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a connection");
            let fields = format!("SFATAL\0VFATAL\0C{code}\0Mgo away\0\0");
            let length = (fields.len() + 4) as u32;
            let mut login = [0; 1024];
            let _ = stream.read(&mut login);
            let _ = stream.write_all(b"E");
            let _ = stream.write_all(&length.to_be_bytes());
            let _ = stream.write_all(fields.as_bytes());
        }
    });
    format!("postgres://owner:secret@{addr}/list?sslmode=disable")
}

#[test]
fn reports_a_malformed_database_error_code() {
    let sandbox = Sandbox::new();
    let assert_reported = |code: &'static str| {
        let mut command = landing(sandbox.path());
        command.args(["count", "--store", &rejecting_database(code)]);
        let output = command.output().expect("the program runs");
        let stderr = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{code}: {stderr}");
        assert!(stderr.contains("127.0.0.1:"), "{code}: {stderr}");
        assert!(!stderr.contains("panicked"), "{code}: {stderr}");
    };
    // Each command retries for 15 seconds.
    thread::scope(|scope| {
        for code in ["", "4", "42", "é", "1é2"] {
            scope.spawn(move || assert_reported(code));
        }
    });
}
